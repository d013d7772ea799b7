"""IPPO on a game of jaxgames through JaxMARL: one network plays all agents, and its score against random moves grows.

    python -m examples.jaxmarl_ippo
    python -m examples.jaxmarl_ippo "chinese_checkers_diamond(size=3, pieces=1)"

The algorithm is IPPO as in JaxMARL's baselines, with their `LogWrapper` and masks: every agent acts in every step, and
its observations, actions and rewards are a separate trajectory. The network is Flax, the optimiser is Optax.
"""

# pyright: reportMissingImports=false

import functools
import json
import sys
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from jaxmarl.wrappers.baselines import LogWrapper

from jaxgames.interop.jaxmarl import JaxMARLEnv

TOTAL_STEPS, NUM_ENVS, NUM_STEPS = 10_240, 16, 64  # steps of all boards; of each board between two updates
GAMMA, GAE_LAMBDA, CLIP_COEF, VF_COEF, ENT_COEF = 0.99, 0.95, 0.2, 0.5, 0.01
LEARNING_RATE, MAX_GRAD_NORM, UPDATE_EPOCHS, NUM_MINIBATCHES = 2.5e-3, 0.5, 4, 4


class Batch(NamedTuple):
    """The steps of a rollout, as the update needs them; every array is [NUM_STEPS, agents x boards, ...]."""

    seen: Any  # observations and masks
    action: jax.Array
    log_prob: jax.Array
    value: jax.Array
    reward: jax.Array
    done: jax.Array


class ActorCritic(nn.Module):
    """A hidden layer each for the policy and the value."""

    num_actions: int

    @nn.compact
    def __call__(self, observation: jax.Array, mask: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Log-probabilities [B, num_actions] and values [B]. The last action is legal for agents not to move."""
        x = jnp.concatenate([observation, mask[:, -1:]], axis=-1)
        logits = nn.Dense(self.num_actions)(nn.relu(nn.Dense(128)(x)))
        value = nn.Dense(1)(nn.relu(nn.Dense(128)(x)))[:, 0]
        return jax.nn.log_softmax(jnp.where(mask, logits, -1e9)), value


class IPPO:
    """The training of one network on an env of JaxMARL."""

    def __init__(self, env: JaxMARLEnv) -> None:
        self.env: Any = LogWrapper(env)
        self.network: Any = ActorCritic(env.no_op + 1)
        self.optimizer = optax.chain(optax.clip_by_global_norm(MAX_GRAD_NORM), optax.adam(LEARNING_RATE, eps=1e-5))

    def init(self, key: jax.Array) -> Any:
        """Returns the parameters, the optimiser's state, the boards and the observations at the start."""
        network_key, reset_key = jax.random.split(key)
        observations, states = jax.vmap(self.env.reset)(jax.random.split(reset_key, NUM_ENVS))
        params = self.network.init(network_key, *self._seen(observations, states))
        return params, self.optimizer.init(params), states, observations

    def update(self, carry: Any, key: jax.Array) -> tuple[Any, dict[str, jax.Array]]:
        """Plays NUM_STEPS steps and trains on them. Also returns the number of games that ended and the mean loss."""
        params, opt_state, *boards = carry
        play_key, key = jax.random.split(key)
        play = functools.partial(self._step, params, None)
        boards, (batch, ended) = jax.lax.scan(play, tuple(boards), jax.random.split(play_key, NUM_STEPS))
        last_value = self.network.apply(params, *self._seen(boards[1], boards[0]))[1]
        advantages = advantages_of(batch, last_value)
        data = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), (batch, advantages, advantages + batch.value))

        def descend(carry: Any, rows: jax.Array) -> Any:
            minibatch = jax.tree.map(lambda x: x[rows], data)
            loss, gradient = jax.value_and_grad(lambda params: loss_of(self.network, params, *minibatch))(carry[0])
            changes, opt_state = self.optimizer.update(gradient, carry[1])
            return (optax.apply_updates(carry[0], changes), opt_state), loss

        orders = [jax.random.permutation(key, data[1].size) for key in jax.random.split(key, UPDATE_EPOCHS)]
        rows = jnp.stack(orders).reshape(UPDATE_EPOCHS * NUM_MINIBATCHES, -1)
        learnt, losses = jax.lax.scan(descend, (params, opt_state), rows)
        return (*learnt, *boards), {"games": ended.sum(), "loss": losses.mean()}

    def score(self, params: Any, key: jax.Array, steps: int = 400) -> jax.Array:
        """Returns the mean reward per game of the network against random moves. Its seat differs between boards."""
        reset_key, key = jax.random.split(key)
        observations, states = jax.vmap(self.env.reset)(jax.random.split(reset_key, NUM_ENVS))
        agents = self.env.num_agents
        learner = (jnp.arange(agents)[:, None] == jnp.arange(NUM_ENVS) % agents).ravel()
        play = functools.partial(self._step, params, learner)
        _, (batch, ended) = jax.lax.scan(play, (states, observations), jax.random.split(key, steps))
        return (batch.reward * learner).sum() / ended.sum()

    def _step(self, params: Any, learner: jax.Array | None, boards: Any, key: jax.Array) -> Any:
        """Plays one step on every board; where `learner` is False, at random."""
        states, observations = boards
        seen = self._seen(observations, states)
        log_probs, value = self.network.apply(params, *seen)
        if learner is not None:
            log_probs = jnp.where(learner[:, None], log_probs, jnp.where(seen[1], 0.0, -1e9))
        action_key, step_key = jax.random.split(key)
        action = jax.random.categorical(action_key, log_probs)
        by_agent = dict(zip(self.env.agents, action.reshape(-1, NUM_ENVS), strict=True))
        step_keys = jax.random.split(step_key, NUM_ENVS)
        observations, states, reward, done, info = jax.vmap(self.env.step)(step_keys, states, by_agent)
        log_prob = jnp.take_along_axis(log_probs, action[:, None], 1)[:, 0]
        batch = Batch(seen, action, log_prob, value, self._stacked(reward), self._stacked(done))
        return (states, observations), (batch, info["returned_episode"][:, 0])

    def _seen(self, observations: Any, states: Any) -> tuple[jax.Array, jax.Array]:
        """Returns observations [agents x boards, size] and masks [agents x boards, num_actions]."""
        masks = jax.vmap(self.env.get_avail_actions)(states.env_state)
        return self._stacked(observations), self._stacked(masks)

    def _stacked(self, by_agent: Any) -> jax.Array:
        return jnp.concatenate([by_agent[agent] for agent in self.env.agents])


def advantages_of(batch: Batch, last_value: jax.Array) -> jax.Array:
    """Returns the generalised advantage estimates of every agent, [num_steps, agents x boards]."""

    def backwards(carry: Any, step: Batch) -> Any:
        advantage, next_value = carry
        delta = step.reward + GAMMA * next_value * ~step.done - step.value
        advantage = delta + GAMMA * GAE_LAMBDA * ~step.done * advantage
        return (advantage, step.value), advantage

    return jax.lax.scan(backwards, (jnp.zeros_like(last_value), last_value), batch, reverse=True)[1]


def loss_of(network: Any, params: Any, batch: Batch, advantage: jax.Array, target: jax.Array) -> jax.Array:
    """Returns the loss of PPO with a clipped objective and a clipped value."""
    log_probs, value = network.apply(params, *batch.seen)
    ratio = jnp.exp(jnp.take_along_axis(log_probs, batch.action[:, None], 1)[:, 0] - batch.log_prob)
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    objective = jnp.minimum(ratio * advantage, ratio.clip(1 - CLIP_COEF, 1 + CLIP_COEF) * advantage)
    clipped = batch.value + (value - batch.value).clip(-CLIP_COEF, CLIP_COEF)
    value_loss = 0.5 * jnp.maximum((value - target) ** 2, (clipped - target) ** 2)
    entropy = -(jnp.exp(log_probs) * jnp.where(batch.seen[1], log_probs, 0.0)).sum(-1)
    return (VF_COEF * value_loss - objective - ENT_COEF * entropy).mean()


def main() -> None:
    game, *others = (*sys.argv[1:], "dots_and_boxes(rows=2, cols=2)")
    if others[1:] or game.startswith("-"):
        print(__doc__)
        sys.exit(game not in ("-h", "--help"))
    learner, updates = IPPO(JaxMARLEnv(game)), TOTAL_STEPS // (NUM_ENVS * NUM_STEPS)
    init_key, train_key, score_key = jax.random.split(jax.random.key(0), 3)
    carry, score = learner.init(init_key), jax.jit(learner.score)
    scores = [score(carry[0], score_key)]
    train = jax.jit(functools.partial(jax.lax.scan, learner.update))
    carry, metrics = train(carry, jax.random.split(train_key, updates))
    scores.append(score(carry[0], score_key))
    result: dict[str, Any] = {"env": game, "steps": TOTAL_STEPS, "games": int(metrics["games"].sum())}
    result["last_loss"] = round(float(metrics["loss"][-1]), 4)
    print(json.dumps(result | {"scores": [round(float(score), 3) for score in scores]}))


if __name__ == "__main__":
    main()
