"""PPO by self-play in one file, to be copied and changed: any game of `jaxgames`, several seeds in one program.

    python -m examples.ppo                                                    # 3 x 3 boxes, about two minutes
    python -m examples.ppo "chinese_checkers(size=1, num_players=3)" independent

It draws runs/ppo.svg, the share of games won against `greedy` during the training, and ends with a line of JSON. The
learner with checkpoints, opponents and many devices is `train.ppo`; its loss is the same.

Source: Schulman et al., Proximal Policy Optimization Algorithms, 2017, arXiv:1707.06347.
"""

import functools
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from matplotlib.figure import Figure

import jaxgames
from jaxgames import agents, arena
from jaxgames.policies.agent import PolicyAgent
from jaxgames.policies.evaluate import is_symmetric, reward_scale


EVALUATIONS, GAMES = 10, 500


@dataclass(frozen=True)
class Config:
    env: str = "dots_and_boxes(rows=3, cols=3)"
    sharing: Literal["shared", "shared_encoder", "independent"] = "shared"  # of the network between the seats
    opponent: str = "greedy"  # of the evaluations
    num_seeds: int = 4
    num_envs: int = 128
    rollout_length: int = 32
    num_iterations: int = 200
    num_epochs: int = 4
    num_minibatches: int = 8
    learning_rate: float = 2e-3
    gamma: float = 0.99
    gae_lambda: float = 0.9
    clip_coef: float = 0.2
    vf_coef: float = 0.5
    ent_coef: float = 0.02


class Encoder(nn.Module):
    @nn.compact
    def __call__(self, observation: jax.Array) -> jax.Array:
        x = observation.reshape(len(observation), -1).astype(jnp.float32)
        for _ in range(2):
            x = nn.relu(nn.Dense(128, kernel_init=nn.initializers.orthogonal(2**0.5))(x))
        return x


class Heads(nn.Module):
    num_actions: int

    @nn.compact
    def __call__(self, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        logits = nn.Dense(self.num_actions, kernel_init=nn.initializers.orthogonal(0.01))(x)
        return logits, nn.Dense(1, kernel_init=nn.initializers.orthogonal(1.0))(x)[:, 0]


@dataclass(frozen=True)
class Policy:
    """The network of every seat. Parameters that the seats do not share have a leading axis of seats."""

    env: jaxgames.Env[Any]
    sharing: str

    def init(self, key: jax.Array) -> Any:
        observation, features = jnp.zeros((1, *self.env.observation_shape), bool), jnp.zeros((1, 128))
        keys = jax.random.split(key, 2 * self.env.num_players).reshape(2, -1)
        encoders = jax.lax.map(lambda key: Encoder().init(key, observation), keys[0])
        heads = jax.lax.map(lambda key: Heads(self.env.num_actions).init(key, features), keys[1])
        first = functools.partial(jax.tree.map, lambda leaf: leaf[0])
        return {
            "encoder": encoders if self.sharing == "independent" else first(encoders),
            "heads": first(heads) if self.sharing == "shared" else heads,
        }

    def apply(self, params: Any, observation: jax.Array, seat: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Returns logits float32[B, num_actions] and values float32[B], of the seats int32[B]."""

        def by_seat(module: nn.Module, params: Any, x: jax.Array, is_own: bool) -> Any:
            if not is_own:
                return module.apply(params, x)
            of_all = jax.vmap(module.apply, in_axes=(0, None))(params, x)
            return jax.tree.map(lambda leaf: leaf[seat, jnp.arange(len(seat))], of_all)

        features = by_seat(Encoder(), params["encoder"], observation, self.sharing == "independent")
        return by_seat(Heads(self.env.num_actions), params["heads"], features, self.sharing != "shared")


class Steps(NamedTuple):
    """Steps of a rollout, leaves [rollout_length, num_envs, ...], or of a minibatch."""

    observation: jax.Array
    mask: jax.Array
    seat: jax.Array
    action: jax.Array
    log_prob: jax.Array
    value: jax.Array
    rewards: jax.Array  # float32[..., num_players], scaled to at most 1
    terminated: jax.Array
    truncated: jax.Array


def advantages_of(config: Config, steps: Steps, last: jax.Array, is_valued: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns advantages float32[rollout_length, num_envs], and whether they are known.

    A decision is paid what its seat gets until the seat's next decision. `last` is float32[num_envs, num_players], the
    values of the boards after the rollout, where `is_valued`. The last decisions of a truncated game are not known.
    """

    def backwards(carry: Any, step: Steps) -> Any:
        paid, next_value, later, is_known = carry  # [num_envs, num_players], of each seat's next decision
        ended = (step.terminated | step.truncated)[:, None]
        mover = step.seat[:, None] == jnp.arange(step.rewards.shape[1])
        paid = jnp.where(ended, 0, paid) + step.rewards
        next_value, later = jnp.where(ended, 0, next_value), jnp.where(ended, 0, later)
        is_known = step.terminated[:, None] | (is_known & ~ended)
        value = step.value[:, None]
        advantage = paid + config.gamma * next_value - value + config.gamma * config.gae_lambda * later
        advantage = jnp.where(is_known, advantage, 0)
        after = jnp.where(mover, 0, paid), jnp.where(mover, value, next_value), jnp.where(mover, advantage, later)
        return (*after, is_known | mover), ((advantage * mover).sum(1), (is_known & mover).any(1))

    start = jnp.zeros_like(last), last, jnp.zeros_like(last), is_valued
    return jax.lax.scan(backwards, start, steps, reverse=True)[1]


def loss_of(
    config: Config, policy: Policy, params: Any, steps: Steps, advantage: jax.Array, target: jax.Array, known: jax.Array
) -> jax.Array:
    """Returns clipped policy loss + vf_coef * value loss - ent_coef * entropy, means over the steps that are known."""
    mean = functools.partial(jnp.mean, where=known)
    logits, value = policy.apply(params, steps.observation, steps.seat)
    log_probs = jax.nn.log_softmax(jnp.where(steps.mask, logits, -1e9))
    ratio = jnp.exp(jnp.take_along_axis(log_probs, steps.action[:, None], 1)[:, 0] - steps.log_prob)
    entropy = -jnp.where(steps.mask, jnp.exp(log_probs) * log_probs, 0).sum(1)
    advantage = (advantage - mean(advantage)) / (jnp.std(advantage, where=known) + 1e-8)
    clipped = jnp.clip(ratio, 1 - config.clip_coef, 1 + config.clip_coef)
    policy_loss = -mean(jnp.minimum(ratio * advantage, clipped * advantage))
    return policy_loss + config.vf_coef * 0.5 * mean((value - target) ** 2) - config.ent_coef * mean(entropy)


def iterate(config: Config, policy: Policy, optimizer: Any, carry: Any, key: jax.Array) -> tuple[Any, None]:
    """Plays a rollout on every board, and learns from it."""
    params, opt_state, boards = carry
    env, play_key, learn_key = policy.env, *jax.random.split(key)

    def outputs(boards: Any) -> Any:
        observation = jax.vmap(env.observe)(boards)
        return observation, *policy.apply(params, observation, boards.current_player)

    def play(states: Any, key: jax.Array) -> tuple[Any, Steps]:
        action_key, step_key = jax.random.split(key)
        boards, mask = states.board, jax.vmap(env.legal_action_mask)(states.board)
        observation, logits, value = outputs(boards)
        log_probs = jax.nn.log_softmax(jnp.where(mask, logits, -1e9))
        action = jax.random.categorical(action_key, log_probs)
        log_prob = jnp.take_along_axis(log_probs, action[:, None], 1)[:, 0]
        keys = jax.random.split(step_key, config.num_envs)
        states = jax.vmap(jaxgames.auto_reset(env).step)(states, action, keys)
        paid = states.rewards * reward_scale(env), states.terminated, states.truncated
        return states, Steps(observation, mask, boards.current_player, action, log_prob, value, *paid)

    boards, steps = jax.lax.scan(play, boards, jax.random.split(play_key, config.rollout_length))
    mover = boards.board.current_player[:, None] == jnp.arange(env.num_players)
    value = outputs(boards.board)[2][:, None]
    last, is_valued = (jnp.where(mover, value, -value), True) if is_symmetric(env) else (value * mover, mover)
    advantage, known = advantages_of(config, steps, last, jnp.broadcast_to(is_valued, mover.shape))
    batch = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), (steps, advantage, advantage + steps.value, known))

    def learn(carry: Any, rows: jax.Array) -> Any:
        minibatch = jax.tree.map(lambda x: x[rows], batch)
        gradient = jax.grad(lambda params: loss_of(config, policy, params, *minibatch))(carry[0])
        updates, opt_state = optimizer.update(gradient, carry[1])
        return (optax.apply_updates(carry[0], updates), opt_state), None

    size = config.num_envs * config.rollout_length
    orders = jax.vmap(lambda key: jax.random.permutation(key, size))(jax.random.split(learn_key, config.num_epochs))
    rows = orders.reshape(config.num_epochs * config.num_minibatches, -1)
    (params, opt_state), _ = jax.lax.scan(learn, (params, opt_state), rows)
    return (params, opt_state, boards), None


def train(config: Config, key: jax.Array) -> tuple[Any, jax.Array]:
    """Returns the parameters, and float32[num_evaluations], the share of games won during the training."""
    env: Any = jaxgames.make(config.env)
    policy, opponent = Policy(env, config.sharing), agents.make(config.opponent, env)
    num_updates = config.num_iterations * config.num_epochs * config.num_minibatches
    adam = optax.adam(optax.linear_schedule(config.learning_rate, 0, num_updates), eps=1e-5)
    optimizer = optax.chain(optax.clip_by_global_norm(0.5), adam)
    params_key, boards_key, key = jax.random.split(key, 3)
    params = policy.init(params_key)
    boards = jax.vmap(jaxgames.auto_reset(env).init)(jax.random.split(boards_key, config.num_envs))

    def part(carry: Any, key: jax.Array) -> Any:
        keys = jax.random.split(key, config.num_iterations // EVALUATIONS)
        carry, _ = jax.lax.scan(functools.partial(iterate, config, policy, optimizer), carry, keys)
        agent = PolicyAgent(carry[0], env, policy, temperature=0.0)
        return carry, arena.evaluate(env, agent, opponent, key, GAMES)["win_rate"]

    start = params, optimizer.init(params), boards
    (params, _, _), rates = jax.lax.scan(part, start, jax.random.split(key, EVALUATIONS))
    return params, rates


def main() -> None:
    """The command `python -m examples.ppo [GAME [SHARING]]`."""
    config = Config(*sys.argv[1:3])
    seeds = jax.random.split(jax.random.key(0), config.num_seeds)
    _, rates = jax.jit(jax.vmap(functools.partial(train, config)))(seeds)
    steps = config.num_iterations * config.num_envs * config.rollout_length
    figure = Figure()
    axes = figure.subplots()
    axes.plot(jnp.arange(1, 1 + EVALUATIONS) * steps / EVALUATIONS, rates.T)
    axes.set(xlabel="environment steps", ylabel=f"games won against {config.opponent}", ylim=(0, 1))
    Path("runs").mkdir(exist_ok=True)
    figure.savefig("runs/ppo.svg")
    rate = {"win_rate": round(float(rates[:, -1].mean()), 3), "opponent": config.opponent, "games": GAMES}
    print(json.dumps({"env": config.env, "sharing": config.sharing, "seeds": config.num_seeds, "steps": steps} | rate))


if __name__ == "__main__":
    main()
