"""The positions of a game in progress, each as the bytes of its state.

A state on a device is several small arrays, which take tens of kilobytes. Its bytes are a few hundred at most.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Self, overload

import jax
import jax.numpy as jnp
import numpy as np


class _Form(NamedTuple):
    """The structure of a state, and the shape and dtype of each of its arrays.

    The arrays of PRNG keys are those of `jax.random.key_data`, with the implementation of the keys; None for others.
    """

    tree: Any
    arrays: tuple[tuple[tuple[int, ...], np.dtype[Any], Any], ...]


class Line(Sequence[Any]):
    """All positions of a game, from its start. `line[ply]` is a state on the device of the rules.

    Attributes:
      players: the seat to move in every position.
      overs: for each position, whether the game is over.
    """

    def __init__(self, device: Any) -> None:
        """Makes a line without positions; its states will be on `device`."""
        self._device = device
        self._forms: dict[_Form, _Form] = {}  # one in most games
        self._packed: list[tuple[_Form, bytes]] = []
        self.players: list[int] = []
        self.overs: list[bool] = []

    def append(self, state: Any, player: int, over: bool) -> None:
        """Adds a position at the end."""
        leaves, tree = jax.tree.flatten(state)
        keys = [jax.random.key_impl(leaf) if _is_key(leaf) else None for leaf in leaves]
        arrays = [np.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf) for leaf in leaves]
        form = _Form(tree, tuple((array.shape, array.dtype, key) for array, key in zip(arrays, keys, strict=True)))
        self._packed.append((self._forms.setdefault(form, form), b"".join(array.tobytes() for array in arrays)))
        self.players.append(player)
        self.overs.append(over)

    def cut(self, length: int) -> None:
        """Drops all positions but the first `length` ones."""
        for each in (self._packed, self.players, self.overs):
            del each[length:]

    def copy(self) -> Self:
        """Returns a line of the same positions, which changes alone."""
        other = type(self)(self._device)
        other._forms, other._packed = self._forms, list(self._packed)
        other.players, other.overs = list(self.players), list(self.overs)
        return other

    def on_host(self, ply: int) -> Any:
        """Returns the state after `ply` submoves with arrays of numpy, which texts and pictures read fastest.

        PRNG keys are arrays of JAX.
        """
        form, content = self._packed[ply]
        leaves: list[Any] = []
        begin = 0
        for shape, dtype, key in form.arrays:
            end = begin + math.prod(shape) * dtype.itemsize
            array = np.frombuffer(bytearray(content[begin:end]), dtype).reshape(shape)
            leaves.append(array if key is None else jax.random.wrap_key_data(jnp.asarray(array), impl=key))
            begin = end
        return jax.tree.unflatten(form.tree, leaves)

    def __len__(self) -> int:
        return len(self._packed)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[ply] for ply in range(*index.indices(len(self)))]
        return jax.device_put(self.on_host(index), self._device)


def _is_key(leaf: Any) -> bool:
    """Returns whether a leaf of a state is an array of typed PRNG keys."""
    return isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
