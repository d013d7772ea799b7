"""Training beside the trainings in one file, in one run: PPO and AlphaZero on minichess.

    python -m benchmarks.training_peers

The sides train on equally many boards and steps, with the same numbers of epochs, minibatches and simulations, and with
networks of equal hidden sizes:

    jaxgames           `train.ppo` and `train.alphazero`
    one file           `examples/ppo.py` and `examples/alphazero.py`: what our learners gain or lose by themselves
    one file on Pgx    `examples/ppo.py` on Pgx's `gardner_chess`, the same game with the same 1,225 actions

`examples/ppo.py` has the structure of PureJaxRL's `ppo.py`: vmapped boards that restart in the step, one scan that
stores every observation, generalised advantages, minibatches of shuffled steps, optax. A search in games of Pgx is
measured by `benchmarks.search`.

A step is a ply that is played and trained on. The sides take turns; a ratio is the median over the rounds, with the
smallest and the largest beside it. `rules` is random play of equally many boards, with mask and observation, times the
boards that a step visits: one in PPO, and one more per simulation in AlphaZero.

Pgx's observation has 2,875 places, ours 375. Where Pgx is missing, its row is left out.
"""

import dataclasses
import functools
import importlib.util
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

import jaxgames
from benchmarks import harness, loops
from benchmarks.harness import Command
from examples import alphazero as alphazero_file
from examples import ppo as ppo_file
from train import alphazero, ppo
from train.driver.commands import progress_over, stamp
from train.driver.tables import table_of

OURS, FILE, PGX = "jaxgames", "one file", "one file on Pgx"
EPOCHS, MINIBATCHES, HIDDEN_SIZES = 4, 4, (128, 128)  # of all sides; AlphaZero makes one pass
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
    parts: tuple[str, ...] = ("ppo", "alphazero")
    """Learners: ppo, alphazero."""
    env: str = "minichess"
    """A zero-sum game of ours of two seats, with its parameters."""
    pgx_env: str = "gardner_chess"
    """The game of Pgx."""
    boards: int = 256
    """Boards of PPO."""
    rollout_length: int = 32
    """Steps of each board of PPO in an iteration."""
    search_boards: int = 64
    """Boards of AlphaZero."""
    search_steps: int = 8
    """Steps of each board of AlphaZero in an iteration."""
    simulations: int = 32
    rounds: int = 5


class Side(NamedTuple):
    """A learner on a game, ready to be timed."""

    name: str
    game: str
    program: Callable[..., Any]  # (key, state) -> the state after an iteration
    state: Any
    playing: Any  # the game's functions, as `jaxgames.auto_reset` has them


def measure_training_peers(arguments: Arguments) -> dict[str, Any]:
    numbers = ("boards", "rollout_length", "search_boards", "search_steps", "simulations", "rounds")
    harness.check_positive(arguments, *numbers)
    harness.check_among("parts", arguments.parts, SIDES)
    for boards, steps in (("boards", "rollout_length"), ("search_boards", "search_steps")):
        if getattr(arguments, boards) * getattr(arguments, steps) % MINIBATCHES:
            raise ValueError(f"{boards} times {steps} must be a multiple of the {MINIBATCHES} minibatches")
    rows: list[dict[str, Any]] = []
    result: dict[str, Any] = {"rows": rows, "settings": dataclasses.asdict(dataclasses.replace(arguments, output=None))}
    result |= stamp() | {"versions": {name: harness.package_version(name) for name in ("pgx", "optax")}}
    for part in progress_over(arguments.parts, "learners"):
        rows += measure_part(part, arguments)
        harness.save(arguments, result)
    harness.log(table_of(rows, TABLE))
    return result


def measure_part(part: str, arguments: Arguments) -> list[dict[str, Any]]:
    """Returns the rows of a learner, one per side."""
    boards, length, visits = {
        "ppo": (arguments.boards, arguments.rollout_length, 1),
        "alphazero": (arguments.search_boards, arguments.search_steps, 1 + arguments.simulations),
    }[part]
    sides = SIDES[part](arguments)
    learners = [harness.Timed(side.program, (side.state,), boards * length) for side in sides]
    timed = harness.time_in_turns(learners + [random_play(side.playing, boards) for side in sides], arguments.rounds)
    rows: list[dict[str, Any]] = []
    for side, turns, rules in zip(sides, timed, timed[len(sides) :], strict=False):
        row: dict[str, Any] = {"part": part, "side": side.name, "game": side.game, **turns.timing._asdict()}
        ratios = [ours / theirs for ours, theirs in zip(timed[0].speeds, turns.speeds, strict=True)]
        if side.name != OURS:
            row |= {"ratio": statistics.median(ratios), "min_ratio": min(ratios), "max_ratio": max(ratios)}
        rows.append(row | {"microseconds": turns.timing.microseconds, "rules": visits * rules.timing.microseconds})
    return rows


def random_play(playing: Any, boards: int) -> harness.Timed:
    length = loops.MIN_STEPS_PER_CALL
    start = jax.jit(jax.vmap(playing.init))(jax.random.split(jax.random.key(0), boards))
    return harness.Timed(loops.play_loop(playing, boards, length), (start, None), boards * length)


# -- the sides --------------------------------------------------------------------------------------------


def learner_side(learner: Any, game: str, env: Any) -> Side:
    def program(key: jax.Array, state: Any) -> Any:
        return learner.iterate(state._replace(key=key))

    return Side(OURS, game, program, jax.jit(learner.init)(jax.random.key(0)), jaxgames.auto_reset(env))


def ppo_sides(arguments: Arguments) -> list[Side]:
    ours = ppo.Config(
        env=arguments.env,
        network="mlp",
        hidden_sizes=HIDDEN_SIZES,
        num_envs=arguments.boards,
        rollout_length=arguments.rollout_length,
        update_epochs=EPOCHS,
        num_minibatches=MINIBATCHES,
    )
    env = jaxgames.make(arguments.env)
    sides = [learner_side(ppo.PPO(ours), arguments.env, env), ppo_file_side(FILE, arguments.env, env, arguments)]
    if importlib.util.find_spec("pgx") is not None:
        sides.append(ppo_file_side(PGX, arguments.pgx_env, loops.pgx_env(arguments.pgx_env)[0], arguments))
    return sides


def ppo_file_side(name: str, game: str, env: Any, arguments: Arguments) -> Side:
    config = ppo_file.Config(
        env=game,
        num_envs=arguments.boards,
        rollout_length=arguments.rollout_length,
        num_epochs=EPOCHS,
        num_minibatches=MINIBATCHES,
    )
    policy, playing = ppo_file.Policy(env, config.sharing), jaxgames.auto_reset(env)
    optimizer = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(config.learning_rate, eps=1e-5))

    @jax.jit
    def init(key: jax.Array) -> Any:
        params, boards = policy.init(key), jax.vmap(playing.init)(jax.random.split(key, config.num_envs))
        return params, optimizer.init(params), boards

    def program(key: jax.Array, carry: Any) -> Any:
        return ppo_file.iterate(config, policy, optimizer, carry, key)[0]

    return Side(name, game, program, init(jax.random.key(0)), playing)


def alphazero_sides(arguments: Arguments) -> list[Side]:
    env, steps = jaxgames.make(arguments.env), arguments.search_boards * arguments.search_steps
    shared: dict[str, Any] = {
        "env": arguments.env,
        "num_envs": arguments.search_boards,
        "rollout_length": arguments.search_steps,
        "simulations": arguments.simulations,
        "num_updates": MINIBATCHES,
        "minibatch_size": steps // MINIBATCHES,
    }
    ours = alphazero.Config(
        network="mlp", hidden_sizes=HIDDEN_SIZES, replay_size=steps, symmetries=False, ema=0.0, **shared
    )
    config, optimizer = alphazero_file.Config(num_kept=1, **shared), optax.adamw(1e-3)
    init = jax.jit(functools.partial(alphazero_file.init, config, env, optimizer))

    def program(key: jax.Array, carry: Any) -> Any:
        policy = alphazero_file.Policy(env.num_actions)
        return alphazero_file.iterate(config, env, policy, optimizer, carry, (jnp.int32(0), key))[0]

    key = jax.random.key(0)
    of_file = Side(FILE, arguments.env, program, init(key, key), jaxgames.auto_reset(env))
    return [learner_side(alphazero.AlphaZero(ours), arguments.env, env), of_file]


SIDES = {"ppo": ppo_sides, "alphazero": alphazero_sides}
COMMANDS = (Command("training_peers", Arguments, measure_training_peers),)

if __name__ == "__main__":
    harness.run(*COMMANDS)
