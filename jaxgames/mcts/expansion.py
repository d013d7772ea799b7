"""The boards of a search: how they are made playable, stepped and evaluated, whatever the search does with them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxgames._checks import ParameterError, written_shape
from jaxgames.env import Env
from jaxgames.mcts.config import Evaluation
from jaxgames.mcts.tree import PADDING, Criterion, Expansion
from jaxgames.sampling import MASKED_LOGIT
from jaxgames.wrappers import live_boards

LOGIT_RANGE = 12.0  # a legal action counts as at most this much less likely than the best one
MAX_LOGIT = 1e6  # logits beyond it and its negative are clipped, so that those of legal actions are finite


class Expand(NamedTuple):
    """Makes nodes of boards: `expand(states, key)`."""

    env: Env[Any]
    evaluate: Callable[[Any, jax.Array], Evaluation]  # of states and a key
    num_slots: int
    criterion: Criterion

    def __call__(self, states: Any, key: jax.Array) -> Expansion:
        """Returns the boards with their values, and the legal actions of the highest logits as their slots.

        A logit that is not a number counts as the lowest one.
        """
        logits, values = self._checked(self.evaluate(states, key), states)
        mask = jax.vmap(self.env.legal_action_mask)(states)
        values = jnp.where(states.terminated[:, None], 0.0, values.astype(jnp.float32))
        logits = jnp.where(jnp.isnan(logits), -MAX_LOGIT, jnp.clip(logits.astype(jnp.float32), -MAX_LOGIT, MAX_LOGIT))
        logits = jnp.where(mask, logits, MASKED_LOGIT)
        logits = jnp.maximum(logits, logits.max(-1, keepdims=True) - LOGIT_RANGE)
        logits, actions = jax.lax.top_k(jnp.where(mask, logits, MASKED_LOGIT), self.num_slots)
        return Expansion(
            states=states,
            values=values,
            raw_value=self.criterion(values, states.current_player),
            actions=jnp.where(logits > MASKED_LOGIT, actions, PADDING),
            logits=logits,
        )

    def _checked(self, evaluation: Evaluation, states: Any) -> Evaluation:
        """Returns the evaluation; its shapes must fit the boards."""
        batch = states.terminated.shape[0]
        expected = ((batch, self.env.num_actions), (batch, self.env.num_players))
        shapes = tuple(jnp.shape(array) for array in evaluation)
        if shapes != expected:
            found = " and ".join(f"[{', '.join(map(str, shape))}]" for shape in shapes)
            raise ParameterError(
                f"evaluate must return logits [{batch}, num_actions = {self.env.num_actions}] and values "
                f"[{batch}, num_players = {self.env.num_players}] for {batch} boards, not {found}"
            )
        return evaluation


def criterion_of(seats: str, root: jax.Array) -> Criterion:
    """Returns the criterion by which the seats choose; `root` is the seat to move at each root, int32[B]."""

    def max_n(returns: jax.Array, seat: jax.Array) -> jax.Array:
        return jnp.take_along_axis(returns, seat[:, None], 1)[:, 0]

    def paranoid(returns: jax.Array, seat: jax.Array) -> jax.Array:
        of_root = max_n(returns, root)
        return jnp.where(seat == root, of_root, -of_root)

    return max_n if seats == "max_n" else paranoid


def playable(env: Env[Any], states: Any) -> tuple[Env[Any], Any]:
    """Returns the game and its boards for a tree: they do not restart, and their counters of length are set back."""
    if env.needs_key:
        raise ParameterError(f"a search needs a game without chance, and {env.id} has random events")
    env, states = env.unwrapped, live_boards(states)
    if jnp.ndim(states.terminated) != 1:
        found = written_shape(jnp.shape(states.terminated)) or "one board"
        raise ParameterError(
            f"expected boards with one leading axis, not {found}: jax.tree.map(lambda x: x[None], state)"
        )
    return env, jax.vmap(env._restart_clock)(states)  # pyright: ignore[reportPrivateUsage]  # of this library


def step_legally(env: Env[Any], states: Any, actions: jax.Array) -> Any:
    """Returns the boards after legal actions. The result for a finished board or an illegal action is not to be used.

    `env.step` would check the actions, which takes as long as the step itself.
    """
    return jax.vmap(lambda state, action: env._step(state, action, None))(states, actions)  # pyright: ignore[reportPrivateUsage]  # of this library


def choose_boards(choice: jax.Array, states: Any, others: Any) -> Any:
    """Returns the boards of `states` where `choice`, bool[B], is True, and those of `others` elsewhere."""

    def choose(leaf: jax.Array, other: jax.Array) -> jax.Array:
        return jnp.where(choice.reshape(-1, *[1] * (leaf.ndim - 1)), leaf, other)

    return jax.tree.map(choose, states, others)
