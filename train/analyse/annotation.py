"""The annotation of a recorded game, turn by turn: by alpha-beta in checkers, by an agent, and by a database.

    database = Database.of(positions.load("pairs.npz"))
    turns = annotate(game, agent=agents.make("runs/first", game.env), database=database)

Alpha-beta values a board in men, for seat 0. The value after a turn is the value of the move that was played, in the
same search. A turn loses the value of the best move minus the value of its own move, for the mover.
"""

import dataclasses
import functools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from jaxgames import Env
from jaxgames._batches import in_chunks
from jaxgames.agents import Agent, analyse_in_chunks
from jaxgames.games.checkers import Checkers
from jaxgames.games.checkers.search import make_player
from jaxgames.solvers.alphabeta import MoveValues
from train.analyse.recorded_game import RecordedGame
from train.data.positions import Positions, keys

DECIDED = 10.0  # men; a win that the search has seen to its end counts as this, and no other value is larger
CHUNK = 64  # boards that an agent analyses at once


@dataclass(frozen=True)
class Turn:
    """One turn and everything that is known of it; None where nothing tells it. Values are for seat 0."""

    number: int  # in the game, from 1
    ply: int  # the first one of the turn, from 0
    seat: int  # that moved
    move: str
    before: float | None = None  # men, with the best move
    after: float | None = None  # men, with the move that was played
    lost: float | None = None  # men, by the mover
    best: str | None = None  # the first action of the best move; the one that was played, if none is better
    blunder: bool = False  # whether more was lost than the threshold
    pieces: int | None = None  # on the board before the turn, in checkers
    probability: float | None = None  # with which the agent plays all plies of the turn
    rank: int | None = None  # of the turn's first action among the legal ones, from 1; equal ones share the first rank
    legal: int | None = None  # the number of legal actions at the first ply
    favourite: str | None = None  # the first action that the agent would most probably play
    agent_value: float | None = None  # return of seat 0 that the agent expects before the turn
    played: int | None = None  # how often the database has the turn's actions: the smallest number of its plies


@dataclass(frozen=True)
class Database:
    """How often a file of positions has each action on each board, which is its `train.data.positions.keys`."""

    env: Env[Any]
    moves: Counter[tuple[int, int]]  # by key and action

    @classmethod
    def of(cls, positions: Positions) -> "Database":
        return cls(positions.env, Counter(_moves(positions)))


def _moves(positions: Positions) -> list[tuple[int, int]]:
    return [*zip(keys(positions).tolist(), positions.action.tolist(), strict=True)]


def annotate(
    game: RecordedGame,
    depth: int | None = 8,
    blunder: float = 0.5,
    agent: Agent | None = None,
    database: Database | None = None,
    on_valued: Callable[[int], object] = lambda _: None,
) -> list[Turn]:
    """Returns the turns of a game.

    Args:
      depth: of alpha-beta, in turns; None for no alpha-beta. Only for checkers.
      blunder: men; a turn that loses more is a blunder.
      agent: an agent of this game with a method `analyse`; None for none.
      database: of positions of this game; None for none.
      on_valued: is called with 1 for every turn that alpha-beta values.

    Raises ValueError for an agent without probabilities, or a database of another game.
    """
    turns = [
        Turn(number + 1, int(ply), int(game.states.current_player[ply]), move)
        for number, (ply, move) in enumerate(zip(game.first_plies, game.moves, strict=True))
    ]
    if depth is not None:
        for index, turn in enumerate(turns):
            turns[index] = _valued(game, turn, depth, blunder)
            on_valued(1)
    if agent is not None:
        turns = _with_opinion(game, turns, agent)
    if database is not None:
        turns = _with_database(game, turns, database)
    return turns


def first_unknown(turns: Sequence[Turn]) -> Turn | None:
    """Returns the first turn that is not in the database; None if all are."""
    return next((turn for turn in turns if not turn.played), None)


def summary(turns: Sequence[Turn], seat: int) -> dict[str, Any]:
    """Returns the numbers of a seat: its turns, what it lost, and the agent's opinion of its moves.

    `lost` is the mean of men per turn. `probability` is the geometric mean, exp of the mean of log p; it is 0 if the
    agent never plays a move. `top_1` and `top_3` are the shares of the moves that are among the agent's favourites.
    """
    own = [turn for turn in turns if turn.seat == seat]
    numbers: dict[str, Any] = {"seat": seat, "turns": len(own)}
    if lost := [turn.lost for turn in own if turn.lost is not None]:
        numbers |= {"lost": float(np.mean(lost)), "blunders": [turn.number for turn in own if turn.blunder]}
    if ranks := [turn.rank for turn in own if turn.rank is not None]:
        numbers |= {"top_1": float(np.mean(np.equal(ranks, 1))), "top_3": float(np.mean(np.less_equal(ranks, 3)))}
        with np.errstate(divide="ignore"):
            logs = np.log([turn.probability for turn in own if turn.probability is not None])
        numbers["probability"] = float(np.exp(logs.mean()))
    return numbers


# -- alpha-beta ----------------------------------------------------------------------------------------------------

player_of = functools.lru_cache(maxsize=8)(make_player)  # by env and depth


def move_values(env: Checkers, state: Any, depth: int) -> MoveValues:
    """Returns the values of a live board and of each of its legal actions for the mover, in men."""
    return player_of(env, depth).move_values(state)


def _valued(game: RecordedGame, turn: Turn, depth: int, blunder: float) -> Turn:
    """Returns a turn with the values of alpha-beta. The last jump of a capture is valued on its own board."""
    assert isinstance(game.env, Checkers)
    plies = game.plies_of(turn.number - 1)
    first_action, last_action = (int(game.actions[ply]) for ply in (plies[0], plies[-1]))
    first = move_values(game.env, game.state(plies[0]), depth)
    last = first if len(plies) == 1 else move_values(game.env, game.state(plies[-1]), depth)
    played = _limited(last.values[last.actions.index(last_action)])
    value = max(_limited(first.value), played)  # searches of two boards can differ
    own = first.values[first.actions.index(first_action)]
    best = first_action if own == first.value else first.actions[first.values.index(first.value)]
    sign = 1 if turn.seat == 0 else -1
    return dataclasses.replace(
        turn,
        before=sign * value + 0.0,  # no negative zero
        after=sign * played + 0.0,
        lost=value - played,
        best=game.env.action_to_string(game.state(plies[0]), best),
        blunder=value - played > blunder,
        pieces=sum(int(word[plies[0]]).bit_count() for word in (game.states.own, game.states.opponents)),
    )


def _limited(value: float) -> float:
    return float(np.clip(value, -DECIDED, DECIDED))


# -- an agent ------------------------------------------------------------------------------------------------------


def _with_opinion(game: RecordedGame, turns: Sequence[Turn], agent: Agent) -> list[Turn]:
    """Returns the turns with the probabilities and values of an agent."""
    probabilities, values = analyse_in_chunks(agent, game.states, CHUNK)
    values = None if values is None or np.isnan(values).any() else values
    masks = in_chunks(jax.jit(jax.vmap(game.env.legal_action_mask)), game.states, CHUNK)
    annotated: list[Turn] = []
    for turn in turns:
        plies = np.array(game.plies_of(turn.number - 1))
        of_actions, legal = probabilities[turn.ply], masks[turn.ply]
        favourite = int(np.where(legal, of_actions, -1).argmax())
        annotated.append(
            dataclasses.replace(
                turn,
                probability=float(probabilities[plies, game.actions[plies]].prod()),
                rank=1 + int((of_actions[legal] > of_actions[game.actions[turn.ply]]).sum()),
                legal=int(legal.sum()),
                favourite=game.env.action_to_string(game.state(turn.ply), favourite),
                agent_value=None if values is None else float(values[turn.ply, 0]),
            )
        )
    return annotated


# -- a database ----------------------------------------------------------------------------------------------------


def _with_database(game: RecordedGame, turns: Sequence[Turn], database: Database) -> list[Turn]:
    """Returns the turns with the number of times that the database has them."""
    if database.env != game.env:
        raise ValueError(f"the database has positions of {database.env}, not of {game.env}")
    played = [database.moves[move] for move in _moves(Positions(game.env, game.states, game.actions))]
    return [
        dataclasses.replace(turn, played=min(played[ply] for ply in game.plies_of(turn.number - 1))) for turn in turns
    ]
