"""Boards under test: compiled functions of an env, legal actions in notation, batches."""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import Env
from jaxgames._platforms import VARIABLE


class Look(NamedTuple):
    """Everything that a board shows; with a leading axis for a batch."""

    mask: Any  # bool[num_actions]
    mover: Any  # bool[*observation_shape], the observation of the seat to move
    seats: Any  # bool[num_players, *observation_shape], the observation of each seat


class Programs(NamedTuple):
    """Jitted functions of an env. They return arrays on the device."""

    step: Callable[..., Any]  # (state, action) -> state
    mask: Callable[..., Any]  # (state) -> bool[num_actions]
    look: Callable[..., Look]  # (state) -> Look


@functools.cache
def compiled(env: Env[Any]) -> Programs:
    """The functions of one board. Equal envs share them, so each is compiled once in a process."""
    return Programs(jax.jit(_step(env)), jax.jit(env.legal_action_mask), jax.jit(_look(env)))


@functools.cache
def batched(env: Env[Any]) -> Programs:
    """The same functions of a batch of boards. Each batch size is compiled on its own: use few."""
    return Programs(
        jax.jit(jax.vmap(_step(env))), jax.jit(jax.vmap(env.legal_action_mask)), jax.jit(jax.vmap(_look(env)))
    )


@functools.cache
def in_form(env: Env[Any], form: str) -> tuple[Callable[..., Any], Callable[..., tuple[Look, Any]], Callable[..., Any]]:
    """(step, look, random_legal_action) of a batch of boards in a form of `jaxgames._platforms`.

    `look` also returns whether the actions from -2 to num_actions + 1 are legal, judged one by one.
    """

    def look_and_judge(state: Any) -> tuple[Look, jax.Array]:
        actions = jnp.arange(-2, env.num_actions + 2)
        legal = jax.vmap(env._is_legal, (None, 0))(state, actions)  # pyright: ignore[reportPrivateUsage]
        return _look(env)(state), legal

    def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
        program = jax.jit(jax.vmap(function))

        def call(*arguments: Any) -> Any:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv(VARIABLE, form)  # read when the program is traced, in the first call
                return jax.device_get(program(*arguments))

        return call

    return compiled(_step(env)), compiled(look_and_judge), compiled(lambda *given: env.random_legal_action(*given))


def _step(env: Env[Any]) -> Callable[..., Any]:
    return lambda state, action: env.step(state, action)


def _look(env: Env[Any]) -> Callable[..., Look]:
    def look(state: Any) -> Look:
        seats = jax.vmap(lambda seat: env.observe(state, seat))(jnp.arange(env.num_players))
        return Look(env.legal_action_mask(state), env.observe(state), seats)

    return look


# -- one board -------------------------------------------------------------------------------------------------


@functools.cache
def start(env: Env[Any]) -> Any:
    """A new board, on the host."""
    return jax.device_get(env.init(jax.random.key(0)))


def legal(env: Env[Any], state: Any) -> set[str]:
    """The legal actions in notation."""
    return {env.action_to_string(state, int(action)) for action in np.flatnonzero(compiled(env).mask(state))}


def play(env: Env[Any], state: Any, *texts: str) -> Any:
    """The state after legal actions in notation, on the host."""
    for text in texts:
        action = env.action_from_string(state, text)
        assert compiled(env).mask(state)[action], f"{text} must be legal in {env.to_string(state)}"
        state = jax.device_get(compiled(env).step(state, np.int32(action)))
    return state


# -- batches ---------------------------------------------------------------------------------------------------


def stacked(states: Iterable[Any]) -> Any:
    """Boards as one batch, on the host."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *jax.device_get(list(states)))


def repeated(state: Any, boards: int) -> Any:
    """A batch of equal boards, on the host."""
    return jax.tree.map(lambda leaf: np.stack([leaf] * boards), jax.device_get(state))


def board(states: Any, index: Any) -> Any:
    """One board of a batch, or those that a slice or an index array picks."""
    return jax.tree.map(lambda leaf: leaf[index], states)


def read_all(env: Env[Any], texts: Sequence[str]) -> Any:
    """The positions that the texts describe, as one batch."""
    return stacked(env.from_string(text) for text in texts)


def random_actions(rng: np.random.Generator, masks: np.ndarray) -> np.ndarray:
    """int32[boards], a uniformly random action of each mask; 0 where a mask is empty."""
    return (masks * rng.random(masks.shape)).argmax(-1).astype(np.int32)


def in_chunks(chunk: int, function: Callable[..., Any], *arguments: Any) -> Any:
    """`function` of arguments with a first axis of any length, on the host, compiled for batches of `chunk` only."""
    length = len(jax.tree.leaves(arguments)[0])
    parts: list[Any] = []
    for begin in range(0, length, chunk):
        chosen = np.minimum(np.arange(begin, begin + chunk), length - 1)
        part = jax.device_get(function(*board(arguments, chosen)))
        parts.append(board(part, slice(length - begin)))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)
