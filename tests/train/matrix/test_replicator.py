"""The dynamics of learning in matrix games, beside OpenSpiel, closed forms, and definitions written as loops."""

import functools
import itertools
import math
from typing import Any

import numpy as np
import pytest
from open_spiel.python.egt import dynamics as openspiel
from scipy.special import expit

from train.matrix.games import matrix_game
from train.matrix.replicator import (
    CORNERS,
    NO_CORNER,
    Dynamics,
    Floats,
    basin,
    basins,
    critical_temperature,
    field,
    inner_rest_point,
    integrate,
    lenient_payoffs,
)

NAMES = ("prisoners_dilemma", "biased_rps", "subsidy", "subsidy_printed", "battle_of_sexes")
SUBSIDY = matrix_game("subsidy")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("tau", [0, 0.1, 1.0])
def test_dynamics_equal_those_of_openspiel(name: str, tau: float) -> None:
    game = matrix_game(name)
    rng = np.random.default_rng(0)
    row, column = (rng.dirichlet(np.ones(actions), 100) for actions in game.num_actions)
    theirs: Any = openspiel.replicator
    if tau:
        theirs = functools.partial(openspiel.boltzmannq, temperature=tau)
    both = openspiel.MultiPopulationDynamics(game.payoffs, theirs)
    expected = np.array([both(np.concatenate(policies)) for policies in zip(row, column, strict=True)])
    ours = np.concatenate(Dynamics(tau)(game, row, column), -1)
    np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-9)
    if tau == 0:
        np.testing.assert_allclose(Dynamics(1e-9)(game, row, column)[0] * 1e-9, ours[:, : row.shape[1]], atol=1e-7)


def expected_maximum(rewards: Floats, opponent: Floats, kappa: int) -> float:
    """The mean of the largest of `kappa` rewards over all draws of the opponent's actions."""
    draws = itertools.product(range(len(rewards)), repeat=kappa)
    return sum(float(opponent[list(draw)].prod() * rewards[list(draw)].max()) for draw in draws)


@pytest.mark.parametrize("kappa", [1, 2, 4])
def test_lenient_payoff_is_the_expected_maximum_of_kappa_draws(kappa: int) -> None:
    """With equal payoffs, with an action that the opponent never plays, and with two actions against four."""
    matrix = np.array([[1.0, 3.0, 3.0, -2.0], [0.5, 0.5, 0.5, 0.5]])
    for opponent in np.array([[0.1, 0.2, 0.3, 0.4], [0.0, 0.0, 0.5, 0.5], [0.0, 1.0, 0.0, 0.0]]):
        expected = [expected_maximum(rewards, opponent, kappa) for rewards in matrix]
        np.testing.assert_allclose(lenient_payoffs(matrix, opponent, kappa), expected, rtol=1e-12)


def test_field_has_the_derivatives_at_the_centres_of_its_cells() -> None:
    dynamics = Dynamics(tau=0.1, kappa=5)
    found = field(SUBSIDY, dynamics, grid=4)
    np.testing.assert_allclose(found.x, [0.125, 0.375, 0.625, 0.875])
    d_row, d_column = dynamics(SUBSIDY, np.array([0.125, 0.875]), np.array([0.625, 0.375]))
    assert found.dx[0, 2] == pytest.approx(d_row[0])
    assert found.dy[0, 2] == pytest.approx(d_column[0])


@pytest.mark.parametrize("tau", [0.0, 0.5])
def test_trajectory_of_the_prisoners_dilemma_is_the_exact_solution(tau: float) -> None:
    """u_1 - u_2 = -1 everywhere, so the logit is l - t, and -1/tau + (l + 1/tau) exp(-t) at a temperature."""
    game, first = matrix_game("prisoners_dilemma"), np.array([0.9, 0.2, 0.5])
    start = np.stack([first, 1 - first], -1)
    found = integrate(game, Dynamics(tau), (start, start[::-1]), duration=6, num_points=13)
    logit = np.log(first / (1 - first))[:, None]
    exact = logit - found.times if tau == 0 else -1 / tau + (logit + 1 / tau) * np.exp(-found.times)
    np.testing.assert_allclose(found.row[..., 0], expit(exact), atol=1e-8)
    np.testing.assert_allclose(found.column[..., 0], expit(exact)[::-1], atol=1e-8)


@pytest.mark.parametrize("kappa", [1, 2, 5, 10])
def test_saddle_of_subsidy_has_its_closed_form(kappa: int) -> None:
    expected = 1 - 11 ** (-1 / kappa)
    assert inner_rest_point(SUBSIDY, kappa) == pytest.approx((expected, expected), abs=1e-12)


def test_inner_rest_point_of_plain_dynamics_is_the_mixed_equilibrium() -> None:
    assert inner_rest_point(matrix_game("battle_of_sexes")) == pytest.approx((0.6, 0.4))
    assert inner_rest_point(matrix_game("subsidy_printed")) == pytest.approx((0.5, 0.5))
    assert inner_rest_point(matrix_game("prisoners_dilemma")) is None


@pytest.mark.parametrize(("kappa", "expected"), [(1, 0.2006), (2, 0.434), (3, 0.856), (4, math.inf), (5, math.inf)])
def test_critical_temperature_of_subsidy(kappa: int, expected: float) -> None:
    assert critical_temperature(matrix_game("prisoners_dilemma")) == 0  # the first action never pays
    found = critical_temperature(SUBSIDY, kappa)
    assert found == pytest.approx(expected, abs=5e-4)
    y = expit(np.linspace(0.001, 30, 3000))
    for tau in (0.98 * found, 1.02 * found) if found < math.inf else ():
        excess = 1 - 11 * (1 - y) ** kappa - tau * np.log(y / (1 - y))  # of u_1 - u_2 over what the temperature needs
        assert (excess > 0).any() == (tau < found)


@pytest.mark.parametrize(("kappa", "tau", "expected"), [(1, 0, 0.025), (5, 0, 0.581), (5, 0.1, 0.592)])
def test_leniency_enlarges_the_basin_of_the_optimum(kappa: int, tau: float, expected: float) -> None:
    """The shares are those of a grid of 60 x 60 starts."""
    assert basin(SUBSIDY, kappa, tau, 20) == pytest.approx(expected, abs=0.02)


def test_temperature_above_the_critical_one_has_no_basin_of_the_optimum() -> None:
    """Without leniency everything ends at (0, 0). With it, the rest ends at a logit equilibrium on the other side."""
    assert basins(SUBSIDY, 1, 0.5, 20).share((0, 0)) == 1
    lenient = basins(SUBSIDY, 5, 0.5, 20)
    assert lenient.share((1, 1)) == 0
    assert lenient.share((0, 0)) == pytest.approx(0.358, abs=0.02)
    inner = lenient.ends[lenient.labels == NO_CORNER]
    y = inner[:, 1]
    np.testing.assert_allclose(np.log(y / (1 - y)), (1 - 11 * (1 - y) ** 5) / 0.5, atol=1e-3)
    np.testing.assert_allclose(inner, 0.88, atol=0.01)


def test_basins_of_a_symmetric_game_are_mirror_images() -> None:
    """The battle of the sexes is the same game after (x, y) -> (1 - y, 1 - x). So the border is the line x + y = 1."""
    found = basins(matrix_game("battle_of_sexes"), 5, 0, 20)
    above = found.x[:, None] + found.x > 1.01
    below = found.x[:, None] + found.x < 0.99
    assert {CORNERS[label] for label in found.labels[above]} == {(1, 1)}
    assert {CORNERS[label] for label in found.labels[below]} == {(0, 0)}
