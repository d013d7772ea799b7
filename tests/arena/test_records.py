"""Openings and records of games: all agents get the same openings, and what is written leads to the same end."""

import dataclasses
import json
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import arena
from jaxgames.arena import records
from tests.arena.test_playing import KEY, ONE, RANDOM, STICKS, Constant
from tests.helpers.commands import NAME, saved_by_editors
from tests.helpers.positions import board, compiled, stacked, start
from tests.helpers.scripted_agents import HostAgent

BOXES = jaxgames.make("dots_and_boxes", rows=1, cols=2)  # seven edges, two boxes
CHECKERS = jaxgames.make("checkers")
LINES = ["9-13 22-18 6-9", "10-14 22-17", "9-14 23-18 14x23"]


def texts(env: Any, openings: arena.Openings) -> list[str]:
    boards = jax.device_get(openings.boards)
    return [env.to_string(board(boards, i)) for i in range(len(openings.number))]


# -- random openings -------------------------------------------------------------------------------------------------


@cache
def of_sticks() -> Any:
    return jax.device_get(arena.random_openings(STICKS, KEY, 12, 10))  # random games have from 3 to 7 plies


@pytest.mark.parametrize("env", [STICKS, BOXES], ids=str)
def test_opening_is_a_game_of_legal_actions_that_is_live_at_the_beginning_of_a_turn(env: Any) -> None:
    openings = of_sticks() if env is STICKS else jax.device_get(arena.random_openings(env, KEY, 12, 5))
    for i in range(12):
        kept, states = int(openings.plies[i]), [start(env)]
        for action in openings.actions[i, :kept].tolist():
            assert compiled(env).mask(states[-1])[action]
            states.append(compiled(env).step(states[-1], action))
        assert env.to_string(board(openings.boards, i)) == env.to_string(states[-1])
        assert env.outcome(states[-1]).kind == "live"
        assert kept == 0 or states[-2].current_player != states[-1].current_player
        assert (openings.actions[i, kept:] == -1).all()
        if env is STICKS:  # every game ends within ten plies: the ply that was cut took all that were left
            assert 1 <= openings.boards.left[i] <= 3
    assert len(set(openings.plies.tolist())) > 1  # some were cut


def test_longer_list_begins_with_the_shorter_one() -> None:
    few = arena.random_openings(STICKS, KEY, 3, 10)
    for short, long in zip(jax.tree.leaves(few), jax.tree.leaves(of_sticks()), strict=True):
        np.testing.assert_array_equal(short, long[:3])


def test_each_opening_is_played_by_games_in_a_row() -> None:
    openings = arena.random_openings(STICKS, KEY, 3, 10)
    spread = openings.for_games(8, games_each=2)
    assert spread.number.tolist() == [0, 0, 1, 1, 2, 2, 0, 0]
    assert spread.plies.tolist() == [int(openings.plies[i]) for i in (0, 0, 1, 1, 2, 2, 0, 0)]
    assert openings.for_games(4).number.tolist() == [0, 1, 2, 0]


# -- lists of openings -----------------------------------------------------------------------------------------------


def test_opening_is_the_board_after_its_moves() -> None:
    openings = arena.openings_of_moves(CHECKERS, LINES)
    assert texts(CHECKERS, openings) == [
        "W:W18,21,23,24,25,26,27,28,29,30,31,32:B1,2,3,4,5,7,8,9,10,11,12,13",
        "B:W17,21,23,24,25,26,27,28,29,30,31,32:B1,2,3,4,5,6,7,8,9,11,12,14",
        "W:W21,22,24,25,26,27,28,29,30,31,32:B1,2,3,4,5,6,7,8,10,11,12,23",
    ]
    np.testing.assert_array_equal(openings.plies, [3, 2, 3])
    np.testing.assert_array_equal(openings.actions[:, 2] == -1, [False, True, False])
    np.testing.assert_array_equal(openings.boards.rewards, np.zeros((3, 2)))


def test_drawn_openings_occur_equally_often_and_a_longer_draw_begins_with_the_shorter_one() -> None:
    openings = arena.openings_of_moves(CHECKERS, LINES)
    numbers = np.asarray(openings.drawn(jax.random.key(1), 12).number)
    assert all(sorted(part) == [0, 1, 2] for part in numbers.reshape(4, 3))
    assert len({*map(tuple, numbers.reshape(4, 3))}) > 1
    shorter = openings.drawn(jax.random.key(1), 5)
    np.testing.assert_array_equal(shorter.number, numbers[:5])
    assert [texts(CHECKERS, openings)[number] for number in numbers[:5]] == texts(CHECKERS, shorter)


def test_file_of_openings_has_a_line_for_each_and_comments_as_editors_save_it(tmp_path: Path) -> None:
    text, path = "# by Müller\n9-13 22-18 6-9\n\n10-14 22-17  # a shorter one\n", tmp_path / NAME
    wanted = texts(CHECKERS, arena.openings_of_moves(CHECKERS, LINES[:2]))
    for content in (*saved_by_editors(text), text.encode("cp1252")):
        path.write_bytes(content)
        assert texts(CHECKERS, arena.load_openings(CHECKERS, str(path))) == wanted


# -- records ---------------------------------------------------------------------------------------------------------

GAMES = (  # one of each, as small as it gets; those that compile for seconds are slow
    pytest.param("checkers(max_plies=60)", marks=pytest.mark.slow),
    pytest.param("chinese_checkers(size=1, num_players=3, reward=goal, max_rounds=10)", marks=pytest.mark.slow),
    pytest.param("chinese_checkers_diamond(size=3, pieces=1)", marks=pytest.mark.slow),
    "dots_and_boxes(rows=1, cols=2, reward=boxes)",
    pytest.param("minichess(rules=king_capture, reward=material)", marks=pytest.mark.slow),
)


def host_random(env: Any) -> HostAgent:
    """Plays random legal actions, by numpy."""
    mask, random = jax.jit(jax.vmap(env.legal_action_mask)), np.random.default_rng(0)
    return HostAgent(lambda key, states: random.choice(np.flatnonzero(mask(states)[0]), 1))


def written(path: Path, env: Any, agents: Any, seats: Any, **options: Any) -> tuple[arena.Games, list[Any]]:
    """Games, and the records of the file to which they were written."""
    names = [f"agent {number}" for number in range(len(agents))]
    with arena.GameFile(path) as file:
        recorder = file.recorder(env, names, jnp.asarray(seats), options.get("openings"))
        games = arena.play(env, agents, jnp.asarray(seats), KEY, on_recorded=recorder, **options)
    return jax.device_get(games), list(arena.read_games(path))


def check(env: Any, games: arena.Games, found: list[Any], game: Any = None) -> None:
    """Every record is of its game, and leads from the start to the end, through the moves that it names."""
    assert [record["game"] for record in found] == list(range(len(games.length)))
    for number, record in enumerate(found):
        states = arena.replay(record, game)
        assert record["env"] == str(env)
        opening = record["opening"]["plies"] if record["opening"] else 0
        assert len(states) - 1 == len(record["actions"]) == record["length"] + opening
        assert (record["length"], record["turns"]) == (games.length[number], games.turns[number].tolist())
        np.testing.assert_allclose(record["returns"], games.returns[number], atol=1e-6)
        rewards = np.sum([state.rewards for state in states[1 + opening :]], axis=0)
        np.testing.assert_allclose(record["returns"], rewards, atol=1e-5)
        assert record["end"] == env.to_string(states[-1]) == env.to_string(board(games.boards, number))
        assert record["outcome"] == json.loads(json.dumps(dataclasses.asdict(env.outcome(states[-1]))))
        for state, action, move in zip(states[:-1], record["actions"], record["moves"], strict=True):
            assert env.action_from_string(state, move) == action


@pytest.mark.parametrize("text", GAMES)
def test_record_leads_to_the_same_end(text: str, tmp_path: Path) -> None:
    env = jaxgames.make(text)
    seats, openings = [[0] * env.num_players] * 8, arena.random_openings(env, KEY, 8, 6)
    games, found = written(tmp_path / "games.jsonl", env, (host_random(env),), seats, openings=openings)
    check(env, games, found)
    assert {record["start"] for record in found} == {env.to_string(env.init())}
    assert {record["outcome"]["kind"] for record in found} <= {"win", "draw", "truncated"}
    paid = [np.sum([state.rewards for state in arena.replay(record)], axis=0) for record in found]
    assert env.id != "dots_and_boxes" or not np.allclose(paid, games.returns), "some openings pay"


@pytest.mark.parametrize("steps", [3, 7])
def test_records_of_games_that_were_played_at_once(steps: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """They are replayed in parts of some steps. Openings are written and do not count."""
    monkeypatch.setattr(records, "STEPS_PER_PART", steps)
    num_games = 60
    agent_of_seat = arena.seating((1, 2), "alternating", num_games)
    openings = arena.random_openings(STICKS, KEY, 10, 4).for_games(num_games, 3)
    assert len({*openings.plies.tolist()}) > 1
    games, found = written(tmp_path / "a.jsonl", STICKS, (RANDOM, RANDOM), agent_of_seat, openings=openings)
    check(STICKS, games, found, STICKS)
    assert len({tuple(record["actions"]) for record in found}) > 10
    for number, record in enumerate(found):
        plies = int(openings.plies[number])
        assert record["opening"] == {"number": number // 3 % 10, "plies": plies}
        assert record["actions"][:plies] == openings.actions[number, :plies].tolist()
        seats = [step % 3 for step in range(len(record["actions"]))]
        assert record["outcome"] == {"kind": "win", "winners": [seats[-1]], "reason": "no sticks left"}
        assert record["agents"] == ["agent 0" if seat == number % 3 else "agent 1" for seat in range(3)]
        assert record["turns"] == [seats[plies:].count(seat) for seat in range(3)]
        left = 7 - np.cumsum([0, *(action + 1 for action in record["actions"])])
        assert [int(state.left) for state in arena.replay(record, STICKS)] == left.tolist()


def test_games_begin_with_the_boards_of_a_list_and_their_records_are_replayed(tmp_path: Path) -> None:
    openings = arena.openings_of_boards(stacked(map(BOXES.from_string, ("1000000 .. 1", "0100000 .. 1"))))
    first, seats = jaxgames.agents.make("first", BOXES), arena.seating((1, 1), "alternating", 4)
    _, games = written(tmp_path / "a.jsonl", BOXES, [first, first], seats, openings=openings.for_games(4, games_each=2))
    assert [game["start"] for game in games] == ["1000000 .. 1"] * 2 + ["0100000 .. 1"] * 2
    for game in games:
        assert len(arena.replay(game)) == 1 + game["length"]
        altered: Any = {**game, "opening": {**game["opening"], "position": "0010000 .. 1"}}
        with pytest.raises(ValueError, match="the actions do not fit the record"):
            arena.replay(altered, BOXES)


def test_illegal_action_is_recorded_without_a_move(tmp_path: Path) -> None:
    """Five sticks are taken when seat 2 takes three of the two that are left; and seat 0 names no move."""
    seats, agents = [[0, 1, 2], [3, 0, 0]], tuple(Constant(np.int32(action)) for action in (2, 1, 2, 99))
    games, (first, second) = written(tmp_path / "a.jsonl", STICKS, agents, seats)
    assert games.forfeited.tolist() == [True, True]
    assert (first["actions"], first["moves"]) == ([2, 1, 2], ["take 3", "take 2", "take 3"])
    assert (second["actions"], second["moves"]) == ([99], [None])
    assert second["outcome"] == {"kind": "forfeit", "winners": [], "reason": "illegal action by seat 0"}
    for record in (first, second):
        assert STICKS.outcome(arena.replay(record, STICKS)[-1]).kind == "forfeit"


def test_one_file_takes_the_games_of_several_calls(tmp_path: Path) -> None:
    path, written_lines = tmp_path / "new" / "folder" / "a.jsonl", list[int]()
    seats = jnp.zeros((2, 3), jnp.int32)
    with arena.GameFile(path) as file:
        for name in ("first", "second"):
            recorder = file.recorder(STICKS, [name], seats, on_written=written_lines.append)
            arena.play(STICKS, (ONE,), seats, KEY, on_recorded=recorder)
    found = [(record["game"], record["agents"][0]) for record in arena.read_games(path)]
    assert found == [(0, "first"), (1, "first"), (2, "second"), (3, "second")]
    assert written_lines == [1] * 4


def test_every_game_is_in_the_file_before_the_next_one_begins(tmp_path: Path) -> None:
    path, lines = tmp_path / "a.jsonl", list[int]()

    def act(key: jax.Array, states: Any) -> Any:
        lines.append(len(list(arena.read_games(path))))
        return np.array([0])

    written(path, STICKS, (HostAgent(act),), [[0, 0, 0]] * 3)
    assert lines == [0] * 7 + [1] * 7 + [2] * 7


def test_file_of_records_is_read_as_editors_save_it(tmp_path: Path) -> None:
    _, (line,) = written(tmp_path / "a.jsonl", STICKS, (ONE,), [[0, 0, 0]])
    for content in saved_by_editors(f"{json.dumps(line)}\n\n{json.dumps(line)}\n"):
        (tmp_path / NAME).write_bytes(content)
        assert list(arena.read_games(tmp_path / NAME)) == [line, line]
