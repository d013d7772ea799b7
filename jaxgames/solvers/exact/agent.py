"""The agent that plays a solved game perfectly: `solver(FILE)`.

    python -m jaxgames.solvers "chinese_checkers_diamond(size=4, pieces=3)" --output 43.npz
    jaxgames.agents.make("solver(43.npz)", env)

It plays an action of the best value: on the diamond the one that wins soonest or loses latest, in Dots and Boxes one of
the best margin. Of equal actions it plays the one with the lowest number, or with `ties=random` any. The table of the
solution is a leaf of the agent, so it can be traced.
"""

import functools
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, get_args

import jax
import jax.numpy as jnp

from jaxgames._checks import ParameterError, check_choice
from jaxgames._files import named_by_parameter
from jaxgames._specs import written_file
from jaxgames.agents import Agent, Analysis, pytree
from jaxgames.env import Env
from jaxgames.games.chinese_checkers_diamond.rules import ChineseCheckersDiamond, ChineseCheckersDiamondState
from jaxgames.games.dots_and_boxes.rules import DotsAndBoxes, DotsAndBoxesState
from jaxgames.solvers.chinese_checkers_diamond.solution import DiamondSolution, children_of, index_of_states
from jaxgames.solvers.dots_and_boxes import solution as dots_and_boxes
from jaxgames.solvers.dots_and_boxes.solution import DotsAndBoxesSolution
from jaxgames.solvers.exact.retrograde import DRAW, ILLEGAL
from jaxgames.solvers.exact.solution import Solution, check_keeps_rules, load
from jaxgames.wrappers import game_of, inside

ILLEGAL_SCORE = -10_000  # below the score of every legal action
WIN_SCORE = 1_000  # of a win, before its plies are subtracted
Ties = Literal["first", "random"]  # which of several equal actions is played


class Scores(NamedTuple):
    """The actions of B boards with a number each; a higher number is a better action."""

    actions: jax.Array  # int32[B, K], in ascending order
    scores: jax.Array  # int32[B, K]; ILLEGAL_SCORE where the action is not legal


class TableReader(Protocol):
    """Reads the table of a game's solution for batches of boards; pure functions, hashable."""

    def scores(self, table: jax.Array, states: Any) -> Scores: ...

    def values(self, table: jax.Array, states: Any) -> jax.Array:
        """Returns float32[B], what seat 0 is paid from here on if both sides play perfectly; any number at the end."""
        ...


@dataclass(frozen=True)
class DiamondReader:
    """Reads uint8[positions], as `jaxgames.solvers.exact.retrograde` describes it."""

    env: ChineseCheckersDiamond
    max_moves: int

    def scores(self, table: jax.Array, states: ChineseCheckersDiamondState) -> Scores:
        indices, _ = index_of_states(self.env, states.pieces)
        actions, children, live = children_of(self.env, self.max_moves, indices)
        reply = table[children].astype(jnp.int32)  # plies to the end for the opponent: even means that it loses
        decided = jnp.where(reply % 2 == 0, WIN_SCORE - reply, reply - WIN_SCORE)
        scores = jnp.where(reply == int(DRAW), 0, decided)
        return Scores(jnp.maximum(actions, 0), jnp.where(live, scores, ILLEGAL_SCORE))

    def values(self, table: jax.Array, states: ChineseCheckersDiamondState) -> jax.Array:
        entry = table[index_of_states(self.env, states.pieces)[0]].astype(jnp.int32)
        of_mover = jnp.where(entry >= int(ILLEGAL), 0, jnp.where(entry % 2 == 1, 1, -1))
        return jnp.where(states.current_player == 0, of_mover, -of_mover).astype(jnp.float32)


@dataclass(frozen=True)
class DotsAndBoxesReader:
    """Reads int8[rows, columns], as `jaxgames.solvers.dots_and_boxes.solution` describes it."""

    env: DotsAndBoxes

    def scores(self, table: jax.Array, states: DotsAndBoxesState) -> Scores:
        worth = jax.vmap(functools.partial(dots_and_boxes.worth_of_edges, self.env, table))(states.edges)
        actions = jnp.broadcast_to(jnp.arange(self.env.num_actions), worth.shape)
        return Scores(actions, jnp.where(states.edges, ILLEGAL_SCORE, worth.astype(jnp.int32)))

    def values(self, table: jax.Array, states: DotsAndBoxesState) -> jax.Array:
        row, column = dots_and_boxes.place_of(self.env, states.edges)
        to_go = table[row, column].astype(jnp.int32)
        for_seat_0 = jnp.where(states.current_player == 0, to_go, -to_go)
        if self.env.reward == "boxes":  # the boxes that are taken have been paid
            return for_seat_0.astype(jnp.float32)
        margin = ((states.owner == 0).sum(-1) - (states.owner == 1).sum(-1)) + for_seat_0
        return (margin if self.env.reward == "margin" else jnp.sign(margin)).astype(jnp.float32)


@functools.singledispatch
def reader_of(solution: Solution[Any], env: Env[Any]) -> tuple[TableReader, jax.Array]:
    """Returns the reader of the solution's table for boards of `env`, and the table on the device."""
    raise ParameterError(f"{solution.env} has no table that the device can read: add a reader with reader_of.register")


@reader_of.register
def _(solution: DiamondSolution, env: Any) -> tuple[TableReader, jax.Array]:
    return DiamondReader(env, solution.max_moves), jnp.asarray(solution.table)


@reader_of.register
def _(solution: DotsAndBoxesSolution, env: Any) -> tuple[TableReader, jax.Array]:
    return DotsAndBoxesReader(env), jnp.asarray(solution.table.reshape(dots_and_boxes.table_shape(env)))


@pytree
@dataclass(frozen=True)
class SolverAgent:
    """Plays perfectly: of several equal actions the first, or a random one."""

    on_device: ClassVar[bool] = True
    env: Env[Any] = field(metadata={"static": True})
    reader: TableReader = field(metadata={"static": True})
    text: str = field(metadata={"static": True})  # the agent's name, as in tables of results
    ties: Ties = field(metadata={"static": True})
    table: jax.Array

    def act(self, key: jax.Array, states: Any) -> jax.Array:
        logits = jnp.log(self._probabilities(inside(self.env, states)[1]))
        return (logits.argmax(-1) if self.ties == "first" else jax.random.categorical(key, logits)).astype(jnp.int32)

    def analyse(self, states: Any) -> Analysis:
        """Returns the probabilities that `act` plays with, and the values of perfect play."""
        boards = inside(self.env, states)[1]
        over = (boards.terminated | boards.truncated)[:, None]
        value = self.reader.values(self.table, boards)
        values = jnp.stack([value, -value], axis=-1)
        return Analysis(jnp.where(over, 0, self._probabilities(boards)), jnp.where(over, 0, values))

    def _probabilities(self, boards: Any) -> jax.Array:
        """Returns float32[B, num_actions], of the best actions."""
        actions, scores = self.reader.scores(self.table, boards)
        best = scores == scores.max(-1, keepdims=True)
        if self.ties == "first":
            best &= best.cumsum(-1) == 1
        rows = jnp.arange(len(actions))[:, None]
        played = jnp.zeros((len(actions), self.env.num_actions), jnp.bool_).at[rows, actions].max(best)
        return played / played.sum(-1, keepdims=True)

    def __str__(self) -> str:
        return self.text


def make(env: Env[Any], file: str, ties: Ties = "first") -> Agent:
    """Returns the agent `solver(FILE)`.

    Args:
      env: the game of the solution, or a `Wrapper` of it that keeps its rules.
      file: the file, which `python -m jaxgames.solvers GAME --output FILE` wrote.
      ties: of several equal actions, the "first" is played, or a "random" one.

    Raises ParameterError (a ValueError) for other `ties`, for a file that cannot be read, is not a solution or solves
    another game, and for a `Wrapper` that changes the rules.
    """
    check_keeps_rules(env)
    check_choice("ties", ties, get_args(Ties))
    game = game_of(env)
    with named_by_parameter(
        file, f'the file of a solution, which python -m jaxgames.solvers "{game}" --output {file} writes'
    ):
        solution = load(file, game)
    reader, table = reader_of(solution, game)
    return SolverAgent(
        env, reader, f"solver({written_file(file)}{'' if ties == 'first' else ', ties=random'})", ties, table
    )
