"""Files of labelled positions, and the hash of what boards show."""

import dataclasses
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import jaxgames
from tests.helpers.labelled import ENV, random_positions
from train.data import positions as files
from train.data.positions import UNKNOWN, Positions


@pytest.fixture(scope="module")
def positions() -> Positions:
    return random_positions()


def test_file_has_all_that_was_saved(positions: Positions, tmp_path: Path) -> None:
    both = dataclasses.replace(positions, probabilities=np.eye(ENV.num_actions)[positions.action])
    for saved in (positions, both):
        saved.save(tmp_path / "pairs.npz")
        found = files.load(tmp_path / "pairs.npz", ENV)
        jax.tree.map(np.testing.assert_array_equal, found.states, saved.states)
        for name in ("action", "value", "game", "ply", "split"):
            np.testing.assert_array_equal(getattr(found, name), getattr(saved, name))
        assert (found.probabilities is None) == (saved.probabilities is None)
        assert found.env == ENV
        assert found.splits == saved.splits
    np.testing.assert_array_equal(files.load(tmp_path / "pairs.npz").probabilities, both.probabilities)


def test_states_with_nested_fields_and_without_some_come_back(tmp_path: Path) -> None:
    env = jaxgames.make("minichess(rules=king_capture)")  # a position in the state, and no history
    saved = random_positions(8, env)
    saved.save(tmp_path / "chess.npz")
    found = files.load(tmp_path / "chess.npz").states
    assert type(found) is type(env.init())
    jax.tree.map(np.testing.assert_array_equal, found, saved.states)


def test_equal_positions_make_equal_files_and_other_labels_another_fingerprint(
    positions: Positions, tmp_path: Path
) -> None:
    for name, saved in (
        ("a", positions),
        ("b", positions),
        ("c", dataclasses.replace(positions, value=positions.value / 2)),
    ):
        saved.save(tmp_path / name)
    a, b, c = (files.fingerprint(tmp_path / name) for name in "abc")
    assert a == b != c
    assert len(a) == 64


def test_split_has_its_rows_in_order(positions: Positions) -> None:
    assert positions.of("validation").ply.tolist() == list(range(1, 40, 2))
    with pytest.raises(ValueError, match="split must be one of train, validation, not 'test'"):
        positions.of("test")


def test_keys_differ_exactly_where_observation_or_legal_actions_do() -> None:
    positions = random_positions(300, seed=1)
    observe = jax.jit(jax.vmap(ENV.observe))
    seen = np.asarray(observe(positions.states)).reshape(300, -1)
    rows = np.concatenate([seen, files.legal_actions(positions)], 1)
    same = (rows[:, None] == rows).all(-1)
    keys = files.keys(positions)
    assert keys.dtype == np.uint64
    np.testing.assert_array_equal(keys[:, None] == keys, same)
    assert 300 < same.sum() < 300 * 300  # every game begins with the same board
    np.testing.assert_array_equal(files.keys(positions.take(np.arange(7))), keys[:7])  # whatever the chunks


def test_keys_of_more_positions_than_a_chunk(positions: Positions, monkeypatch: pytest.MonkeyPatch) -> None:
    keys, masks = files.keys(positions), files.legal_actions(positions)
    monkeypatch.setattr(files, "CHUNK", 16)  # 40 positions: two whole chunks, and one with 8
    np.testing.assert_array_equal(files.keys(positions), keys)
    np.testing.assert_array_equal(files.legal_actions(positions), masks)


def test_files_that_are_no_positions_or_were_altered_are_refused(positions: Positions, tmp_path: Path) -> None:
    path = tmp_path / "pairs.npz"
    path.write_text("[Event]")
    with pytest.raises(ValueError, match=r"not a file of train.data: write one with python -m train.data"):
        files.load(path)
    positions.save(path)
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(ValueError, match="is cut short, was altered, or is not a file of positions"):
        files.load(path)


def test_files_of_another_game_or_version_are_refused(
    positions: Positions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "pairs.npz"
    positions.save(path)
    with pytest.raises(ValueError, match=r"holds positions of checkers\(draw_rule='wcdf'.* not of .*'openspiel'"):
        files.load(path, jaxgames.make("checkers(draw_rule=openspiel)"))
    with monkeypatch.context() as patch:
        patch.setattr(type(ENV), "version", 99)
        positions.save(path)
    with pytest.raises(ValueError, match=r"holds positions of version 99 of checkers.* write the file again"):
        files.load(path)
    monkeypatch.setattr(files, "KIND", files.KIND._replace(format=7))
    with pytest.raises(ValueError, match="has format 1, and this version reads format 7: write the file again"):
        files.load(path)


def test_labels_that_break_the_rules_are_refused(positions: Positions, tmp_path: Path) -> None:
    action = positions.action.copy()
    action[30] = 0  # from the corner up-right, off the board
    everywhere = np.full((40, ENV.num_actions), 1 / ENV.num_actions)
    ended = positions.states.terminated.copy()
    ended[3] = True
    for wrong, problem in (
        ({"action": action}, "position 30: an action is illegal"),
        ({"action": np.full(40, UNKNOWN), "probabilities": everywhere}, "position 0: an action is illegal"),
        ({"states": dataclasses.replace(positions.states, terminated=ended)}, "position 3: the board is finished"),
    ):
        dataclasses.replace(positions, **wrong).save(tmp_path / "wrong.npz")
        with pytest.raises(ValueError, match=problem):
            files.load(tmp_path / "wrong.npz")


@pytest.mark.parametrize(
    ("name", "array", "problem"),
    [
        ("action", np.full(40, 128), "action must be from -1 to 127, not 128 to 128"),
        ("action", np.full(40, 3.5), "action must have whole numbers"),
        ("action", np.full(40, np.nan), "action must have whole numbers"),
        ("action", np.full(40, 2**32 + 3), "action must have whole numbers"),
        ("action", np.full(40, "3"), "action must have numbers, not <U1"),
        ("action", np.int32(3), r"value must be float32\[\], not float32\[40\]"),
        ("value", np.zeros(39), r"value must be float32\[40\], not float32\[39\]"),
        ("value", np.full(40, np.inf), "value must be finite, or NaN"),
        ("split", np.full(40, 2), "split must be from 0 to 1, not 2 to 2"),
        ("splits", ("train", "train"), "splits must be different names, such as train, not train, train"),
        ("splits", (0, 1), "splits must be different names, such as train, not 0, 1"),
        ("probabilities", np.ones((40, 3)), r"probabilities must be float32\[40, 128\], not float32\[40, 3\]"),
        ("probabilities", np.ones((40, 128)), "for every position add up to 1"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(positions: Positions, name: str, array: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        dataclasses.replace(positions, **{name: array})


def test_states_of_other_shapes_are_refused(positions: Positions) -> None:
    with pytest.raises(ValueError, match=r"state.own must be uint32\[40\], not int32\[40\]"):
        dataclasses.replace(positions, states=dataclasses.replace(positions.states, own=np.zeros(40, np.int32)))


def test_boards_of_seats_that_the_game_lacks_are_refused(positions: Positions) -> None:
    states = dataclasses.replace(positions.states, current_player=np.full(40, 2, np.int32))
    with pytest.raises(ValueError, match="current_player must be from 0 to 1, not 2 to 2"):
        dataclasses.replace(positions, states=states)


def test_nothing_is_left_where_no_file_can_be_written(positions: Positions, tmp_path: Path) -> None:
    folder, file = tmp_path / "folder", tmp_path / "file"
    folder.mkdir()
    file.touch()
    with pytest.raises(IsADirectoryError, match="folder is a folder: expected a file to write"):
        positions.save(folder)
    with pytest.raises(NotADirectoryError, match="file is a file and no folder"):
        positions.save(file / "pairs.npz")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]
