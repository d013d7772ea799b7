"""AlphaZero by self-play in one file, to be copied and changed: any zero-sum game of two seats, several seeds at once.

    python -m examples.alphazero     # Chinese Checkers on 4 x 4 cells, three minutes: it wins 0.96 of the games
    python -m examples.alphazero "dots_and_boxes(rows=2, cols=3)"

Each step of self-play is a search that the network guides; the network learns the search's policy and the result. It
draws alphazero.svg, the share of games that the network without a search wins against `greedy` during the training, and
ends with a line of JSON. The learner with checkpoints, more seats and random starts is `train.alphazero`.
Sources: Silver et al. 2018; Danihelka et al., Policy improvement by planning with Gumbel, 2022.
"""

import functools
import json
import sys
from dataclasses import dataclass
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import optax

import jaxgames
from jaxgames import agents, arena
from jaxgames.mcts import SearchConfig, search
from jaxgames.policies.agent import PolicyAgent
from jaxgames.policies.policy import PolicyEvaluate, is_symmetric

EVALUATIONS, GAMES, OPPONENT = 10, 500, "greedy"


@dataclass(frozen=True)
class Config:
    env: str = "chinese_checkers_diamond(size=4, pieces=3)"
    num_seeds: int = 2
    num_envs: int = 128
    rollout_length: int = 32
    num_iterations: int = 60
    simulations: int = 16
    num_kept: int = 20  # iterations in the replay buffer
    num_updates: int = 24
    minibatch_size: int = 512
    learning_rate: float = 2e-3
    weight_decay: float = 1e-4
    gamma: float = 0.98  # per turn
    td_lambda: float = 0.9


class Network(nn.Module):
    num_actions: int

    @nn.compact
    def __call__(self, observation: jax.Array) -> tuple[jax.Array, jax.Array]:
        x = 1.0 * observation.reshape(len(observation), -1)
        for _ in range(2):
            x = nn.relu(nn.Dense(128)(x))
        return nn.Dense(self.num_actions, kernel_init=nn.initializers.normal(0.01))(x), nn.Dense(1)(x)[:, 0]


@dataclass(frozen=True)
class Policy:
    """The network as searches and agents read it: both seats share it."""

    num_actions: int

    def apply(self, params: Any, observation: jax.Array, seat: jax.Array) -> Any:
        """Returns logits float32[B, num_actions] and values of the seats to move, float32[B]."""
        return Network(self.num_actions).apply(params, observation)


class Samples(NamedTuple):
    """Steps of self-play as the network learns them, leaves [..., num_envs]."""

    observation: jax.Array
    mask: jax.Array
    weights: jax.Array  # float32[num_actions], the policy of the search
    target: jax.Array  # float32[], of the mover's value


def targets_of(config: Config, rewards: jax.Array, over: jax.Array, turns: jax.Array, values: jax.Array) -> jax.Array:
    """Returns lambda-returns float32[rollout_length, num_envs, 2] of both seats.

    Args:
      rewards: float32[rollout_length, num_envs, 2], what each step paid.
      over: bool[rollout_length, num_envs], whether the game ended with the step.
      turns: bool[rollout_length, num_envs], whether another seat moves next.
      values: float32[rollout_length + 1, num_envs, 2], of the search before each step, and after the last one.
    """

    def backwards(later: jax.Array, step: Any) -> tuple[jax.Array, jax.Array]:
        reward, over, turn, value = step
        discount = jnp.where(over, 0, jnp.where(turn, config.gamma, 1))[:, None]
        later = reward + discount * ((1 - config.td_lambda) * value + config.td_lambda * later)
        return later, later

    return jax.lax.scan(backwards, values[-1], (rewards, over, turns, values[1:]), reverse=True)[1]


def loss_of(policy: Any, params: Any, samples: Samples) -> jax.Array:
    """Returns the cross-entropy to the search's policy plus the mean squared error of the values."""
    logits, value = policy.apply(params, samples.observation, None)
    cross_entropy = optax.softmax_cross_entropy(jnp.where(samples.mask, logits, -1e9), samples.weights)
    return cross_entropy.mean() + jnp.square(value - samples.target).mean()


def iterate(config: Config, env: Any, policy: Policy, optimizer: Any, carry: Any, xs: Any) -> tuple[Any, None]:
    """Plays steps of self-play on every board, and learns from the replay buffer."""
    (params, opt_state, states, replay), (number, key) = carry, xs
    play_key, learn_key = jax.random.split(key)
    settings = SearchConfig(simulations=config.simulations, gumbel_scale=1.0, gamma=config.gamma)
    restarting = jaxgames.auto_reset(env)

    def play(states: Any, key: jax.Array) -> Any:
        search_key, step_key = jax.random.split(key)
        boards = states.board
        found = search(env, PolicyEvaluate(env, policy), settings, search_key, params, boards)
        after = jax.vmap(restarting.step)(states, found.action, jax.random.split(step_key, config.num_envs))
        turn = after.board.current_player != boards.current_player
        weights = found.by_action(found.weights, env.num_actions)
        seen = jax.vmap(env.observe)(boards), jax.vmap(env.legal_action_mask)(boards)
        played = *seen, weights, boards.current_player, after.rewards
        return after, (*played, after.terminated | after.truncated, turn, found.policy_values)

    states, steps = jax.lax.scan(play, states, jax.random.split(play_key, config.rollout_length))
    observation, mask, weights, seat, rewards, over, turn, values = steps
    last = PolicyEvaluate(env, policy)(params, states.board).values
    targets = targets_of(config, rewards, over, turn, jnp.concatenate([values, last[None]]))
    samples = Samples(observation, mask, weights, jnp.take_along_axis(targets, seat[..., None], axis=2)[..., 0])
    replay = jax.tree.map(lambda kept, new: kept.at[number % config.num_kept].set(new), replay, samples)
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[3:]), replay)
    num_filled = jnp.minimum(number + 1, config.num_kept) * (config.num_envs * config.rollout_length)

    def learn(carry: Any, key: jax.Array) -> Any:
        rows = jax.random.randint(key, (config.minibatch_size,), 0, num_filled)
        minibatch = jax.tree.map(lambda x: x[rows], flat)
        gradient = jax.grad(lambda params: loss_of(policy, params, minibatch))(carry[0])
        updates, opt_state = optimizer.update(gradient, carry[1], carry[0])
        return (optax.apply_updates(carry[0], updates), opt_state), None

    learnt, _ = jax.lax.scan(learn, (params, opt_state), jax.random.split(learn_key, config.num_updates))
    return (*learnt, states, replay), None


def init(config: Config, env: Any, optimizer: Any, params_key: jax.Array, boards_key: jax.Array) -> Any:
    """Returns what `iterate` carries: parameters, the state of the optimizer, boards, and an empty replay buffer."""
    params = Network(env.num_actions).init(params_key, jnp.zeros((1, *env.observation_shape), bool))
    states = jax.vmap(jaxgames.auto_reset(env).init)(jax.random.split(boards_key, config.num_envs))
    shape = config.num_kept, config.rollout_length, config.num_envs
    observations, actions = jnp.zeros((*shape, *env.observation_shape), bool), jnp.zeros((*shape, env.num_actions))
    return params, optimizer.init(params), states, Samples(observations, actions > 0, actions, jnp.zeros(shape))


def train(config: Config, key: jax.Array) -> tuple[Any, jax.Array]:
    """Returns the parameters, and float32[EVALUATIONS], the share of games won during the training."""
    env: Any = jaxgames.make(config.env)
    if not is_symmetric(env):
        raise ValueError(f"this example learns zero-sum games of two seats, not {env}")
    policy, opponent = Policy(env.num_actions), agents.make(OPPONENT, env)
    rate = optax.linear_schedule(config.learning_rate, 0, config.num_iterations * config.num_updates)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(rate, weight_decay=config.weight_decay))

    def part(carry: Any, xs: Any) -> Any:
        learn = functools.partial(iterate, config, env, policy, optimizer)
        carry, _ = jax.lax.scan(learn, carry, xs)
        agent = PolicyAgent(carry[0], env, policy, temperature=0.0)
        return carry, arena.evaluate(env, agent, opponent, jax.random.key(0), GAMES)["win_rate"]

    params_key, boards_key, key = jax.random.split(key, 3)
    xs = jnp.arange(config.num_iterations), jax.random.split(key, config.num_iterations)
    parts = jax.tree.map(lambda x: x.reshape(EVALUATIONS, -1, *x.shape[1:]), xs)
    carry, rates = jax.lax.scan(part, init(config, env, optimizer, params_key, boards_key), parts)
    return carry[0], rates


def main() -> None:
    given: Any = sys.argv[1:2]
    if "--help" in given:
        sys.exit(print(__doc__))
    config, keys = Config(*given), jax.random.split(jax.random.key(0), Config.num_seeds)
    rates = jax.jit(jax.vmap(functools.partial(train, config)))(keys)[1]
    plt.plot(rates.T)
    plt.title(f"{config.env}: games won against {OPPONENT}, after each tenth of the training")
    plt.savefig("alphazero.svg")
    result = {"env": config.env, "seeds": config.num_seeds, "simulations": config.simulations}
    print(json.dumps(result | {"win_rate": round(float(rates[:, -1].mean()), 3), "opponent": OPPONENT, "games": GAMES}))


if __name__ == "__main__":
    main()
