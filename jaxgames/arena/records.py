"""Games as lines of JSON, and lines of JSON as games.

    with arena.GameFile("games.jsonl") as file:
        recorder = file.recorder(env, names, agent_of_seat)
        games = arena.play(env, agents, agent_of_seat, key, on_recorded=recorder)

    for game in arena.read_games("games.jsonl"):
        states = arena.replay(game)
        jaxgames.render.animate(jaxgames.make(game["env"]), states).save(f"game{game['game']}.svg")

A line is one `GameRecord`. It holds everything that is needed to play the game again by the rules. Games of chance
cannot be written, because their actions alone do not determine them. A game that `jaxgames.play` saves is such a line
with further fields.
"""

import functools
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NotRequired, Self, TypedDict, cast

import jax
import numpy as np

from jaxgames._checks import ParameterError, shortened
from jaxgames._fields import Fields
from jaxgames._text_files import read_text
from jaxgames.arena.openings import Openings
from jaxgames.arena.playing import Recorded
from jaxgames.env import Env, State
from jaxgames.host_agent import board_of
from jaxgames.registry import make_named_in_file

STEPS_PER_PART = 64  # steps of a game that are computed in one call


class OpeningRecord(TypedDict):
    """The opening of a game."""

    number: int  # its place in the list of openings
    plies: int  # its plies, the first actions of the game
    position: NotRequired[str]  # from which the game begins, if that is not the start of the game


class OutcomeRecord(TypedDict):
    """The fields of `jaxgames.Outcome`."""

    kind: str
    winners: list[int]
    reason: str


class GameRecord(TypedDict):
    """One game, as a line of JSON holds it. Lists of seats begin with seat 0."""

    env: str  # as `jaxgames.make` takes it
    game: int  # its number in the file, or among the games that were played together
    agents: list[str]  # the agent on every seat
    opening: OpeningRecord | None
    start: str  # the first position, before the opening
    end: str  # the last position
    actions: list[int]  # of the whole game, the opening included
    moves: list[str | None]  # the same in the notation of the game; None for an illegal action that names no move
    outcome: OutcomeRecord
    returns: list[float]  # the sum of every seat's rewards after the opening
    turns: list[int]  # of every seat after the opening
    length: int  # steps after the opening


# -- writing -------------------------------------------------------------------------------------------------------


class GameFile:
    """A file of games, one line per game; see `GameRecord`.

    A line is written as a whole. So a program that is interrupted leaves whole lines.
    """

    def __init__(self, path: str | Path) -> None:
        """Creates the file and its folders, or replaces a file of that name. Raises OSError if that fails."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        self.num_written = 0  # lines
        self._file = path.open("wb", buffering=0)  # unbuffered: every write is one call of the operating system

    def recorder(
        self,
        env: Env[Any],
        names: Sequence[str],
        agent_of_seat: jax.Array,
        openings: Openings | None = None,
        *,
        on_written: Callable[[int], object] | None = None,
    ) -> Callable[[Recorded], None]:
        """Returns the `on_recorded` of one call of `arena.play`, which appends its games to the file.

        The number of a game counts the games that were in the file before. The arguments are those of `game_records`;
        `on_written` is called with 1 after every line, such as `update` of a tqdm bar.
        """
        _check_no_chance(env)
        before = self.num_written

        def write(recorded: Recorded) -> None:
            for record in game_records(env, recorded, names, agent_of_seat, openings):
                record["game"] += before
                self._file.write(json.dumps(record).encode() + b"\n")
                self.num_written += 1
                if on_written is not None:
                    on_written(1)

        return write

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()


def game_records(
    env: Env[Any],
    recorded: Recorded,
    names: Sequence[str],
    agent_of_seat: jax.Array,
    openings: Openings | None = None,
) -> Iterator[GameRecord]:
    """Yields the records of games.

    Args:
      recorded: games that `arena.play` passed to `on_recorded`.
      names: the names of the agents, in the order that `agent_of_seat` counts them.
      agent_of_seat: int32[games, num_players], as `arena.play` took it.
      openings: one for every game, as `arena.play` took them.
    """
    _check_no_chance(env)
    seats: list[list[int]] = np.asarray(agent_of_seat).tolist()
    numbers: list[int] = recorded.numbers.tolist()
    openings = jax.tree.map(np.asarray, openings)
    for row, number in enumerate(numbers):
        game = board_of(recorded.games, row)
        actions: list[int] = recorded.actions[row, : game.length].tolist()
        start, opening = None, None
        if openings is not None:
            opened = board_of(openings, number)
            start, opening = opened.starts, OpeningRecord(number=int(opened.number), plies=int(opened.plies))
            actions = opened.actions[: opened.plies].tolist() + actions
            if start is not None:
                opening["position"] = env.to_string(start)
        states = _states(env, start, actions)
        yield {
            "env": str(env),
            "game": number,
            "agents": [names[agent] for agent in seats[number]],
            "opening": opening,
            "start": env.to_string(states[0]),
            "end": env.to_string(game.boards),
            "actions": actions,
            "moves": [_move(env, state, action) for state, action in zip(states[:-1], actions, strict=True)],
            "outcome": outcome_record(env, game.boards),
            "returns": game.returns.tolist(),
            "turns": game.turns.tolist(),
            "length": int(game.length),
        }


def _check_no_chance(env: Env[Any]) -> None:
    if env.needs_key:
        raise ParameterError(f"{env.id} is a game of chance: its games cannot be recorded as actions")


def _move(env: Env[Any], state: State, action: int) -> str | None:
    """Returns the notation of an action, or None for an illegal one that names no move."""
    try:
        return env.action_to_string(state, action)
    except ValueError:
        return None


def outcome_record(env: Env[Any], state: State) -> OutcomeRecord:
    """Returns how a game ended by the rules, on the host."""
    outcome = env.outcome(state)
    return {"kind": outcome.kind, "winners": [*outcome.winners], "reason": outcome.reason}


def _states(env: Env[Any], start: State | None, actions: Sequence[int]) -> list[Any]:
    """Returns the states before and after the actions of a game, one more than actions, on the host.

    A game has its actions in parts of one length, so all games share one program.
    """
    padded = np.zeros((len(actions) // STEPS_PER_PART + 1) * STEPS_PER_PART, np.int32)
    padded[: len(actions)] = actions
    board, states = _start(env) if start is None else start, list[Any]()
    for part in padded.reshape(-1, STEPS_PER_PART):
        board, before = _replayed(env, board, part)
        leaves, structure = jax.tree.flatten(jax.device_get(before))
        states += [structure.unflatten([leaf[step] for leaf in leaves]) for step in range(STEPS_PER_PART)]
    return states[: len(actions) + 1]


@functools.partial(jax.jit, static_argnames="env")
def _start(env: Env[Any]) -> State:
    return env.init()


@functools.partial(jax.jit, static_argnames="env")
def _replayed(env: Env[Any], board: State, actions: jax.Array) -> tuple[State, State]:
    """Returns the board after `actions` (int32[steps]), and those before each, leaves [steps, ...]."""
    return jax.lax.scan(lambda board, action: (env.step(board, action), board), board, actions)


# -- reading -------------------------------------------------------------------------------------------------------


def read_games(path: str | Path) -> Iterator[GameRecord]:
    """Yields the games of a file, in its order. Empty lines are skipped.

    Raises ValueError, with the path and the number of the line, for another line that is not a whole record.
    """
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            yield checked(line, f"{path}, line {number}")


def replay(game: GameRecord | str, env: Env[Any] | None = None) -> list[Any]:
    """Returns the states of a game from the start to the end, on the host, as `jaxgames.render.animate` takes them.

    The actions of the record are played by the rules. Raises ValueError for a record that does not lead to its own
    start, end, outcome or returns.

    Args:
      game: a record, or a line of a file.
      env: the game; made from the text in the record if None. A game that `jaxgames.make` does not know needs it. So
        does a game whose module has not been imported: records import none.
    """
    record = checked(game, "the record")
    env = make_named_in_file(record["env"]) if env is None else env
    _check_no_chance(env)
    opening = record["opening"]
    start = env.from_string(opening["position"]) if opening is not None and "position" in opening else None
    states = _states(env, start, record["actions"])
    check_fits(env, record, states)
    return states


def check_fits(env: Env[Any], record: GameRecord, states: Sequence[Any]) -> None:
    """Raises ValueError unless start, end, outcome and returns of a record are those of the states of its actions."""
    opening = record["opening"]
    returns = returns_of(env, states[1 + (opening["plies"] if opening else 0) :])
    found = {
        "start": env.to_string(states[0]),
        "end": env.to_string(states[-1]),
        "outcome": outcome_record(env, states[-1]),
        "returns": returns.round(3).tolist(),
    }
    for name, value in found.items():
        written = record[name]
        if name == "returns":
            fits = len(written) == len(returns) and np.allclose(written, returns, atol=1e-3)
        else:
            fits = written == value
        if not fits:
            raise ValueError(
                f"the actions do not fit the record on {env}: {name} is {shortened(written)}, found {value!r}"
            )


def returns_of(env: Env[Any], states: Sequence[Any]) -> np.ndarray:
    """Returns float64[num_players], the sum of the rewards of the steps that led to the states."""
    return np.array([state.rewards for state in states], np.float64).reshape(-1, env.num_players).sum(0)


def checked(content: str | GameRecord, place: str) -> GameRecord:
    """Returns the record of a line. Raises ValueError, with the place, if a field is missing or of another type."""
    fields = Fields(content, place)
    if missing := [name for name in GameRecord.__annotations__ if name not in fields.content]:
        raise ValueError(f"{place} is not the record of a game: it has no {', '.join(missing)}")
    fields.text("env")
    fields.texts("agents")
    fields.integers("actions")
    fields.numbers("returns")
    if fields.content["opening"] is not None:
        opening = Fields(fields.content["opening"], f"'opening' of {place}")
        opening.integer("plies")
        opening.text_or_none("position")
    return cast(GameRecord, fields.content)
