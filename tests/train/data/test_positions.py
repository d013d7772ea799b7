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
    with pytest.raises(ValueError, match=r"'wcdf'.* not of .*'openspiel'"):
        files.load(tmp_path / "pairs.npz", jaxgames.make("checkers(draw_rule=openspiel)"))


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
    ("name", "array", "needles"),
    [
        ("action", np.full(40, 128), ("action", "-1 to 127", "128")),
        ("action", np.full(40, 2**32 + 3), ("action", "whole numbers")),
        ("action", np.full(40, "3"), ("action", "numbers", "<U1")),
        ("value", np.zeros(39), ("value", "float32[40]", "float32[39]")),
        ("value", np.full(40, np.inf), ("value", "finite")),
        ("splits", ("train", "train"), ("splits", "different", "train, train")),
        ("probabilities", np.ones((40, 3)), ("probabilities", "float32[40, 128]", "float32[40, 3]")),
        ("probabilities", np.ones((40, 128)), ("probabilities", "add up to 1")),
        ("own", np.zeros(40, np.int32), ("state.own", "uint32[40]", "int32[40]")),
        ("current_player", np.full(40, 2, np.int32), ("current_player", "0 to 1", "2 to 2")),
    ],
)
def test_arrays_that_do_not_fit_are_refused(
    positions: Positions, name: str, array: Any, needles: tuple[str, ...]
) -> None:
    is_label = name in {field.name for field in dataclasses.fields(Positions)}
    changes = {name: array} if is_label else {"states": dataclasses.replace(positions.states, **{name: array})}
    with pytest.raises(ValueError, match=name) as caught:
        dataclasses.replace(positions, **changes)
    assert [needle for needle in needles if needle not in str(caught.value)] == []
