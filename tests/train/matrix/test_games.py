"""Matrix games: payoffs, Nash equilibria by definition, Pareto optima, logit equilibria, and all refusals."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pyspiel
import pytest
from open_spiel.python.egt import dynamics
from scipy.special import softmax

from jaxgames import ParameterError
from train.matrix.games import MatrixGame, Point, logit_equilibrium, matrix_game, nash, pareto
from train.matrix.replicator import Dynamics, basin, field, integrate
from train.matrix.tabular import Learner, run

NAMES = ("prisoners_dilemma", "biased_rps", "subsidy", "subsidy_printed", "battle_of_sexes")
SHAPES = ((1, 3), (3, 1), (2, 2), (3, 3), (2, 4))


def assert_points_equal(found: list[Point], expected: list[Point], atol: float = 1e-12) -> None:
    """Points in the same order."""
    assert len(found) == len(expected)
    for point, other in zip(found, expected, strict=True):
        for policy, other_policy in zip(point, other, strict=True):
            assert policy.dtype == np.float64
            np.testing.assert_allclose(policy, other_policy, atol=atol, rtol=0)


def ordered(points: list[Point]) -> list[Point]:
    """Points by their probabilities, which are equal if they differ by rounding errors."""
    return sorted(points, key=lambda point: [round(p, 6) + 0.0 for policy in point for p in policy.tolist()])


def random_games(shape: tuple[int, int], count: int, integers: bool = False) -> list[MatrixGame]:
    rng = np.random.default_rng(shape)
    payoffs = rng.integers(0, 3, (count, 2, *shape)) if integers else rng.normal(size=(count, 2, *shape))
    return [MatrixGame(f"random {number}", game) for number, game in enumerate(payoffs)]


@pytest.mark.parametrize(
    ("name", "theirs", "unit"), [("battle_of_sexes", "matrix_bos", 1), ("biased_rps", "matrix_brps", 100)]
)
def test_payoffs_are_those_of_openspiel(name: str, theirs: str, unit: int) -> None:
    other = pyspiel.load_matrix_game(theirs)
    np.testing.assert_allclose(matrix_game(name).payoffs * unit, [other.row_utilities(), other.col_utilities()])


def test_payoffs_of_the_other_games_are_those_of_the_tables() -> None:
    assert matrix_game("prisoners_dilemma").payoffs.tolist() == [[[-1, -4], [0, -3]], [[-1, 0], [-4, -3]]]
    assert matrix_game("subsidy").payoffs.tolist() == [[[12, 0], [11, 10]], [[12, 11], [0, 10]]]
    assert matrix_game("subsidy_printed").payoffs.tolist() == [[[-1, 1], [1, -1]]] * 2


GAMES: dict[str, list[MatrixGame]] = {
    "of studies": [matrix_game(name) for name in NAMES],
    "generic": [game for shape in SHAPES for game in random_games(shape, 5)],
    "degenerate": [game for shape in SHAPES for game in random_games(shape, 5, integers=True)],
}


@pytest.mark.parametrize("kind", GAMES)
def test_nash_equilibria_are_by_definition(kind: str) -> None:
    """No action pays more, and pure equilibria come first. Of generic games they are all of `by_supports`."""
    for game in GAMES[kind]:
        found = nash(game)
        assert found
        played = [np.count_nonzero(np.concatenate(point)) for point in found]
        assert played == sorted(played)
        for point in found:
            for player, (policy, other) in enumerate((point, point[::-1])):
                payoffs = game.own_payoffs(player) @ other
                assert payoffs.max() <= policy @ payoffs + 1e-9
        assert kind == "degenerate" or len(found) % 2 == 1
        if kind == "generic":
            assert_points_equal(ordered(found), ordered(by_supports(game)), atol=1e-9)


def by_supports(game: MatrixGame) -> list[Point]:
    """The equilibria of a generic game: for as many actions of both, those that are equally good and best."""
    found: list[Point] = []
    for size in range(1, min(game.num_actions) + 1):
        for sets in itertools.product(*(itertools.combinations(range(n), size) for n in game.num_actions)):
            point = [np.zeros(n) for n in game.num_actions]
            for player, (own, other) in enumerate((sets, sets[::-1])):  # what the other plays
                equations = np.ones((size + 1, size + 1))
                equations[:size, :size] = game.own_payoffs(player)[np.ix_(own, other)]
                equations[:size, size], equations[size, size] = -1, 0
                point[1 - player][[*other]] = np.linalg.solve(equations, np.eye(size + 1)[size])[:size]
            payoffs = [game.own_payoffs(player) @ point[1 - player] for player in (0, 1)]
            are_best = [v.max() <= p @ v + 1e-9 for p, v in zip(point, payoffs, strict=True)]
            if min(map(np.min, point)) >= 0 and all(are_best):
                found.append((point[0], point[1]))
    return found


def test_equilibria_of_a_constant_game_are_all_pairs_of_actions() -> None:
    found = nash(MatrixGame("constant", np.ones((2, 2, 3))))
    assert_points_equal(found, [(np.eye(2)[i], np.eye(3)[j]) for i in range(2) for j in range(3)])


def test_nash_equilibria_do_not_depend_on_the_unit_of_the_payoffs() -> None:
    game = matrix_game("subsidy")
    scaled = MatrixGame("scaled", game.payoffs * np.array([1e6, 1e-6])[:, None, None] + 7)
    assert_points_equal(nash(scaled), nash(game), atol=1e-8)


def test_pair_that_pays_one_player_more_and_the_other_as_much_is_the_better_one() -> None:
    found = pareto(MatrixGame("tie", np.array([[[1, 1, 0]], [[1, 2, 2]]])))
    assert_points_equal(found, [(np.array([1.0]), np.array([0.0, 1.0, 0.0]))])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("tau", [50, 0.3, 0.02])
def test_logit_equilibrium_is_at_rest_in_openspiels_dynamics(name: str, tau: float) -> None:
    game = matrix_game(name)
    point = logit_equilibrium(game, tau)
    for player, (found, other) in enumerate((point, point[::-1])):
        fitness = game.own_payoffs(player) @ other
        np.testing.assert_allclose(dynamics.boltzmannq(found, fitness, temperature=tau), 0, atol=1e-9)


@pytest.mark.parametrize("shape", [(2, 2), (3, 3), (2, 4)])
def test_branch_ends_at_a_nash_equilibrium(shape: tuple[int, int]) -> None:
    for game in random_games(shape, 3):
        end = np.concatenate(logit_equilibrium(game, 1e-5))
        assert min(np.abs(end - np.concatenate(point)).max() for point in nash(game)) < 1e-3


def test_symmetric_branch_is_followed_where_branches_meet() -> None:
    """In the printed subsidy game they meet at temperature 1: at y near 1/2, the reply x is 1/2 - (y - 1/2) / tau."""
    for tau in (2, 1, 0.5, 1e-6):
        for found in logit_equilibrium(matrix_game("subsidy_printed"), tau):
            np.testing.assert_allclose(found, 0.5, atol=1e-9)


def test_branch_is_followed_around_folds() -> None:
    """The branch of this game turns back at temperature 1/350 of its range, and ends at another equilibrium."""
    payoffs = [
        [[0.806, -1.2259, -0.0225], [0.1242, 0.8622, 0.1161], [0.8041, -0.5042, 0.358]],
        [[0.4149, -1.2498, 0.1755], [-0.3204, -1.9041, 0.9584], [-0.3619, -0.8524, -0.3773]],
    ]
    game = MatrixGame("folds", np.array(payoffs))
    before, after = (logit_equilibrium(game, np.ptp(game.payoffs) / precision) for precision in (340, 360))
    assert max(np.abs(x - y).max() for x, y in zip(before, after, strict=True)) > 0.01
    reply = softmax(game.own_payoffs(0) @ after[1] * 360 / np.ptp(game.payoffs))
    np.testing.assert_allclose(after[0], reply, atol=1e-8)


def test_branch_that_cannot_be_followed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("train.matrix.games.MAX_STEPS", 5)
    with pytest.raises(ArithmeticError, match=r"the branch of logit equilibria was lost at .*; take a larger tau"):
        logit_equilibrium(matrix_game("subsidy"), 0.01)


SUBSIDY, KEY = matrix_game("subsidy"), jax.random.key(0)


@pytest.mark.parametrize(
    ("call", "error", "needles"),
    [
        (lambda: matrix_game("chicken"), ParameterError, ("chicken", "battle_of_sexes")),
        (lambda: MatrixGame("wrong", np.zeros((3, 2, 2))), ParameterError, ("payoffs", "[2, n, m]")),
        (lambda: MatrixGame("wrong", np.full((2, 2, 2), np.inf)), ParameterError, ("payoffs", "finite", "inf")),
        (lambda: MatrixGame("wrong", [[["a"]]]), ParameterError, ("payoffs", "'a'")),  # pyright: ignore[reportArgumentType]  # on purpose
        (lambda: nash(MatrixGame("large", np.zeros((2, 30, 30)))), ValueError, ("30 x 30", "8 x 8")),
        (lambda: logit_equilibrium(SUBSIDY, -1.0), ParameterError, ("tau", "-1.0", "above 0")),
        (lambda: basin(SUBSIDY, 0, 0.1), ParameterError, ("kappa", "0", "from 1")),
        (lambda: Dynamics(tau=math.nan), ParameterError, ("tau", "nan", "from 0")),
        (lambda: field(SUBSIDY, Dynamics(), 0), ParameterError, ("grid", "0", "1 to 2000")),
        (lambda: basin(matrix_game("biased_rps"), 1, 0), ParameterError, ("two actions", "biased_rps", "(3, 3)")),
        (lambda: integrate(SUBSIDY, Dynamics(), ([math.nan, 1.0], [0.5, 0.5])), ParameterError, ("start", "above 0")),
        (lambda: Learner("greedy"), ParameterError, ("kind", "'greedy'", "'lenient_faq'")),  # pyright: ignore[reportArgumentType]  # on purpose
        (lambda: Learner(kappa=0), ParameterError, ("kappa", "0", "from 1")),
        (lambda: Learner(alpha=1.5), ParameterError, ("alpha", "1.5", "up to 1")),
        (lambda: Learner(beta=0), ParameterError, ("beta", "0", "above 0")),
        (lambda: Learner(epsilon=-0.1), ParameterError, ("epsilon", "-0.1", "from 0 to 1")),
        (lambda: Learner(tau_schedule=(0.5, 0)), ParameterError, ("tau_schedule", "0", "above 0")),
        (lambda: run(SUBSIDY, Learner(), KEY, 0, 1), ParameterError, ("num_runs", "0", "from 1")),
        (lambda: run(SUBSIDY, Learner(), KEY, 1, 0), ParameterError, ("steps", "0", "from 1")),
        (lambda: run(SUBSIDY, Learner(), KEY, 1, 1, "random"), ParameterError, ("start", "'random'", "'values'")),  # pyright: ignore[reportArgumentType]  # on purpose
    ],
)
def test_wrong_argument_is_refused(call: Callable[[], Any], error: type[Exception], needles: tuple[str, ...]) -> None:
    with pytest.raises(error) as caught:
        call()
    assert [needle for needle in needles if needle not in str(caught.value)] == []
