"""Labelled positions of one game: boards, the actions that were played on them, and the results of the games.

    positions = train.data.positions.load("pairs.npz")
    positions.of("train").action             # int32[P]
    positions.save("pairs.npz")

All arrays are on the host. `python -m train.data` writes such files, and `train.imitation` learns from them.
"""

import dataclasses
import functools
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import Env, _files
from jaxgames._batches import in_chunks
from jaxgames._files import DIGEST_LENGTH, FileKind
from jaxgames.env import State
from train.driver.run_folder import leaves_by_name

UNKNOWN = -1  # an action, the number of a game, or a ply, that is not known
CHUNK = 1 << 13  # positions that are computed at once
STATE, LABEL = "state.", "label."  # what the names of the arrays begin with in a file
DTYPES = {"action": np.int32, "value": np.float32, "game": np.int32, "ply": np.int32, "split": np.int8}  # of the labels
NOT_KNOWN = {"action": UNKNOWN, "value": np.nan, "game": UNKNOWN, "ply": UNKNOWN, "split": 0}  # labels not given
NOT_GIVEN: Any = None  # a label that is unknown for all positions
leaves_of = functools.partial(leaves_by_name, separator=".")  # of a state, by names such as "position.board"
KIND = FileKind(
    format=1,
    noun="a file of positions",
    relation="holds positions of",
    source="train.data",
    how_to_write="write one with python -m train.data GAMES.pdn --output pairs.npz",
    again="write the file again with python -m train.data",
)


@dataclass(frozen=True)
class Positions:
    """P labelled positions of one game, on the host. Labels that are not given are unknown."""

    env: Env[Any]
    states: Any  # the env's State with a leading axis [P], live boards
    action: np.ndarray = NOT_GIVEN  # int32[P], the mover's action; UNKNOWN if there is none
    value: np.ndarray = NOT_GIVEN
    """float32[P], the mover's return in the env's unit, such as the game's result; NaN: unknown."""
    probabilities: np.ndarray | None = None
    """float32[P, num_actions], a labelled policy in addition to or instead of actions."""
    game: np.ndarray = NOT_GIVEN  # int32[P], the number of the game in its collection; UNKNOWN if there is none
    ply: np.ndarray = NOT_GIVEN  # int32[P], the number of the ply in its game, from 0; UNKNOWN if there is none
    split: np.ndarray = NOT_GIVEN  # int8[P], the index in `splits`
    splits: tuple[str, ...] = ("train",)  # names such as "train", "validation", "test", "external"

    def __post_init__(self) -> None:
        """Raises ValueError if the arrays do not fit the game or each other; the message names the array."""
        object.__setattr__(self, "states", jax.tree.map(np.asarray, self.states))
        object.__setattr__(self, "splits", tuple(self.splits))
        count = next((len(leaf) for leaf in jax.tree.leaves(self.states) if leaf.ndim), 0)
        dtypes = DTYPES if self.probabilities is None else {**DTYPES, "probabilities": np.float32}
        for name, dtype in dtypes.items():
            label = getattr(self, name)
            label = np.full(count, NOT_KNOWN[name]) if label is None else label
            object.__setattr__(self, name, _numbers(name, label, dtype))
        size = self.action.shape[:1]
        shapes = {"probabilities": (*size, self.env.num_actions)}
        expected = {name: (shapes.get(name, size), np.dtype(dtype)) for name, dtype in dtypes.items()}
        found = {name: getattr(self, name) for name in dtypes}
        for name, leaf in leaves_of(_template(self.env)).items():
            expected[STATE + name] = ((*size, *leaf.shape), leaf.dtype)
        found |= {STATE + name: leaf for name, leaf in leaves_of(self.states).items()}
        if wrong := [*(expected.keys() ^ found.keys())]:
            raise ValueError(f"states must have the arrays of a state of {self.env}; {', '.join(wrong)} differ")
        for name, (shape, dtype) in expected.items():
            if (found[name].shape, found[name].dtype) != (shape, dtype):
                given = f"{found[name].dtype}{list(found[name].shape)}"
                raise ValueError(f"{name} must be {np.dtype(dtype)}{list(shape)}, not {given}")
        self._check_values()

    def _check_values(self) -> None:
        players = self.env.num_players
        for name, array, low, high in (
            ("action", self.action, UNKNOWN, self.env.num_actions - 1),
            ("split", self.split, 0, len(self.splits) - 1),
            ("current_player", self.states.current_player, 0, players - 1),
        ):
            if len(array) and not (array.min() >= low and array.max() <= high):
                raise ValueError(f"{name} must be from {low} to {high}, not {array.min()} to {array.max()}")
        names: set[Any] = {*self.splits}  # a file can have numbers
        if len(names) < len(self.splits) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"splits must be different names, such as train, not {', '.join(map(str, self.splits))}")
        if np.isinf(self.value).any():
            raise ValueError("value must be finite, or NaN where it is unknown")
        if (p := self.probabilities) is not None and not ((p >= 0).all() and np.allclose(p.sum(1), 1, atol=1e-4)):
            raise ValueError("probabilities must be 0 or more, and for every position add up to 1")

    def __len__(self) -> int:
        return len(self.action)

    def take(self, rows: np.ndarray) -> "Positions":
        """Returns some of the positions: those with the indices `rows`, int[N], or those where it is True, bool[P]."""
        labels = {name: getattr(self, name)[rows] for name in DTYPES}
        probabilities = None if self.probabilities is None else self.probabilities[rows]
        states = jax.tree.map(lambda leaf: leaf[rows], self.states)
        return dataclasses.replace(self, states=states, probabilities=probabilities, **labels)

    def of(self, split: str) -> "Positions":
        """Returns the positions of a split, in their order. Raises ValueError for a name that is not in `splits`."""
        if split not in self.splits:
            raise ValueError(f"split must be one of {', '.join(self.splits)}, not {split!r}")
        return self.take(self.split == self.splits.index(split))

    def save(self, path: str | Path) -> None:
        """Writes the positions to one file in NumPy's .npz format, which `load` reads; creates its folders."""
        arrays = {STATE + name: leaf for name, leaf in leaves_of(self.states).items()}
        arrays |= {LABEL + name: getattr(self, name) for name in DTYPES}
        arrays[LABEL + "splits"] = np.asarray(self.splits, np.str_)
        if self.probabilities is not None:
            arrays[LABEL + "probabilities"] = self.probabilities
        _files.write_file(KIND, path, self.env, arrays)


def load(path: str | Path, env: Env[Any] | None = None) -> Positions:
    """Returns the positions that `save` wrote.

    Args:
      path: the file.
      env: the game that the positions must be of, if it is given.

    Raises OSError if the file cannot be read. Raises ValueError, with the reason, for a file that is cut short or
    altered, and for another format. Raises it also for positions of another game or another version of the game, for
    finished boards, and for illegal actions.
    """
    made, arrays = _files.read_file(KIND, path)
    if env is not None and made != env:
        raise ValueError(f"{path} holds positions of {made}, not of {env}")
    template = _template(made)
    with _files.refusing_wrong_entries(KIND, path):
        leaves = [arrays[STATE + name] for name in leaves_of(template)]
        labels: dict[str, Any] = {name: arrays[LABEL + name] for name in DTYPES}
        labels["probabilities"] = arrays.get(f"{LABEL}probabilities")
        labels["splits"] = tuple(name.item() for name in arrays[f"{LABEL}splits"])
        positions = Positions(env=made, states=jax.tree.unflatten(jax.tree.structure(template), leaves), **labels)
        check_rules(positions)
    return positions


def fingerprint(path: str | Path) -> str:
    """Returns the checksum at the end of a file of positions: equal for equal positions with equal labels."""
    with Path(path).open("rb") as file:
        file.seek(-min(DIGEST_LENGTH, Path(path).stat().st_size), 2)
        return file.read().decode(errors="replace")


def evenly_spaced(positions: Positions, count: int) -> Positions:
    """Returns `count` of the positions, evenly spaced; all of them for 0 or if there are no more."""
    if not 0 < count < len(positions):
        return positions
    return positions.take(np.arange(count) * len(positions) // count)


def keys(positions: Positions) -> np.ndarray:
    """Returns uint64[P], equal for the same position: equal observation of the mover and equal legal actions.

    It is the 8-byte BLAKE2b hash of their bits.
    """
    rows = _computed(_shown_bits, positions, positions.states)
    words = (hashlib.blake2b(row, digest_size=8).digest() for row in rows)
    return np.array([int.from_bytes(word, "little") for word in words], np.uint64)


def legal_actions(positions: Positions) -> np.ndarray:
    """Returns bool[P, num_actions], the legal actions of the movers."""
    return _computed(_legal_actions, positions, positions.states)


def check_rules(positions: Positions) -> None:
    """Raises ValueError for a finished board, an illegal action, or a probability of an illegal action."""
    batch = positions.states, positions.action, positions.probabilities
    finished, illegal = _computed(_breaks_rules, positions, batch)
    for wrong, problem in ((finished, "the board is finished"), (illegal, "an action is illegal")):
        if wrong.any():
            raise ValueError(f"position {int(wrong.argmax())}: {problem}, so the labels fit other rules")


# -- boards ------------------------------------------------------------------------------------------------------------


@functools.lru_cache
def _template(env: Env[Any]) -> State:
    """Returns the state of one board as shapes and dtypes."""
    return jax.eval_shape(env.init, jax.eval_shape(lambda: jax.random.key(0)))


def _computed(function: Callable[[Env[Any], Any], Any], positions: Positions, batch: Any) -> Any:
    """Returns a function of the positions, such as of their states, on the host, computed for a chunk at a time."""
    size = min(CHUNK, 1 << max(0, len(positions) - 1).bit_length())  # few shapes, so few programs
    return in_chunks(functools.partial(function, positions.env), batch, size)


@functools.partial(jax.jit, static_argnums=0)
def _legal_actions(env: Env[Any], states: Any) -> jax.Array:
    return jax.vmap(env.legal_action_mask)(states)


@functools.partial(jax.jit, static_argnums=0)
def _shown_bits(env: Env[Any], states: Any) -> jax.Array:
    """Returns uint8[B, bytes], the bits of the mover's observation and of the legal actions."""
    observation = jax.vmap(lambda state: env.observe(state))(states)
    mask = _legal_actions(env, states)
    return jnp.packbits(jnp.concatenate([observation.reshape(len(mask), -1), mask], axis=1), axis=1)


@functools.partial(jax.jit, static_argnums=0)
def _breaks_rules(env: Env[Any], batch: tuple[Any, jax.Array, jax.Array | None]) -> tuple[jax.Array, jax.Array]:
    """Returns bool[B], whether each board is finished, and bool[B], whether a label has an illegal action."""
    states, action, probabilities = batch
    mask = _legal_actions(env, states)
    illegal = (action != UNKNOWN) & ~jnp.take_along_axis(mask, action[:, None], axis=1)[:, 0]
    if probabilities is not None:
        illegal |= ((probabilities > 0) & ~mask).any(1)
    return states.terminated | states.truncated, illegal


def _numbers(name: str, array: Any, dtype: Any) -> np.ndarray:
    """Returns an array of numbers with a dtype. Raises ValueError for others, and for integers that do not fit."""
    numbers = np.asarray(array)
    if numbers.dtype.kind not in "iuf":
        raise ValueError(f"{name} must have numbers, not {numbers.dtype}")
    with np.errstate(invalid="ignore"):  # of NaN and of numbers that are too large
        converted = numbers.astype(dtype, copy=False)
    if np.dtype(dtype).kind == "i" and (converted != numbers).any():
        limits = np.iinfo(dtype)
        raise ValueError(f"{name} must have whole numbers from {limits.min} to {limits.max}")
    return converted
