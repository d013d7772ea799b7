"""Functions that value boards, for tests of searches, and the same search by mctx."""

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import mctx
import numpy as np

from jaxgames import Env
from jaxgames.mcts import Evaluation, SearchConfig


@dataclass(frozen=True)
class Linear:
    """A random linear function of the mover's observation; `params` are its weights."""

    env: Env[Any]

    def params(self, seed: int, scale: float = 1.0) -> jax.Array:
        outputs = self.env.num_actions + self.env.num_players
        size = int(np.prod(self.env.observation_shape)) + 1
        return scale * jax.random.normal(jax.random.key(seed), (size, outputs)) / np.sqrt(size)

    def __call__(self, params: jax.Array, states: Any) -> Evaluation:
        boards = states.terminated.shape[0]
        seen = jax.vmap(self.env.observe)(states).reshape(boards, -1).astype(jnp.float32)
        out = jnp.concatenate([seen, jnp.ones((boards, 1))], -1) @ params
        ahead = jnp.tanh(out[:, self.env.num_actions :])  # of the mover, then clockwise
        if self.env.num_players == 2:
            ahead = jnp.stack([ahead[:, 0], -ahead[:, 0]], -1)
        seats = (jnp.arange(self.env.num_players) - states.current_player[:, None]) % self.env.num_players
        return Evaluation(4 * out[:, : self.env.num_actions], jnp.take_along_axis(ahead, seats, 1))


@dataclass(frozen=True)
class Nothing:
    """Equal logits, and the same values on every board; `params` are these values, float32[num_players]."""

    env: Env[Any]

    def __call__(self, params: jax.Array, states: Any) -> Evaluation:
        boards = states.terminated.shape[0]
        values = jnp.broadcast_to(params, (boards, self.env.num_players))
        return Evaluation(jnp.zeros((boards, self.env.num_actions)), values)


@functools.partial(jax.jit, static_argnames=("env", "count", "steps"))
def random_boards(env: Env[Any], count: int, steps: int, seed: int = 0) -> Any:
    """Boards after 0 to `steps` random actions; some can be finished."""
    key = jax.random.key(seed)

    def one(number: jax.Array, key: jax.Array) -> Any:
        def go(i: jax.Array, state: Any) -> Any:
            noise = jax.random.uniform(jax.random.fold_in(key, i), (env.num_actions,))
            return env.step(state, (env.legal_action_mask(state) * (1 + noise)).argmax().astype(jnp.int32))

        return jax.lax.fori_loop(0, number % (steps + 1), go, env.init(key))

    return jax.vmap(one)(jnp.arange(count), jax.random.split(key, count))


@functools.partial(jax.jit, static_argnames=("env", "evaluate", "config"))
def mctx_search(env: Env[Any], evaluate: Any, config: SearchConfig, params: Any, states: Any) -> tuple[Any, ...]:
    """mctx's own search over all actions, for two seats.

    Returns its actions [B], visits and weights [B, num_actions], and the mover's values [B].

    The value of a node is its mover's. So the discount is negative where the mover changes.
    """

    def assess(states: Any) -> tuple[jax.Array, jax.Array, jax.Array]:
        logits, values = evaluate(params, states)
        mask = jax.vmap(env.legal_action_mask)(states)
        return (
            jnp.where(mask, logits, jnp.finfo(jnp.float32).min),
            jnp.where(states.terminated, 0, own(values, states)),
            mask,
        )

    def own(values: jax.Array, states: Any) -> jax.Array:
        return jnp.take_along_axis(values, states.current_player[:, None], 1)[:, 0]

    def recurrent(_: Any, key: Any, actions: jax.Array, states: Any) -> tuple[Any, Any]:
        after = jax.vmap(env.step)(states, actions)
        logits, values, _ = assess(after)
        sign = jnp.where(after.current_player == states.current_player, 1.0, -config.gamma)
        discount = jnp.where(after.terminated, 0.0, sign)
        output: Any = mctx.RecurrentFnOutput
        return output(reward=own(after.rewards, states), discount=discount, prior_logits=logits, value=values), after

    logits, values, mask = assess(states)
    make_root: Any = mctx.RootFnOutput
    root = make_root(prior_logits=logits, value=values, embedding=states)
    arguments: Any = (None, jax.random.key(0), root, recurrent, config.simulations, ~mask)
    if config.search == "gumbel":
        transform: Any = functools.partial(mctx.qtransform_completed_by_mix_value, epsilon=config.value_epsilon)
        output = mctx.gumbel_muzero_policy(*arguments, qtransform=transform, gumbel_scale=0.0)
    else:
        transform = functools.partial(mctx.qtransform_by_parent_and_siblings, epsilon=config.value_epsilon)
        output = mctx.muzero_policy(*arguments, qtransform=transform, dirichlet_fraction=0.0, temperature=0.0)
    summary: Any = output.search_tree.summary()
    return output.action, summary.visit_counts, output.action_weights, summary.value
