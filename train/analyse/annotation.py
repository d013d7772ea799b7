"""Recorded games, and their annotation turn by turn: by alpha-beta in checkers, by an agent, and by a database.

    (game,) = read_games(Path("game.pdn"))                                  # or a .jsonl file of train.match
    database = Database.of(positions.load("pairs.npz"))
    turns = annotate(game, agent=agents.make("runs/first", game.env), database=database)

A row is a ply, which is one action. A turn has all plies until another seat is to move, such as all jumps of a capture.
Alpha-beta values a board in men, for seat 0. The value after a turn is the value of the move that was played, in the
same search. A turn loses the value of the best move minus the value of its own move, for the mover.
"""

import dataclasses
import functools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxgames import Env, arena, make
from jaxgames._batches import in_chunks
from jaxgames.agents import Agent, analyse_in_chunks
from jaxgames.games.checkers import Checkers, pdn
from jaxgames.games.checkers.search import make_player
from jaxgames.registry import make_named_in_file
from jaxgames.solvers.alphabeta import MoveValues
from train.data.game_collections import states_before
from train.data.positions import Positions, keys

PDN, RECORDS = ".pdn", ".jsonl"
DECIDED = 10.0  # men; a win that the search has seen to its end counts as this, and no other value is larger
CHUNK = 64  # boards that an agent analyses at once


# -- recorded games ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RecordedGame:
    """A game of P plies and T turns, on the host."""

    env: Env[Any]
    states: Any  # the env's State with a leading axis [P], before each ply
    actions: np.ndarray  # int32[P]
    first_plies: np.ndarray  # int32[T], the ply with which every turn begins
    moves: tuple[str, ...]  # the texts of the turns
    title: str  # the event and the players, as far as they are known
    result: str  # of PDN, such as "1-0"; of a record the outcome, such as "won by seat 0: checkmate"
    number: int = 1  # in its file

    def seat_name(self, seat: int) -> str:
        """Returns the name of a seat, in checkers its colour."""
        return pdn.COLOURS[seat] if isinstance(self.env, Checkers) else f"seat {seat}"

    def state(self, ply: int) -> Any:
        """Returns the board before a ply."""
        return jax.tree.map(lambda leaf: leaf[ply], self.states)

    def plies_of(self, turn: int) -> range:
        """Returns the plies of a turn."""
        ends = np.append(self.first_plies[1:], len(self.actions))
        return range(int(self.first_plies[turn]), int(ends[turn]))


def read_games(path: Path, env: Env[Any] | None = None) -> list[RecordedGame | pdn.BrokenGame]:
    """Returns the games of a file, those that cannot be read included.

    Args:
      path: a .pdn file with games of checkers, or a .jsonl file of `jaxgames.arena.GameFile`.
      env: the game. None: checkers, or the game of the first record.
    """
    games: list[RecordedGame | pdn.BrokenGame] = []
    if path.suffix.lower() == RECORDS:
        for number, record in enumerate(arena.read_games(path), 1):
            env = make_named_in_file(record["env"]) if env is None else env
            has_actions = bool(_legal_actions(record))
            broken = pdn.BrokenGame(number, "the game has no legal action")
            games.append(of_record(record, number, env) if has_actions else broken)
        return games
    if path.suffix.lower() != PDN:
        raise ValueError(f"{path} is not a .pdn or .jsonl file: expected games of checkers, or of train.match")
    env = make("checkers") if env is None else env
    if not isinstance(env, Checkers):
        raise ValueError(f"{path} has games of checkers, not of {env}")
    for number, game in enumerate(pdn.read(pdn.decode(path.read_bytes())), 1):
        games.append(game if isinstance(game, pdn.BrokenGame) else _of_pdn(env, game, number))
    return games


def _of_pdn(env: Checkers, game: pdn.PdnGame, number: int) -> RecordedGame:
    states = states_before(env, [game])
    first = _first_plies(states.current_player)
    assert len(first) == len(game.moves), "a move of PDN is a turn"
    players = " - ".join(filter(None, (game.headers.get(colour, "") for colour in pdn.COLOURS)))
    title = ", ".join(filter(None, (game.headers.get("Event", ""), players))) or f"game {number}"
    actions = np.asarray(game.actions, np.int32)
    return RecordedGame(env, states, actions, first, game.moves, title, game.result, number)


def of_record(game: arena.GameRecord, number: int = 1, env: Env[Any] | None = None) -> RecordedGame:
    """Returns the game of a record, without an illegal action at its end.

    Args:
      number: of the game in its file.
      env: the game; None: as the record names it.
    """
    env = make_named_in_file(game["env"]) if env is None else env
    if str(env) != game["env"]:
        raise ValueError(f"game {number} is of {game['env']}, not of {env}")
    actions = _legal_actions(game)
    if not actions:
        raise ValueError(f"game {number} has no legal action")
    boards = arena.replay(game, env)
    states = jax.tree.map(lambda *leaves: np.stack(leaves), *boards[: len(actions)])
    texts = [str(move) for move in game["moves"][: len(actions)]]
    first = _first_plies(states.current_player)
    moves = tuple(" ".join(texts[begin:end]) for begin, end in zip(first, [*first[1:], len(texts)], strict=True))
    title, result = " - ".join(game["agents"]), str(env.outcome(boards[-1]))
    return RecordedGame(env, states, np.asarray(actions, np.int32), first, moves, title, result, number)


def _legal_actions(game: arena.GameRecord) -> list[int]:
    """Returns the actions of a record; an illegal one ends the game."""
    return game["actions"][: len(game["actions"]) - (game["outcome"]["kind"] == "forfeit")]


def _first_plies(movers: Any) -> np.ndarray:
    """Returns int32[T], the plies at which another seat is to move than before, and ply 0."""
    return np.flatnonzero(np.diff(movers, prepend=-1)).astype(np.int32)


# -- turns -------------------------------------------------------------------------------------------------------------


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
