"""Exact solutions of games: values, plies to the end and best actions of every position, and the files that keep them.

    solution = jaxgames.solvers.solve(env)
    solution.value(states)              # int8[B], for the mover
    solution.best_actions(states)       # bool[B, num_actions]
    solution.save("43.npz")
    solution = jaxgames.solvers.load("43.npz")

A position has a number, its index, in the frame of the mover. A position with seat 1 to move has the index of the
rotated position with seat 0 to move. So the solution holds one entry for both.
"""

import abc
import functools
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import _files
from jaxgames._batches import in_chunks
from jaxgames._checks import ParameterError
from jaxgames._files import FileKind
from jaxgames.env import Env, State
from jaxgames.registry import differ_only_in, games_with, record_of

SOLUTION_FILE = FileKind(
    format=1,
    noun="a solution",
    relation="solves",
    source="jaxgames.solvers",
    how_to_write="write one with solution.save(path)",
    again="solve the game again",
)

ILLEGAL_SCORE = -10_000  # below the score of every legal action

E = TypeVar("E", bound=Env[Any])


class Children(NamedTuple):
    """The positions that follow each of B positions, one row per position, its legal actions in ascending order.

    A row is filled up with entries that are not live. A finished or illegal position has no live entry.
    """

    actions: np.ndarray  # int32[B, K]; -1 where not live
    children: np.ndarray  # uint32[B, K], indices in the frame of the seat that moves next; 0 where not live
    live: np.ndarray  # bool[B, K]


class Solution(abc.ABC, Generic[E]):
    """The exact solution of one game.

    Methods take batches of states of the game with a leading axis of any length. They read the position only: the
    numbers of plies or rounds and a truncation do not matter, except that no action is best on a finished board.
    """

    env: E
    table: np.ndarray  # the value of every position, by index
    num_states: int  # positions with an index
    max_moves: int  # K, the largest number of legal actions of a position

    ignored: ClassVar[tuple[str, ...]] = ()  # parameters of the game on which its solution does not depend
    has_plies: ClassVar[bool] = False  # whether `plies` is supplied: the game is won or lost by its last move

    # -- supplied by a game ----------------------------------------------------------------------------------------

    @classmethod
    @abc.abstractmethod
    def solve(cls, env: E, progress: bool = True, unfinished: Path | None = None) -> Self:
        """Returns the solution of a game; the arguments are those of `jaxgames.solvers.solve`.

        A solver that takes little time ignores `unfinished`. Raises ValueError, with what it would take, for a game
        that is too large.
        """

    @abc.abstractmethod
    def value(self, states: State) -> np.ndarray:
        """Returns int8[B], the value for the mover with best play of both sides."""

    def plies(self, states: State) -> np.ndarray:
        """Returns int32[B], the plies to the end if the winner wins soonest and the loser loses latest; -1 for draws.

        Raises ValueError for a game that is not won or lost by its last move.
        """
        raise ValueError(f"{self.env.id} is not won by its last move, so it has no plies to the end: use value(states)")

    def is_legal(self, states: State) -> np.ndarray:
        """Returns bool[B], whether the rules allow the position."""
        return np.ones(len(self.index(states)), np.bool_)

    @abc.abstractmethod
    def counts(self) -> dict[str, Any]:
        """Returns how many positions have each value, in the frame of the mover."""

    @abc.abstractmethod
    def index(self, states: State) -> np.ndarray:
        """Returns uint32[B], the indices of positions.

        A state does not hold the parameters of its game. Raises ValueError for states that cannot be of this game.
        """

    @abc.abstractmethod
    def states_at(self, indices: Any) -> Any:
        """Returns the states with these indices, uint32[B]: seat 0 to move, counters 0, flags as by `from_string`."""

    @abc.abstractmethod
    def children(self, indices: Any) -> Children:
        """Returns the positions that follow those with these indices, uint32[B]."""

    @staticmethod
    @abc.abstractmethod
    def scores(env: Any, table: jax.Array, states: Any) -> jax.Array:
        """Returns int32[B, num_actions], higher for a better action of the mover; traced.

        ILLEGAL_SCORE is that of an illegal action. With `has_plies` the sign is the value, and the soonest win and the
        latest loss are best.

        Args:
          env: the game.
          table: `device_table` of its solution.
          states: live boards with a leading axis of any length.
        """

    @staticmethod
    @abc.abstractmethod
    def payoffs(env: Any, table: jax.Array, states: Any) -> jax.Array:
        """Returns float32[B], what seat 0 is paid from here on if both sides play perfectly, any number at the end.

        It is traced, with the arguments of `scores`.
        """

    @abc.abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """Returns the arrays that a file keeps."""

    @classmethod
    @abc.abstractmethod
    def from_arrays(cls, env: E, arrays: dict[str, np.ndarray]) -> Self:
        """Returns the solution with the arrays of a file. Raises ValueError if they do not fit the game."""

    @property
    def paying_env(self) -> E:
        """The game with rewards whose sum for the mover, from a position on, is the value of the position."""
        return self.env

    @property
    def num_bytes(self) -> int:
        """The bytes of the tables that a file keeps, before compression."""
        return sum(array.nbytes for array in self.arrays().values() if array.ndim > 0)

    # -- the same for all games ------------------------------------------------------------------------------------

    @functools.cached_property
    def device_table(self) -> jax.Array:
        """The table on the device, as `scores` and `payoffs` read it."""
        return jnp.asarray(self.table)

    def best_actions(self, states: State) -> np.ndarray:
        """Returns bool[B, num_actions], the legal actions that keep the value; all False on a finished board."""
        self.index(states)  # refuses states of another game
        return in_chunks(functools.partial(_best_actions, type(self), self.env, self.device_table), states)

    def fits(self, env: Env[Any]) -> bool:
        """Returns whether this is the solution of `env`; parameters that do not change the solution may differ."""
        return differ_only_in(self.ignored, env.unwrapped, self.env)

    def checked_indices(self, indices: Any) -> np.ndarray:
        """Returns indices as uint32[B]. Raises ValueError unless they are numbers of positions."""
        numbers = np.asarray(indices)
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
            raise ParameterError(f"expected integers of shape [B], not {numbers.dtype}{list(numbers.shape)}")
        if len(numbers) and not (numbers.min() >= 0 and numbers.max() < self.num_states):
            raise ParameterError(f"indices must be from 0 to {self.num_states - 1}")
        return numbers.astype(np.uint32)

    def save(self, path: str | Path) -> None:
        """Writes the solution to one file in NumPy's .npz format, which `load` reads; creates its folders.

        The file holds the version of the format, the game and its version, and a checksum over everything.
        """
        _files.write_file(SOLUTION_FILE, path, self.env, self.arrays())

    def facts(self) -> dict[str, Any]:
        """Returns the game, the value of its start for seat 0, and the counts: what the command prints as JSON."""
        return {"env": str(self.env), "start_value": int(self.value(start_of(self.env))[0]), **self.counts()}

    def report(self) -> str:
        """Returns the same as text for people."""
        return "\n".join(f"{name}: {fact}" for name, fact in self.facts().items())


def solve(env: Env[Any], progress: bool = True, unfinished: str | Path | None = None) -> Solution[Any]:
    """Returns the exact solution of a game.

    Args:
      env: the game, or `auto_reset` of it.
      progress: whether to show the progress on standard error.
      unfinished: a file that keeps the progress of a long analysis, which can then be resumed. It is read if it is
        there, and removed at the end; not used for a game that is solved in one pass.

    Raises ValueError for a game without a solver, and for a game that is too large, with what it would take.
    """
    return solution_class(env).solve(env.unwrapped, progress, None if unfinished is None else Path(unfinished))


def solution_class(env: Env[Any]) -> type[Solution[Any]]:
    """Returns the class of a game's solutions. Raises ValueError for a game without a solver."""
    solution = record_of(env).part("solution") if isinstance(env, Env) else None  # pyright: ignore[reportUnnecessaryIsInstance]  # callers need not be typed
    if solution is None:
        solved = " or ".join(games_with("solution"))
        raise ParameterError(f"expected an env of {solved}, the games that can be solved, not {env}")
    return solution


def load(path: str | Path, env: Env[Any] | None = None) -> Solution[Any]:
    """Returns the solution that `save` wrote; it must solve `env`, if that is given.

    Raises OSError if the file cannot be read. Raises ValueError, with the reason, for a file that is not a solution, is
    cut short or altered, has another format, or solves another game than `env` or another version of the game.
    """
    solved, arrays = _files.read_file(SOLUTION_FILE, path)
    solver = solution_class(solved)
    with _files.refusing_wrong_entries(SOLUTION_FILE, path):
        solution = solver.from_arrays(solved, arrays)
    if env is not None and not solution.fits(env):
        raise ValueError(f"{path} solves {solved}, not {env}")
    return solution


# -- batches -----------------------------------------------------------------------------------------------------------


def start_of(env: Env[Any]) -> Any:
    """Returns the start of a game without chance, as a batch of one state on the host."""
    return jax.tree.map(lambda leaf: np.asarray(leaf)[None], env.init(None))


@functools.partial(jax.jit, static_argnums=(0, 1))
def _best_actions(solver: type[Solution[Any]], env: Env[Any], table: jax.Array, states: Any) -> jax.Array:
    scores = solver.scores(env, table, states)
    results = jnp.sign(scores) if solver.has_plies else scores
    is_best = (scores > ILLEGAL_SCORE) & (results == results.max(-1, keepdims=True))
    return is_best & ~(states.terminated | states.truncated)[:, None]


def not_of(env: Env[Any], states: Any) -> ValueError:
    """Returns the error that refuses states of another game, or one board in place of a batch."""
    if isinstance(states, env.state_type) and np.ndim(states.terminated) == 0:
        found = "one board: jax.tree.map(lambda x: x[None], state)"
    else:
        found = type(states).__name__
    return ValueError(f"expected a batch of states of {env}, not {found}")
