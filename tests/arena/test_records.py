"""Games as lines of JSON: what is written can be played again, and leads to the same end."""

import dataclasses
import json
from pathlib import Path
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import arena
from jaxgames.arena import records
from tests.arena.test_playing import KEY, ONE, RANDOM, STICKS, Constant
from tests.helpers.commands import NAME, saved_by_editors

GAMES = (  # one of each, as small as it gets; those that compile for seconds are slow
    pytest.param("checkers(max_plies=60)", marks=pytest.mark.slow),
    pytest.param("chinese_checkers(size=1, num_players=3, reward=goal, max_rounds=10)", marks=pytest.mark.slow),
    pytest.param("chinese_checkers_diamond(size=3, pieces=1)", marks=pytest.mark.slow),
    "dots_and_boxes(rows=1, cols=2, reward=boxes)",
    pytest.param("minichess(rules=king_capture, reward=material)", marks=pytest.mark.slow),
)


class HostRandom:
    """Plays random legal actions, by numpy."""

    on_device: ClassVar[bool] = False

    def __init__(self, env: Any) -> None:
        self.mask = jax.jit(jax.vmap(env.legal_action_mask))
        self.random = np.random.default_rng(0)

    def act(self, key: jax.Array, states: Any) -> Any:
        return self.random.choice(np.flatnonzero(self.mask(states)[0]), 1)


def written(path: Path, env: Any, agents: Any, seats: Any, **options: Any) -> tuple[arena.Games, list[Any]]:
    """Games, and the records of the file to which they were written."""
    names = [f"agent {number}" for number in range(len(agents))]
    with arena.GameFile(path) as file:
        recorder = file.recorder(env, names, jnp.asarray(seats), options.get("openings"))
        games = arena.play(env, agents, jnp.asarray(seats), KEY, on_recorded=recorder, **options)
    return jax.device_get(games), list(arena.read_games(path))


# -- round trips ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", GAMES)
def test_record_leads_to_the_same_end(text: str, tmp_path: Path) -> None:
    env = jaxgames.make(text)
    games, found = written(tmp_path / "games.jsonl", env, (HostRandom(env),), [[0] * env.num_players] * 2)
    assert len(found) == 2
    for number, record in enumerate(found):
        states = arena.replay(record)
        assert jaxgames.make(record["env"]) == env
        assert len(states) == len(record["actions"]) + 1 == games.length[number] + 1 == record["length"] + 1
        assert env.to_string(states[0]) == record["start"] == env.to_string(env.init())
        assert env.to_string(env.from_string(record["end"])) == record["end"] == env.to_string(states[-1])
        outcome = env.outcome(states[-1])
        assert record["outcome"] == {**dataclasses.asdict(outcome), "winners": list(outcome.winners)}
        assert outcome.kind in ("win", "draw", "truncated")
        rewards = np.sum([state.rewards for state in states], axis=0)
        np.testing.assert_allclose(record["returns"], rewards, atol=1e-5)
        np.testing.assert_allclose(record["returns"], games.returns[number], atol=1e-6)
        assert record["turns"] == games.turns[number].tolist()
        for state, action, move in zip(states[:-1], record["actions"], record["moves"], strict=True):
            assert env.action_from_string(state, move) == action


def test_records_of_games_that_were_played_at_once(tmp_path: Path) -> None:
    """Several parts of steps and of games, and openings, which are written and do not count."""
    num_games = 150
    agent_of_seat = arena.seating((1, 2), "alternating", num_games)
    openings = arena.random_openings(STICKS, KEY, 10, 2).for_games(num_games, 3)
    games, found = written(tmp_path / "a.jsonl", STICKS, (RANDOM, RANDOM), agent_of_seat, openings=openings)
    assert [record["game"] for record in found] == list(range(num_games))
    assert len({tuple(record["actions"]) for record in found}) > 20
    for number, record in enumerate(found):
        assert record["opening"] == {"number": number // 3 % 10, "plies": 2}
        assert record["actions"][:2] == openings.actions[number].tolist()
        assert record["length"] == len(record["actions"]) - 2 == games.length[number]
        assert record["moves"] == [f"take {action + 1}" for action in record["actions"]]
        assert sum(action + 1 for action in record["actions"]) == 7
        winner = (len(record["actions"]) - 1) % 3
        assert record["outcome"] == {"kind": "win", "winners": [winner], "reason": "no sticks left"}
        assert record["agents"] == ["agent 0" if seat == number % 3 else "agent 1" for seat in range(3)]
        assert sum(record["turns"]) == record["length"]
    for record in found[:5]:
        assert [int(state.left) for state in arena.replay(record, STICKS)] == [
            7 - sum(action + 1 for action in record["actions"][:step]) for step in range(len(record["actions"]) + 1)
        ]


@pytest.mark.parametrize("steps", [2, 3, 7])
def test_long_game_is_replayed_in_parts(steps: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A game of seven steps."""
    monkeypatch.setattr(records, "STEPS_PER_PART", steps)
    _, found = written(tmp_path / "a.jsonl", STICKS, (ONE,), [[0, 0, 0]])
    states = [STICKS.to_string(state) for state in arena.replay(found[0], STICKS)]
    assert states == ["7 0", "6 1", "5 2", "4 0", "3 1", "2 2", "1 0", "0 1"]


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


# -- files ---------------------------------------------------------------------------------------------------------


def test_one_file_takes_the_games_of_several_calls(tmp_path: Path) -> None:
    path, written_lines = tmp_path / "new" / "folder" / "a.jsonl", list[int]()
    seats = jnp.zeros((2, 3), jnp.int32)
    with arena.GameFile(path) as file:
        for name in ("first", "second"):
            recorder = file.recorder(STICKS, [name], seats, on_written=written_lines.append)
            arena.play(STICKS, (ONE,), seats, KEY, on_recorded=recorder)
    found = list(arena.read_games(path))
    assert [record["game"] for record in found] == [0, 1, 2, 3]
    assert [record["agents"][0] for record in found] == ["first", "first", "second", "second"]
    assert written_lines == [1] * 4


def test_every_game_is_in_the_file_before_the_next_one_begins(tmp_path: Path) -> None:
    path, lines = tmp_path / "a.jsonl", list[int]()

    class Reader(HostRandom):
        def act(self, key: jax.Array, states: Any) -> Any:
            lines.append(len(list(arena.read_games(path))))
            return np.array([0])

    written(path, STICKS, (Reader(STICKS),), [[0, 0, 0]] * 3)
    assert lines == [0] * 7 + [1] * 7 + [2] * 7


def test_file_is_read_as_editors_save_it(tmp_path: Path) -> None:
    _, (line,) = written(tmp_path / "a.jsonl", STICKS, (ONE,), [[0, 0, 0]])
    for content in saved_by_editors(f"{json.dumps(line)}\n\n{json.dumps(line)}\n"):
        (tmp_path / NAME).write_bytes(content)
        assert list(arena.read_games(tmp_path / NAME)) == [line, line]
