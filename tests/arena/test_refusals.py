"""Wrong arguments of the arena: the error names the argument, the value, and what is allowed."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import arena
from tests.arena.test_playing import KEY, ONE, RANDOM, STICKS
from tests.helpers.positions import stacked
from tests.helpers.scripted_agents import HostAgent, TakerOnHost
from tests.helpers.sticks import Sticks

HOST = TakerOnHost(1)
BOXES, CHECKERS = jaxgames.make("dots_and_boxes", rows=1, cols=2), jaxgames.make("checkers")
WINS: Any = [[0, 1], [2, 0]]


class Dice(Sticks):
    """A game of chance."""

    needs_key: ClassVar[bool] = True


def elo(wins: Any, draws: Any = None, **options: Any) -> Callable[[], Any]:
    return lambda: arena.elo(wins, draws, **options)


def play(*agents: Any, seats: Any = ((0, 1, 1),), **options: Any) -> Callable[[], Any]:
    return lambda: arena.play(STICKS, agents, jnp.array(seats), KEY, **options)


def moves(env: Any, *lines: str) -> Callable[[], Any]:
    return lambda: arena.openings_of_moves(env, lines)


def openings() -> arena.Openings:
    return arena.random_openings(STICKS, KEY, 3, 2)


@cache
def record() -> Any:
    """The record of a game in which every seat takes one stick."""
    seats = jnp.zeros((1, 3), jnp.int32)
    found: list[Any] = []

    def keep(part: arena.Recorded) -> None:
        found.extend(arena.game_records(STICKS, part, ["one"], seats))

    arena.play(STICKS, (ONE,), seats, KEY, on_recorded=keep)
    return found[0]


def replay(**changes: Any) -> Callable[[], Any]:
    return lambda: arena.replay(json.dumps({**record(), **changes}), STICKS)


def traced(games: Any) -> Any:
    return arena.advance(STICKS, (RANDOM, HOST), jnp.array([[0, 1, 0]]), games, KEY)


REFUSALS: list[tuple[Callable[[], Any], tuple[str, ...]]] = [
    # ratings
    (elo([[0]]), ("wins", "[agents, agents]", "[1, 1]")),
    (elo(WINS, [[0]]), ("draws", "[2, 2]", "[1, 1]")),
    (elo([[0, -1], [2, 0]]), ("wins", "counts")),
    (elo([[0, np.nan], [2, 0]]), ("wins", "counts")),
    (elo([[1, 1], [2, 0]]), ("0 on the diagonal",)),
    (elo(WINS, WINS), ("draws[i, j]", "draws[j, i]")),
    (elo(WINS, anchor=2), ("anchor", "0 to 1", "not 2")),
    (elo(np.zeros((2, 2)), anchor=1), ("agent 1", "agents 0")),
    (lambda: arena.elo_interval(WINS, num_resamples=99), ("num_resamples", "100", "99")),
    (lambda: arena.wilson(3, 2), ("successes", "0 to", "2", "not 3")),
    (lambda: arena.wilson(-1, 2), ("successes", "not -1")),
    # seats
    (lambda: arena.one_seat(KEY, 50, 3, 3), ("seat", "0 to 2", "not 3")),
    (lambda: arena.seating((2, 0), "fixed", 2), ("seat", "2 0")),
    (lambda: arena.seating((), "fixed", 2), ("seat", "none")),
    (lambda: arena.seating((1, 1), "shuffled", 2), ("how", "'drawn'", "'shuffled'")),  # pyright: ignore[reportArgumentType]  # on purpose
    (lambda: arena.seating((1, 1), "drawn", 2), ("key",)),
    # games
    (play(RANDOM, RANDOM, seats=[[0, 0, 2]]), ("2 agents", "0 to 2")),
    (play(RANDOM, RANDOM, seats=[[0, 1]]), ("[games, 3]", "[1, 2]")),
    (play(RANDOM, RANDOM, openings=openings()), ("1", "not 3", "for_games(1)")),
    *(
        (play(HostAgent(lambda key, states, answer=answer: answer), RANDOM), ("HostAgent.act", "int32[1]"))
        for answer in (0, np.zeros(2, np.int32), np.zeros(1, np.float32))
    ),
    *(
        (call, ("TakerOnHost(sticks=1)", "jaxgames.arena.play"))
        for call in (
            lambda: arena.evaluate(STICKS, RANDOM, HOST, KEY, 1),
            lambda: arena.advance_until_over(STICKS, (HOST,), jnp.zeros((1, 3)), arena.start(STICKS, KEY, 1), KEY),
            lambda: arena.record(STICKS, (HOST,), jnp.zeros((1, 3)), arena.start(STICKS, KEY, 1), KEY, 1),
            lambda: jax.eval_shape(traced, arena.start(STICKS, KEY, 1)),
        )
    ),
    # openings
    (lambda: arena.random_openings(STICKS, KEY, 0, 2), ("num_openings", "1", "not 0")),
    (lambda: arena.random_openings(STICKS, KEY, 1, 10_001), ("plies", "10000", "not 10001")),
    (lambda: openings().for_games(2, games_each=0), ("games_each", "1", "not 0")),
    (lambda: openings().drawn(KEY, 0), ("num_openings", "1")),
    (moves(CHECKERS, "9-13", "9-13 9-14"), ("opening 2", "'9-13 9-14'", "9-14")),
    (moves(CHECKERS, "9-13 22-18 hello"), ("opening 1", "hello", "'11-15'")),
    (moves(CHECKERS, "12-16 22-17 11-15 24-19 15x24 28x19"), ("middle of a turn",)),
    (moves(CHECKERS), ("at least one",)),
    (moves(BOXES, "h(0,0) h(0,1) h(1,0) h(1,1) v(0,0) v(0,1) v(0,2)"), ("ends the game",)),
    (lambda: arena.openings_of_boards(stacked([BOXES.from_string("1111111 01 0")])), ("opening 1", "over")),
    # records
    (replay(actions=[0] * 6), ("sticks", "'0 1'", "'1 0'")),
    (replay(start="6 0"), ("start", "'6 0'", "'7 0'")),
    (replay(outcome={"kind": "draw", "winners": [], "reason": ""}), ("outcome", "'draw'", "'win'")),
    (replay(returns=[1, 2, 3]), ("returns", "[1, 2, 3]", "[2")),
    (replay(returns=[1, "2", 3]), ("'returns'", "numbers")),
    (replay(actions="1 1 1"), ("'actions'", "integers")),
    (replay(actions=[1, 1.5]), ("'actions'", "integers")),
    (replay(opening=3), ("'opening'", "object")),
    (replay(opening={"plies": "1"}), ("'plies'", "'opening'", "integer")),
    (lambda: arena.replay(record()), ("'sticks'",)),  # a game that is not registered
    (lambda: arena.replay(json.dumps({"env": "sticks"})), ("actions", "moves")),
    (lambda: arena.replay("[1, 2]"), ("JSON object",)),
    (lambda: arena.replay(record(), Dice()), ("sticks", "chance")),
]


@pytest.mark.parametrize(("call", "needles"), REFUSALS)
def test_wrong_argument_is_refused(call: Callable[[], Any], needles: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        call()
    assert all(needle in str(caught.value) for needle in needles), caught.value


def test_files_are_refused_by_the_number_of_the_line(tmp_path: Path) -> None:
    games, lines = tmp_path / "a.jsonl", tmp_path / "openings.txt"
    games.write_text(json.dumps(record()) + "\n" + json.dumps(record())[:-20])
    found = arena.read_games(games)
    assert next(found) == record()
    with pytest.raises(ValueError, match=r"a\.jsonl, line 2 .*JSON object"):
        next(found)
    lines.write_text("# two openings\n9-13 22-18\n\n9-13 9-14\n")
    with pytest.raises(ValueError, match=r"openings\.txt: line 4, '9-13 9-14'"):
        arena.load_openings(CHECKERS, str(lines))
    lines.write_bytes(bytes(range(256)))
    with pytest.raises(ValueError, match=r"openings\.txt is not a text"):
        arena.load_openings(CHECKERS, str(lines))
    with pytest.raises(FileNotFoundError, match=r"ballots is not a file of openings: expected one$"):
        arena.load_openings(BOXES, "ballots")
    with pytest.raises(FileNotFoundError, match="checkers, ballots"):
        arena.load_openings(CHECKERS, str(tmp_path / "missing.txt"))
