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
from types import TracebackType
from typing import Any, NotRequired, Self, TypedDict, cast

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._checks import shortened
from jaxgames._fields import Fields
from jaxgames._text_files import read_text
from jaxgames.arena.openings import Openings
from jaxgames.arena.playing import Recorded
from jaxgames.env import Env, State
from jaxgames.registry import make_named_in_file

STEPS_PER_PART = 64  # steps of a batch of games that are computed in one call
GAMES_PER_PART = 64


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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
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
    seats: list[list[int]] = np.asarray(agent_of_seat)[recorded.numbers].tolist()
    opened: Openings | None = None
    if openings is not None:
        opened = jax.tree.map(lambda leaf: np.asarray(leaf)[recorded.numbers], openings._replace(boards=None))
    actions = [_actions_of(recorded, opened, row) for row in range(len(recorded.numbers))]
    for begin in range(0, len(actions), GAMES_PER_PART):
        part = actions[begin : begin + GAMES_PER_PART]
        width = min(GAMES_PER_PART, len(actions))
        boards = None if opened is None or opened.starts is None else _filled(opened.starts, begin, width)
        starts, moves = _notation(env, part, boards, width)
        for place, (start, game_moves) in enumerate(zip(starts, moves, strict=True)):
            row = begin + place
            game = jax.tree.map(lambda leaf, row=row: leaf[row], recorded.games)
            yield {
                "env": str(env),
                "game": int(recorded.numbers[row]),
                "agents": [names[agent] for agent in seats[row]],
                "opening": None if opened is None else _opening_record(opened, row, start),
                "start": start,
                "end": env.to_string(game.boards),
                "actions": part[place],
                "moves": game_moves,
                "outcome": outcome_record(env, game.boards),
                "returns": game.returns.tolist(),
                "turns": game.turns.tolist(),
                "length": int(game.length),
            }


def _check_no_chance(env: Env[Any]) -> None:
    if env.needs_key:
        raise ValueError(f"{env.id} is a game of chance: its games cannot be recorded as actions")


def _actions_of(recorded: Recorded, opened: Openings | None, row: int) -> list[int]:
    """Returns the actions of one whole game, the opening included."""
    opening = [] if opened is None else opened.actions[row, : opened.plies[row]].tolist()
    return opening + recorded.actions[row, : recorded.games.length[row]].tolist()


def _filled(boards: State, begin: int, width: int) -> State:
    """Returns `width` boards from a place on; the last one again where there are fewer."""
    rows = np.arange(begin, begin + width).clip(max=len(boards.current_player) - 1)
    return jax.tree.map(lambda leaf: leaf[rows], boards)


def _notation(
    env: Env[Any], actions: Sequence[Sequence[int]], boards: State | None, width: int
) -> tuple[list[str], list[list[str | None]]]:
    """Returns the first position and the moves of some games; see `_positions`."""
    starts, moves = [""] * len(actions), [list[str | None]() for _ in actions]
    for place, step, state in _positions(env, actions, boards, width):
        if step == 0:
            starts[place] = env.to_string(state)
        if step < len(actions[place]):
            moves[place].append(_move(env, state, actions[place][step]))
    return starts, moves


def _move(env: Env[Any], state: State, action: int) -> str | None:
    """Returns the notation of an action, or None for an illegal one that names no move."""
    try:
        return env.action_to_string(state, action)
    except ValueError:
        return None


def _opening_record(opened: Openings, row: int, start: str) -> OpeningRecord:
    record: OpeningRecord = {"number": int(opened.number[row]), "plies": int(opened.plies[row])}
    return record if opened.starts is None else {**record, "position": start}


def outcome_record(env: Env[Any], state: State) -> OutcomeRecord:
    """Returns how a game ended by the rules, on the host."""
    outcome = env.outcome(state)
    return {"kind": outcome.kind, "winners": [*outcome.winners], "reason": outcome.reason}


# -- positions -----------------------------------------------------------------------------------------------------


def _positions(
    env: Env[Any], actions: Sequence[Sequence[int]], boards: State | None, width: int
) -> Iterator[tuple[int, int, State]]:
    """Yields the place of a game, a number of steps, and the state after this number of its steps, on the host.

    A game with n actions has n + 1 states. The states of one game come in order.

    Args:
      actions: of some games, at most `width`.
      boards: the first positions, leaves with a leading axis of `width`; None: the start of the game.
      width: games of one compiled call; all calls with the same width share a program.
    """
    lengths = [len(of_game) for of_game in actions]
    num_parts = max(lengths) // STEPS_PER_PART + 1  # at least one column more than actions, for the last state
    padded = np.zeros((num_parts * STEPS_PER_PART, width), np.int32)  # after its last action, a game is over
    for place, of_game in enumerate(actions):
        padded[: len(of_game), place] = of_game
    boards = _start(env, width) if boards is None else boards
    for part in range(num_parts):
        first = part * STEPS_PER_PART
        boards, before = _replayed(env, boards, padded[first : first + STEPS_PER_PART])
        leaves, structure = jax.tree.flatten(jax.device_get(before))
        for place, length in enumerate(lengths):
            for step in range(first, min(length + 1, first + STEPS_PER_PART)):
                yield place, step, structure.unflatten([leaf[step - first, place] for leaf in leaves])


@functools.partial(jax.jit, static_argnames=("env", "width"))
def _start(env: Env[Any], width: int) -> State:
    """Returns boards at the start, leaves with a leading axis of `width`."""
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (width, *leaf.shape)), env.init())


@functools.partial(jax.jit, static_argnames="env")
def _replayed(env: Env[Any], boards: State, actions: jax.Array) -> tuple[State, State]:
    """Returns the boards after `actions` (int32[steps, games]), and those before each, leaves [steps, games, ...]."""
    return jax.lax.scan(lambda boards, action: (jax.vmap(env.step)(boards, action), boards), boards, actions)


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
    boards = None
    if opening is not None and "position" in opening:
        boards = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], env.from_string(opening["position"]))
    states = [state for _, _, state in _positions(env, [record["actions"]], boards, width=1)]
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
