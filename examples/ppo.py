"""PPO by self-play in one file, to be copied and changed: any game of `jaxgames`, several seeds in one program.

    python -m examples.ppo     # 3 x 3 boxes, two minutes: it wins 0.21 of the games

It draws ppo.svg, the share of games won against `greedy` during the training, and ends with a line of JSON. The learner
with checkpoints, opponents and many devices is `train.ppo`; its loss is the same. Arguments: a game, and a sharing.
Source: Schulman et al., Proximal Policy Optimization Algorithms, 2017, arXiv:1707.06347.
"""

import functools
import json
import sys
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import optax

import jaxgames
from jaxgames import agents, arena
from jaxgames.policies.agent import PolicyAgent
from jaxgames.policies.policy import is_symmetric, reward_scale

SEEDS, EVALUATIONS, GAMES, OPPONENT = 4, 10, 500, "greedy"
ENCODER = nn.Sequential([lambda x: 1.0 * x.reshape(len(x), -1), nn.Dense(128), nn.relu, nn.Dense(128), nn.relu])


@dataclass(frozen=True)
class Config:
    env: str = "dots_and_boxes(rows=3, cols=3)"
    sharing: Literal["shared", "shared_encoder", "independent"] = "shared"  # of the network between the seats
    num_envs: int = 128
    rollout_length: int = 32
    num_iterations: int = 200
    num_epochs: int = 4
    num_minibatches: int = 8
    learning_rate: float = 2e-3
    gamma: float = 1.0
    gae_lambda: float = 0.9
    clip_coef: float = 0.2
    vf_coef: float = 0.5
    ent_coef: float = 0.01


class Heads(nn.Module):
    num_actions: int

    @nn.compact
    def __call__(self, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        return nn.Dense(self.num_actions, kernel_init=nn.initializers.normal(0.01))(x), nn.Dense(1)(x)[:, 0]


@dataclass(frozen=True)
class Policy:  # of all seats; parameters that they do not share have a leading axis of seats
    env: jaxgames.Env[Any]
    sharing: str

    def parts(self) -> dict[str, tuple[nn.Module, bool]]:
        """Returns each part of the network, and whether every seat has its own."""
        heads = Heads(self.env.num_actions), self.sharing != "shared"
        return {"encoder": (ENCODER, self.sharing == "independent"), "heads": heads}

    def init(self, key: jax.Array) -> Any:
        params, x = {}, jnp.zeros((1, *self.env.observation_shape), bool)
        for name, (module, is_own) in self.parts().items():
            keys = jax.random.split(jax.random.fold_in(key, len(params)), self.env.num_players)
            params[name] = jax.vmap(module.init, in_axes=(0, None))(keys, x) if is_own else module.init(keys[0], x)
            x = jnp.zeros((1, 128))  # what the heads read
        return params

    def apply(self, params: Any, observation: jax.Array, seat: jax.Array) -> Any:
        """Returns logits float32[B, num_actions] and values float32[B], of the seats int32[B]."""
        x: Any = observation
        for name, (module, is_own) in self.parts().items():
            x = (jax.vmap(module.apply, in_axes=(0, None)) if is_own else module.apply)(params[name], x)
            x = jax.tree.map(lambda leaf: leaf[seat, jnp.arange(len(seat))], x) if is_own else x
        return x


class Steps(NamedTuple):  # of a rollout, leaves [rollout_length, num_envs, ...], or of a minibatch, leaves [B, ...]
    observation: jax.Array
    mask: jax.Array
    seat: jax.Array
    action: jax.Array
    log_prob: jax.Array
    value: jax.Array
    rewards: jax.Array  # float32[..., num_players], scaled to at most 1
    terminated: jax.Array
    truncated: jax.Array


def advantages_of(config: Config, steps: Steps, last: jax.Array, is_known: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns advantages float32[rollout_length, num_envs], and whether they are known: not at the end of a cut game.

    `last` is float32[num_envs, num_players], the values of the seats on the boards after the rollout, where `is_known`.
    """

    def backwards(carry: Any, step: Steps) -> Any:
        paid, next_value, later, is_known = carry  # [num_envs, num_players], until each seat's next decision
        ended = (step.terminated | step.truncated)[:, None]
        mover = step.seat[:, None] == jnp.arange(step.rewards.shape[1])
        paid, next_value, later = (jnp.where(ended, 0, each) for each in (paid, next_value, later))
        paid, is_known, value = paid + step.rewards, step.terminated[:, None] | (is_known & ~ended), step.value[:, None]
        advantage = paid + config.gamma * next_value - value + config.gamma * config.gae_lambda * later
        advantage = jnp.where(is_known, advantage, 0)
        after = jnp.where(mover, 0, paid), jnp.where(mover, value, next_value), jnp.where(mover, advantage, later)
        return (*after, is_known | mover), ((advantage * mover).sum(1), (is_known & mover).any(1))

    return jax.lax.scan(backwards, (0 * last, last, 0 * last, is_known), steps, reverse=True)[1]


def loss_of(
    config: Config, policy: Any, params: Any, steps: Steps, advantage: jax.Array, target: jax.Array, known: jax.Array
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
    params, opt_state, states = carry
    env, play_key, learn_key = policy.env, *jax.random.split(key)

    def play(states: Any, key: jax.Array) -> tuple[Any, Steps]:
        boards, keys = states.board, jax.random.split(key, config.num_envs + 1)
        observation, mask = jax.vmap(env.observe)(boards), jax.vmap(env.legal_action_mask)(boards)
        logits, value = policy.apply(params, observation, boards.current_player)
        log_probs = jax.nn.log_softmax(jnp.where(mask, logits, -1e9))
        action = jax.random.categorical(keys[0], log_probs)
        log_prob = jnp.take_along_axis(log_probs, action[:, None], 1)[:, 0]
        states = jax.vmap(jaxgames.auto_reset(env).step)(states, action, keys[1:])
        paid = states.rewards * reward_scale(env), states.terminated, states.truncated
        return states, Steps(observation, mask, boards.current_player, action, log_prob, value, *paid)

    states, steps = jax.lax.scan(play, states, jax.random.split(play_key, config.rollout_length))
    seat = states.board.current_player
    value = policy.apply(params, jax.vmap(env.observe)(states.board), seat)[1][:, None]
    mover = seat[:, None] == jnp.arange(env.num_players)  # in a zero-sum game of two, the other seat has -value
    advantage, known = advantages_of(config, steps, jnp.where(mover, value, -value), mover | is_symmetric(env))
    batch = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), (steps, advantage, advantage + steps.value, known))

    def learn(carry: Any, rows: jax.Array) -> Any:
        minibatch = jax.tree.map(lambda x: x[rows], batch)
        gradient = jax.grad(lambda params: loss_of(config, policy, params, *minibatch))(carry[0])
        updates, opt_state = optimizer.update(gradient, carry[1])
        return (optax.apply_updates(carry[0], updates), opt_state), None

    orders = [jax.random.permutation(key, known.size) for key in jax.random.split(learn_key, config.num_epochs)]
    rows = jnp.stack(orders).reshape(config.num_epochs * config.num_minibatches, -1)
    return (*jax.lax.scan(learn, (params, opt_state), rows)[0], states), None


def train(config: Config, key: jax.Array) -> tuple[Any, jax.Array]:
    """Returns the parameters, and float32[EVALUATIONS], the share of games won during the training."""
    env: Any = jaxgames.make(config.env)
    policy, opponent = Policy(env, config.sharing), agents.make(OPPONENT, env)
    num_updates = config.num_iterations * config.num_epochs * config.num_minibatches
    rate = optax.linear_schedule(config.learning_rate, 0, num_updates)
    optimizer = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(rate, eps=1e-5))

    def part(carry: Any, key: jax.Array) -> Any:
        learn = functools.partial(iterate, config, policy, optimizer)
        carry, _ = jax.lax.scan(learn, carry, jax.random.split(key, config.num_iterations // EVALUATIONS))
        agent = PolicyAgent(carry[0], env, policy, temperature=None)  # the most probable action
        return carry, arena.evaluate(env, agent, opponent, key, GAMES)["win_rate"]

    params_key, boards_key, key = jax.random.split(key, 3)
    params = policy.init(params_key)
    states = jax.vmap(jaxgames.auto_reset(env).init)(jax.random.split(boards_key, config.num_envs))
    carry, rates = jax.lax.scan(part, (params, optimizer.init(params), states), jax.random.split(key, EVALUATIONS))
    return carry[0], rates


def main() -> None:
    given: Any = sys.argv[1:3]
    if "--help" in given:
        sys.exit(print(__doc__))
    run = jax.jit(jax.vmap(functools.partial(train, Config(*given))))
    config, rates = Config(*given), run(jax.random.split(jax.random.key(0), SEEDS))[1]
    plt.plot(rates.T)
    plt.title(f"{config.env}: games won against {OPPONENT}, after each tenth of the training")
    plt.savefig("ppo.svg")
    result = {"env": config.env, "sharing": config.sharing, "seeds": SEEDS}
    print(json.dumps(result | {"win_rate": round(float(rates[:, -1].mean()), 3), "opponent": OPPONENT, "games": GAMES}))


if __name__ == "__main__":
    main()
