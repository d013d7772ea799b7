"""The fit to exact values: the labels, the sets that are kept apart, and a whole fit of a tiny board."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from examples.papers.dots_and_boxes import fit_solution
from jaxgames import solvers
from train.ops.symmetries import symmetries

BOARD = "dots_and_boxes(rows=1, cols=2, reward=boxes)"  # 7 edges
ENV = fit_solution.board_of(BOARD)


@pytest.fixture(scope="module")
def solution() -> Any:
    return solvers.solve(ENV)


def all_sets() -> jax.Array:
    """Every set of edges but the full one: bool[127, 7], in the order of their indices."""
    return jnp.asarray((np.arange(2**7 - 1)[:, None] >> np.arange(7)) & 1 == 1)


def test_labels_are_the_margin_and_the_best_edges_of_the_solution(solution: Any) -> None:
    table = fit_solution.solved(ENV)
    of_sets = jax.jit(functools.partial(fit_solution.labelled, ENV))
    rows = jax.device_get(of_sets(table, jax.random.key(0), all_sets()))
    assert rows.margin.tolist() == solution.table[:-1].tolist()
    np.testing.assert_array_equal(rows.best, solution.best_actions(rows.state))
    for row in (0, 63, 126):  # owners that fit the edges, or the text is refused
        ENV.from_string(ENV.to_string(jax.tree.map(lambda leaf, row=row: leaf[row], rows.state)))


def test_all_images_of_a_set_are_kept_apart_or_none() -> None:
    sets = all_sets()
    held_out = np.asarray(fit_solution.is_held_out(ENV, sets))
    assert 0 < held_out.sum() < 127 / 4
    for action in symmetries(ENV).action:
        images = jnp.zeros_like(sets).at[:, action].set(sets)
        np.testing.assert_array_equal(fit_solution.is_held_out(ENV, images), held_out)


def test_random_and_played_sets_have_every_number_of_edges_but_the_last() -> None:
    table, key = fit_solution.solved(ENV), jax.random.key(3)
    for sets in (fit_solution.random_sets(ENV, key, 400), fit_solution.played_sets(ENV, table, key, 400)):
        count = np.bincount(np.asarray(sets.sum(1)), minlength=8)
        assert count.sum() == 400
        assert (count[:7] > 25).all()
        assert count[7] == 0


def test_move_is_the_best_edge_or_a_random_one_and_a_finished_game_restarts() -> None:
    after_a_move = jax.jit(functools.partial(fit_solution.after_a_move, ENV))
    drawn = jnp.tile(jnp.array([1, 1, 1, 0, 0, 0, 0], jnp.bool_), (400, 1))
    after = after_a_move(jax.random.key(0), drawn, jnp.tile(jnp.arange(7) == 5, (400, 1)))
    assert (after.sum(1) == 4).all()
    assert (after | drawn == after).all()
    assert 0.55 < float(after[:, 5].mean()) < 0.7  # 1 / 2 + 1 / 2 * 1 / 4
    last = jnp.tile(jnp.arange(7) == 6, (400, 1))
    assert not after_a_move(jax.random.key(0), ~last, last).any()


@pytest.mark.slow  # a whole fit
def test_fitted_network_knows_sets_that_it_was_not_fitted_to() -> None:
    arguments = fit_solution.Arguments(
        env=BOARD,
        network="graph(rounds=2, width=16)",
        other_boards=("dots_and_boxes(rows=1, cols=3, reward=boxes)",),
        steps=300,
        positions=1000,
        learning_rate=1e-2,
    )
    result = fit_solution.fit_solution(arguments)
    for kind in ("random", "played"):
        found = result["held_out"][kind]
        assert found["positions"] > 20
        assert found["error"] < 0.35
        assert found["best_moves"] > 0.9
        other = result["other_boards"][arguments.other_boards[0]][kind]
        assert other["best_moves"] > 0.7


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"env": "checkers"}, "checkers is not dots_and_boxes"),
        ({"env": "dots_and_boxes(rows=1, cols=2)"}, "is not dots_and_boxes with reward=boxes"),
        ({"network": "mlp", "other_boards": (BOARD,)}, "leave --other-boards out"),
        ({"steps": 0}, "steps .* at least 1"),
    ],
)
def test_wrong_arguments_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit_solution.fit_solution(dataclasses.replace(fit_solution.Arguments(env=BOARD), **changes))
