"""Training beside loops in the manner of PureJaxRL and Pgx, in one run: PPO and AlphaZero on minichess.

    python -m benchmarks.training_peers

Three sides train on equally many boards and steps, with the same numbers of epochs, minibatches and simulations, and
with networks of equal hidden sizes:

    jaxgames       `train.ppo` and `train.alphazero` on `minichess`
    loop           the loop of this file on `minichess`: what our learners gain or lose by themselves
    loop on Pgx    the same loop on Pgx's `gardner_chess`, the same game with the same 1,225 actions

The loop of PPO has the structure of PureJaxRL's `ppo.py`: vmapped boards that restart in the step, one scan that stores
every observation, generalised advantages, minibatches of a shuffled copy of all steps, optax. The loop of AlphaZero has
the structure of Pgx's `examples/alphazero/train.py`: games from the start, `mctx.gumbel_muzero_policy`, outcomes as
value targets, one pass over shuffled minibatches. Pgx's example shuffles on the host; here it is one program.

A step is a ply that is played and trained on. The sides take turns; a ratio is the median over the rounds, with the
smallest and the largest beside it. `rules` is random play of equally many boards, with mask and observation, times the
boards that a step visits: one in PPO, and one more per simulation in AlphaZero.

Pgx's observation has 2,875 places, ours 375. Pgx has no other game of this project. Where Pgx is missing, its rows are
left out.
"""

import dataclasses
import functools
import importlib.util
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax

import jaxgames
from benchmarks import harness, loops
from benchmarks.harness import Command
from benchmarks.search import mctx_search
from jaxgames.mcts import SearchConfig
from jaxgames.sampling import MASKED_LOGIT
from train import alphazero, ppo
from train.driver.machine import stamp

PARTS = ("ppo", "alphazero")
OURS, LOOP, PGX = "jaxgames", "loop", "loop on Pgx"
PPO_SETTINGS: dict[str, Any] = {  # those of PureJaxRL
    "learning_rate": 2.5e-4,
    "gamma": 0.99,
    "gae_lambda": 0.95,
    "clip_coef": 0.2,
    "ent_coef": 0.01,
    "vf_coef": 0.5,
    "max_grad_norm": 0.5,
}
TABLE = {
    "learner": "{part}",
    "side": "{side}",
    "game": "`{game}`",
    "steps/s (spread)": harness.SPEED,
    "us per step": "{microseconds:,.0f}",
    "of these rules": "{rules:,.0f}",
    "compiled in": "{compile_seconds:.0f} s",
    "jaxgames / side (min-max)": "{ratio:.3g} ({min_ratio:.3g}-{max_ratio:.3g})",
}


@dataclass(frozen=True)
class Arguments(harness.BenchmarkArguments):
    parts: tuple[str, ...] = PARTS
    """Learners: ppo, alphazero."""
    env: str = "minichess"
    """A game of ours in which two seats alternate, with its parameters."""
    pgx_env: str = "gardner_chess"
    """The game of Pgx."""
    hidden_sizes: tuple[int, ...] = (64, 64)
    """Widths of the hidden layers of every network."""
    boards: int = 256
    """Boards of PPO."""
    rollout_length: int = 32
    """Steps of each board of PPO in an iteration."""
    update_epochs: int = 4
    num_minibatches: int = 4
    search_boards: int = 64
    """Boards of AlphaZero."""
    search_steps: int = 8
    """Steps of each board of AlphaZero in an iteration."""
    simulations: int = 32
    num_updates: int = 4
    """Minibatches of AlphaZero, one pass over the steps of an iteration."""
    rounds: int = 5


class Side(NamedTuple):
    """A learner on a game, ready to be timed."""

    name: str
    game: str
    program: Callable[..., Any]  # (key, state) -> the state after an iteration, metrics
    state: Any
    playing: Any  # the game's functions, as `jaxgames.auto_reset` has them


def measure_training_peers(arguments: Arguments) -> dict[str, Any]:
    numbers = ("hidden_sizes", "boards", "rollout_length", "update_epochs", "num_minibatches")
    harness.check_positive(arguments, *numbers, "search_boards", "search_steps", "simulations", "num_updates", "rounds")
    harness.check_among("parts", arguments.parts, PARTS)
    for minibatches, steps in (("num_minibatches", ppo_steps(arguments)), ("num_updates", search_steps(arguments))):
        if steps % getattr(arguments, minibatches):
            raise ValueError(f"{minibatches} must divide the {steps} steps of an iteration")
    progress = harness.Progress(len(arguments.parts), "learner")
    rows: list[dict[str, Any]] = []
    result: dict[str, Any] = {"rows": rows, "settings": dataclasses.asdict(dataclasses.replace(arguments, output=None))}
    result |= stamp() | {"versions": {name: harness.package_version(name) for name in ("mctx", "pgx", "optax")}}
    for part in arguments.parts:
        rows += measure_part(part, arguments)
        harness.save(arguments, result)
        progress.finish(f"{part}: {rows[-1]['microseconds']:,.0f} us per step of {rows[-1]['side']}")
    harness.log(harness.table(TABLE, rows))
    return result


def measure_part(part: str, arguments: Arguments) -> list[dict[str, Any]]:
    """Returns the rows of a learner, one per side."""
    make, steps, boards = {
        "ppo": (ppo_side, ppo_steps(arguments), arguments.boards),
        "alphazero": (alphazero_side, search_steps(arguments), arguments.search_boards),
    }[part]
    names = [OURS, LOOP] + [PGX] * (importlib.util.find_spec("pgx") is not None)
    sides = [make(name, arguments) for name in names]
    learners = [harness.Timed(side.program, (side.state,), steps) for side in sides]
    timed = harness.time_in_turns(learners + [random_play(side.playing, boards) for side in sides], arguments.rounds)
    visits = 1 if part == "ppo" else 1 + arguments.simulations
    rows: list[dict[str, Any]] = []
    for side, turns, rules in zip(sides, timed, timed[len(sides) :], strict=False):
        row: dict[str, Any] = {"part": part, "side": side.name, "game": side.game, **turns.timing._asdict()}
        ratios = [ours / theirs for ours, theirs in zip(timed[0].speeds, turns.speeds, strict=True)]
        if side.name != OURS:
            row |= {"ratio": statistics.median(ratios), "min_ratio": min(ratios), "max_ratio": max(ratios)}
        rows.append(row | {"microseconds": turns.timing.microseconds, "rules": visits * rules.timing.microseconds})
    return rows


def ppo_steps(arguments: Arguments) -> int:
    return arguments.boards * arguments.rollout_length


def search_steps(arguments: Arguments) -> int:
    return arguments.search_boards * arguments.search_steps


def random_play(playing: Any, boards: int) -> harness.Timed:
    length = loops.MIN_STEPS_PER_CALL
    start = jax.jit(jax.vmap(playing.init))(jax.random.split(jax.random.key(0), boards))
    program = loops.play_loop(playing, boards, length)
    return harness.Timed(program, (start, None), boards * length)


# -- the sides --------------------------------------------------------------------------------------------


class Game(NamedTuple):
    """A game as the loops take it."""

    name: str
    bare: Any  # without restarts, for the search
    playing: Any  # with restarts
    board_of: Callable[[Any], Any]  # a state of `playing` -> a state of `bare`


def game_of(side: str, arguments: Arguments) -> Game:
    if side == PGX:
        return Game(arguments.pgx_env, *loops.pgx_env(arguments.pgx_env), board_of=lambda state: state)
    env = jaxgames.make(arguments.env)
    return Game(arguments.env, env, jaxgames.auto_reset(env), board_of=lambda state: state.board)


def ppo_side(name: str, arguments: Arguments) -> Side:
    game = game_of(name, arguments)
    if name == OURS:
        config = ppo.Config(
            env=arguments.env,
            hidden_sizes=arguments.hidden_sizes,
            num_envs=arguments.boards,
            rollout_length=arguments.rollout_length,
            update_epochs=arguments.update_epochs,
            num_minibatches=arguments.num_minibatches,
            anneal_lr=False,
            **PPO_SETTINGS,
        )
        return learner_side(ppo.PPO(config), game)
    rate, norm = PPO_SETTINGS["learning_rate"], PPO_SETTINGS["max_grad_norm"]
    optimizer = optax.chain(optax.clip_by_global_norm(norm), optax.adam(rate, eps=1e-5))
    network = network_of(game, arguments)
    program = functools.partial(ppo_iteration, game.playing, network, optimizer, arguments)
    return Side(name, game.name, program, first_state(game, network, optimizer, arguments.boards), game.playing)


def alphazero_side(name: str, arguments: Arguments) -> Side:
    game, steps = game_of(name, arguments), search_steps(arguments)
    if name == OURS:
        config = alphazero.Config(
            env=arguments.env,
            network="mlp",
            hidden_sizes=arguments.hidden_sizes,
            num_envs=arguments.search_boards,
            rollout_length=arguments.search_steps,
            simulations=arguments.simulations,
            num_updates=arguments.num_updates,
            minibatch_size=steps // arguments.num_updates,
            replay_size=steps,
            gamma=1.0,
            td_lambda=1.0,
            symmetries=False,
            ema=0.0,
        )
        return learner_side(alphazero.AlphaZero(config), game)
    optimizer, network = optax.adam(1e-3), network_of(game, arguments)
    program = functools.partial(alphazero_iteration, game, network, optimizer, arguments)
    return Side(name, game.name, program, first_state(game, network, optimizer, 1)._replace(boards=None), game.playing)


def learner_side(learner: Any, game: Game) -> Side:
    def program(key: jax.Array, state: Any) -> Any:
        return learner.iterate(state._replace(key=key))

    return Side(OURS, game.name, program, jax.jit(learner.init)(jax.random.key(0)), game.playing)


class ActorCritic(nn.Module):
    """Dense layers with tanh, then logits float32[B, num_actions] and values float32[B]."""

    hidden_sizes: tuple[int, ...]
    num_actions: int

    @nn.compact
    def __call__(self, observation: jax.Array) -> tuple[jax.Array, jax.Array]:
        x = observation.reshape(len(observation), -1).astype(jnp.float32)
        for width in self.hidden_sizes:
            x = nn.tanh(nn.Dense(width)(x))
        return nn.Dense(self.num_actions)(x), nn.Dense(1)(x)[:, 0]


class LoopState(NamedTuple):
    """The state of a loop between two iterations."""

    params: Any
    opt_state: Any
    boards: Any  # [B]


def network_of(game: Game, arguments: Arguments) -> ActorCritic:
    mask = jax.eval_shape(lambda key: game.bare.legal_action_mask(game.bare.init(key)), jax.random.key(0))
    return ActorCritic(arguments.hidden_sizes, mask.size)


def first_state(game: Game, network: ActorCritic, optimizer: optax.GradientTransformation, boards: int) -> LoopState:
    @jax.jit
    def init(key: jax.Array) -> LoopState:
        states = jax.vmap(game.playing.init)(jax.random.split(key, boards))
        params = network.init(key, jax.vmap(game.playing.observe)(states))
        return LoopState(params, optimizer.init(params), states)

    return init(jax.random.key(0))


# -- the loop of PPO --------------------------------------------------------------------------------------


class Step(NamedTuple):
    """A step of the rollout, leaves [rollout_length, B, ...]."""

    observation: jax.Array
    mask: jax.Array
    action: jax.Array
    log_prob: jax.Array
    value: jax.Array
    reward: jax.Array  # of the mover
    done: jax.Array


def ppo_iteration(
    playing: Any, network: Any, optimizer: Any, arguments: Arguments, key: jax.Array, state: LoopState
) -> tuple[LoopState, jax.Array]:
    """Returns the state after a rollout and its updates, and the losses."""
    rollout_key, update_key = jax.random.split(key)

    def play(boards: Any, key: jax.Array) -> tuple[Any, Step]:
        action_key, step_key = jax.random.split(key)
        observation, mask = jax.vmap(playing.observe)(boards), jax.vmap(playing.legal_action_mask)(boards)
        logits, value = network.apply(state.params, observation)
        logits = jnp.where(mask, logits, MASKED_LOGIT)
        action = jax.random.categorical(action_key, logits)
        mover, rows = boards.current_player, jnp.arange(len(action))
        boards = jax.vmap(playing.step)(boards, action, jax.random.split(step_key, len(action)))
        log_prob, done = jax.nn.log_softmax(logits)[rows, action], boards.terminated | boards.truncated
        return boards, Step(observation, mask, action, log_prob, value, boards.rewards[rows, mover], done)

    boards, steps = jax.lax.scan(play, state.boards, jax.random.split(rollout_key, arguments.rollout_length))
    last_value = network.apply(state.params, jax.vmap(playing.observe)(boards))[1]
    advantages = advantages_of(steps, last_value, PPO_SETTINGS["gamma"], PPO_SETTINGS["gae_lambda"])
    batch = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), (steps, advantages, advantages + steps.value))
    loss = functools.partial(ppo_loss, network)
    learn = functools.partial(learn_epoch, loss, optimizer, arguments.num_minibatches, batch)
    keys = jax.random.split(update_key, arguments.update_epochs)
    (params, opt_state), losses = jax.lax.scan(learn, (state.params, state.opt_state), keys)
    return LoopState(params, opt_state, boards), losses


def advantages_of(steps: Step, last_value: jax.Array, gamma: float, gae_lambda: float) -> jax.Array:
    """Returns the advantages float32[rollout_length, B]; what follows a step is the other seat's: it counts -gamma."""

    def backwards(carry: tuple[jax.Array, jax.Array], step: Step) -> Any:
        later, next_value = carry
        discount = -gamma * ~step.done
        advantage = step.reward + discount * next_value - step.value + discount * gae_lambda * later
        return (advantage, step.value), advantage

    return jax.lax.scan(backwards, (jnp.zeros_like(last_value), last_value), steps, reverse=True)[1]


def ppo_loss(network: Any, params: Any, steps: Step, advantages: jax.Array, targets: jax.Array) -> jax.Array:
    clip = PPO_SETTINGS["clip_coef"]
    logits, value = network.apply(params, steps.observation)
    log_probs = jax.nn.log_softmax(jnp.where(steps.mask, logits, MASKED_LOGIT))
    ratio = jnp.exp(log_probs[jnp.arange(len(value)), steps.action] - steps.log_prob)
    entropy = -jnp.where(steps.mask, jnp.exp(log_probs) * log_probs, 0.0).sum(-1).mean()
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    policy = -jnp.minimum(ratio * advantages, jnp.clip(ratio, 1 - clip, 1 + clip) * advantages).mean()
    clipped = steps.value + jnp.clip(value - steps.value, -clip, clip)
    value_loss = 0.5 * jnp.maximum(jnp.square(value - targets), jnp.square(clipped - targets)).mean()
    return policy + PPO_SETTINGS["vf_coef"] * value_loss - PPO_SETTINGS["ent_coef"] * entropy


def learn_epoch(
    loss: Callable[..., Any], optimizer: Any, num_minibatches: int, batch: Any, learnt: Any, key: jax.Array
) -> tuple[Any, jax.Array]:
    """Returns the parameters and the optimizer's state after one pass over a shuffled copy of the batch; the losses."""
    order = jax.random.permutation(key, len(jax.tree.leaves(batch)[0]))
    minibatches = jax.tree.map(lambda x: x[order].reshape(num_minibatches, -1, *x.shape[1:]), batch)

    def learn(learnt: Any, minibatch: Any) -> Any:
        params, opt_state = learnt
        value, gradient = jax.value_and_grad(loss)(params, *minibatch)
        updates, opt_state = optimizer.update(gradient, opt_state, params)
        return (optax.apply_updates(params, updates), opt_state), value

    return jax.lax.scan(learn, learnt, minibatches)


# -- the loop of AlphaZero --------------------------------------------------------------------------------


def alphazero_iteration(
    game: Game, network: Any, optimizer: Any, arguments: Arguments, key: jax.Array, state: LoopState
) -> tuple[LoopState, jax.Array]:
    """Returns the state after self-play from the start of the game and its updates, and the losses."""
    config = SearchConfig(simulations=arguments.simulations, gumbel_scale=1.0)
    init_key, play_key, update_key = jax.random.split(key, 3)
    playing = game.playing

    def play(boards: Any, key: jax.Array) -> tuple[Any, Any]:
        search_key, step_key = jax.random.split(key)
        found = mctx_search(game.bare, config, search_key, state.params, game.board_of(boards), network.apply)
        action, mover = found.action, boards.current_player
        after = jax.vmap(playing.step)(boards, action, jax.random.split(step_key, len(action)))
        reward, over = after.rewards[jnp.arange(len(action)), mover], after.terminated | after.truncated
        return after, (jax.vmap(playing.observe)(boards), found.action_weights, reward, over)

    boards = jax.vmap(playing.init)(jax.random.split(init_key, arguments.search_boards))
    steps = jax.lax.scan(play, boards, jax.random.split(play_key, arguments.search_steps))[1]
    observation, weights, reward, over = steps

    def backwards(later: tuple[jax.Array, jax.Array], step: tuple[jax.Array, jax.Array]) -> Any:
        outcome, known = step[0] - later[0] * ~step[1], later[1] | step[1]
        return (outcome, known), (outcome, known)

    start = jnp.zeros(arguments.search_boards), jnp.zeros(arguments.search_boards, jnp.bool_)
    outcome, known = jax.lax.scan(backwards, start, (reward, over), reverse=True)[1]
    batch = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), (observation, weights, outcome, known))
    loss = functools.partial(alphazero_loss, network)
    learnt = state.params, state.opt_state
    (params, opt_state), losses = learn_epoch(loss, optimizer, arguments.num_updates, batch, learnt, update_key)
    return LoopState(params, opt_state, None), losses


def alphazero_loss(
    network: Any, params: Any, observation: jax.Array, weights: jax.Array, outcome: jax.Array, known: jax.Array
) -> jax.Array:
    """The value counts only where the outcome of the game is known."""
    logits, value = network.apply(params, observation)
    policy = optax.softmax_cross_entropy(logits, weights).mean()
    return policy + (optax.l2_loss(value, outcome) * known).mean()


COMMANDS = (Command("training_peers", Arguments, measure_training_peers),)

if __name__ == "__main__":
    harness.run(*COMMANDS)
