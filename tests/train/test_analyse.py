"""The command train.analyse: what moves lose, what an agent thinks of them, and where a game leaves a database."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames import agents
from jaxgames.games.checkers.pdn import BrokenGame
from jaxgames.solvers.alphabeta.deepening import MoveValues
from tests.helpers.commands import error_of, last_json, run_command
from tests.helpers.positions import compiled
from tests.helpers.registrations import temporary_registrations
from tests.helpers.scripted_agents import OnHost
from tests.helpers.stored_runs import ROOT, store
from train.analyse import __main__ as analyse
from train.analyse import annotation
from train.analyse.annotation import Database, RecordedGame, Turn, annotate, read_games, summary
from train.data.positions import Positions
from train.ppo import PPO, Config

CHECKERS = jaxgames.make("checkers")
OPENING = '[Event "club"]\n[Black "A"]\n[White "B"]\n[Result "0-1"]\n\n1. 11-15 22-18 2. 15x22 25x18 3. 8-11 0-1\n'
TWO_JUMPS = '\n[SetUp "1"]\n[FEN "W:W21,32:B1,10,17"]\n[Result "1-0"]\n\n1... 21x14x7 2. 1-5 1-0\n'
BROKEN_LINE = (OPENING + TWO_JUMPS).count("\n") + 5
BROKEN = '\n[Event "broken"]\n\n1. 11-15\n22-19 2. 15-18 *\n'  # line 4 of the game


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two games and a broken one."""
    path = tmp_path_factory.mktemp("games") / "games.pdn"
    path.write_text(OPENING + TWO_JUMPS + BROKEN)
    return path


@pytest.fixture(scope="module")
def games(file: Path) -> list[RecordedGame]:
    """The two games."""
    found = read_games(file)
    assert isinstance(found[2], BrokenGame)
    return [game for game in found if isinstance(game, RecordedGame)]


# -- what moves lose -----------------------------------------------------------------------------------------------


def with_values(game: RecordedGame, values: Mapping[str, float], **settings: Any) -> list[Turn]:
    """The turns of a game when actions have these values for their mover, and all others -0.5."""

    def move_values(env: Any, state: Any, depth: int) -> MoveValues:
        assert depth == 3
        legal = np.flatnonzero(env.legal_action_mask(state)).tolist()
        found = [values.get(env.action_to_string(state, action), -0.5) for action in legal]
        return MoveValues(max(found), legal, found)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(annotation, "move_values", move_values)
        return annotate(game, depth=3, **settings)


def test_values_are_for_black_and_losses_are_the_movers(games: list[RecordedGame]) -> None:
    turns = with_values(games[0], {"11-15": 0.2, "22-18": -1.3, "23-19": 0.1, "15x22": 1.4, "8-11": 900.0})
    assert [(turn.move, turn.best) for turn in turns[:3]] == [
        ("11-15", "11-15"),
        ("22-18", "23-19"),
        ("15x22", "15x22"),
    ]
    assert [(turn.before, turn.after) for turn in turns[:3]] == [(0.2, 0.2), (-0.1, 1.3), (1.4, 1.4)]
    assert [turn.lost for turn in turns[:3]] == pytest.approx([0.0, 1.4, 0.0])
    assert [turn.blunder for turn in turns] == [False, True, False, False, False]
    assert (turns[4].before, turns[4].after) == (annotation.DECIDED, annotation.DECIDED)  # a win that is seen
    assert summary(turns, 1) == {"seat": 1, "turns": 2, "lost": pytest.approx(0.7), "blunders": [2]}


def test_capture_is_one_turn_with_the_value_of_its_last_jump(games: list[RecordedGame]) -> None:
    turns = with_values(games[1], {"21x14": 1.0, "14x7": 2.0})
    assert [(turn.move, turn.seat, turn.ply) for turn in turns] == [("21x14x7", 1, 0), ("1-5", 0, 2)]
    assert (turns[0].before, turns[0].after, turns[0].lost, turns[0].best) == (-2.0, -2.0, 0.0, "21x14")
    known = annotate(games[1], None, database=Database.of(database(games[1], 1)))
    assert known[0].played == 0  # the database has its first jump only


def test_alpha_beta_finds_the_man_that_a_move_loses(tmp_path: Path) -> None:
    """Nothing takes back on 9."""
    path = tmp_path / "game.pdn"
    path.write_text('[SetUp "1"]\n[FEN "B:W18,31:B1,9"]\n\n1. 9-14 18x9 *\n')
    (game,) = read_games(path)
    assert isinstance(game, RecordedGame)
    turns = annotate(game, depth=2)
    assert [turn.blunder for turn in turns] == [True, False]
    assert (turns[0].lost or 0) > 0.8
    assert (turns[1].lost, turns[1].best) == (0, "18x9")


# -- an agent ------------------------------------------------------------------------------------------------------


def test_opinion_has_probability_rank_and_favourite(games: list[RecordedGame]) -> None:
    uniform = annotate(games[1], None, agent=agents.make("random", CHECKERS))
    assert [(turn.probability, turn.rank, turn.legal) for turn in uniform] == [(1.0, 1, 1), (1 / 2, 1, 2)]
    assert summary(uniform, 0)["probability"] == 0.5
    first = annotate(games[0], None, agent=agents.make("first", CHECKERS))
    lowest = CHECKERS.action_to_string(games[0].state(0), int(CHECKERS.legal_action_mask(games[0].state(0)).argmax()))
    assert (first[0].favourite, first[0].probability, first[0].rank, first[0].legal) == (lowest, 0.0, 2, 7)
    found = summary(first, 0)
    assert (found["probability"], found["top_3"]) == (0.0, 1.0)
    assert first[0].agent_value is None


# -- a database ----------------------------------------------------------------------------------------------------


def database(game: RecordedGame, plies: int) -> Positions:
    """The first plies of a game, once in each of two splits."""
    rows = np.arange(plies).repeat(2)
    states = {name: getattr(game.states, name)[rows] for name in vars(game.states)}
    split = np.arange(2 * plies) % 2
    return Positions(game.env, type(game.states)(**states), game.actions[rows], split=split, splits=("train", "test"))


# -- the command ---------------------------------------------------------------------------------------------------


def test_command_prints_a_table_and_writes_json(
    file: Path, games: list[RecordedGame], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, output = tmp_path / "pairs.npz", tmp_path / "new" / "game.json"
    database(games[0], 3).save(data)
    options = ("--game", 1, "--depth", 1, "--data", data, "--output", output)
    assert run_command(analyse.main, file, "--agent", "random", *options) is None
    printed = capsys.readouterr()
    *table, result = printed.out.splitlines()
    assert table[0] == "club, A - B, 0-1"
    assert "first move out of the database: turn 4, 25x18" in table
    facts = json.loads(result)
    assert (facts["games"][0]["first_unknown"], facts["broken"]) == (4, [])
    assert [seat["turns"] for seat in facts["games"][0]["seats"]] == [3, 2]
    whole = json.loads(output.read_text())
    turns = whole["games"][0].pop("turns")
    assert [(turn["move"], turn["played"]) for turn in turns] == [*zip(games[0].moves, [2, 2, 2, 0, 0], strict=True)]
    assert whole == facts


def test_broken_game_is_named_and_the_others_have_the_turns_that_leave_the_database(
    file: Path, games: list[RecordedGame], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "pairs.npz"
    database(games[0], 3).save(data)
    assert run_command(analyse.main, file, "--depth", 0, "--data", data) is None
    printed = capsys.readouterr()
    assert f"{file}, line {BROKEN_LINE}: 22-19 is not legal" in printed.err
    result = json.loads(printed.out.splitlines()[-1])
    assert [game["game"] for game in result["games"]] == [1, 2]
    assert [(game["game"], game["line"]) for game in result["broken"]] == [(3, BROKEN_LINE)]
    assert result["departures"] == {"games": 2, "left": 2, "mean_turn": 2.5, "least_turn": 1, "most_turn": 4}
    nobody = analyse.departures([{"first_unknown": None}] * 3)
    assert nobody == {"games": 3, "left": 0, "mean_turn": None, "least_turn": None, "most_turn": None}


# -- records of matches --------------------------------------------------------------------------------------------

RECORDS = ROOT / "tests/data/formats/record.0.1.0.jsonl"  # both agents play the first edge
BOXES = jaxgames.make("dots_and_boxes(rows=1, cols=2)")


def test_records_of_matches_are_read(tmp_path: Path) -> None:
    """The last edge but one completes a box, and the turn goes on. An illegal action at the end is left out."""
    first, _ = read_games(RECORDS)
    assert isinstance(first, RecordedGame)
    assert first.moves == ("h(0,0)", "h(0,1)", "h(1,0)", "h(1,1)", "v(0,0)", "v(0,1) v(0,2)")
    assert (first.title, first.first_plies.tolist()) == ("one - other", [0, 1, 2, 3, 4, 5])
    with pytest.raises(ValueError, match=r"game 1 is of .* not of minichess"):
        read_games(RECORDS, jaxgames.make("minichess"))

    record, path = json.loads(RECORDS.read_text().splitlines()[0]), tmp_path / "games.jsonl"
    end = jax.device_get(compiled(BOXES).step(first.state(2), np.int32(-1)))
    record |= {"actions": [0, 1, -1], "moves": ["h(0,0)", "h(0,1)", None], "returns": end.rewards.tolist()}
    record |= {"outcome": dataclasses.asdict(BOXES.outcome(end)), "end": BOXES.to_string(end)}
    path.write_text(json.dumps(record) + "\n")
    (found,) = read_games(path)
    assert isinstance(found, RecordedGame)
    assert (found.actions.tolist(), found.moves) == ([0, 1], ("h(0,0)", "h(0,1)"))


def test_run_gives_probabilities_and_values_of_turns_in_another_game(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, output = tmp_path / "run", tmp_path / "game.json"
    store(run, PPO(Config(env=str(BOXES), hidden_sizes=(4,), num_envs=2, rollout_length=4, num_minibatches=1)))
    assert run_command(analyse.main, RECORDS, "--game", 1, "--agent", run, "--output", output) is None
    assert last_json(capsys)["depth"] is None
    turns = json.loads(output.read_text())["games"][0]["turns"]
    assert len(turns) == 6
    assert all(0 < turn["probability"] < 1 for turn in turns[:5])
    assert all(-2 < turn["agent_value"] < 2 for turn in turns)


# -- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--game", 3), "line {line}: 22-19 is not legal"),
        (("--game", 1, "--depth", 0), "nothing to annotate by: add --agent or --data"),
        (("--game", 1, "--env", "minichess"), "has games of checkers, not of minichess"),
        (("--game", 1, "--depth", 0, "--agent", "silent"), "has no probabilities: choose an agent that has them"),
    ],
)
def test_wrong_arguments_are_refused(arguments: tuple[Any, ...], message: str, file: Path) -> None:
    with temporary_registrations():
        agents.register("silent", OnHost)
        found = error_of(analyse.main, file, *arguments)
    assert message.format(file=file, line=BROKEN_LINE) in found
