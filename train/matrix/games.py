"""Matrix games of two players: payoffs, Nash equilibria, Pareto optima and logit equilibria.

    game = matrix_game("battle_of_sexes")
    for row_policy, column_policy in nash(game):
        print(row_policy, column_policy)

A policy is a vector of probabilities, one per action of a player. A point is a pair of policies, the row player's and
the column player's. Equilibria are computed on the host in float64.

Sources: Shoham and Leyton-Brown, Multiagent Systems, 2008, sections 3.3 and 4.2; McKelvey and Palfrey, Quantal Response
Equilibria for Normal Form Games, 1995; Turocy, A dynamic homotopy interpretation of the logistic quantal response
equilibrium correspondence, 2005.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import nashpy
import numpy as np
from scipy.integrate import RK45
from scipy.optimize import brentq

from jaxgames._checks import ParameterError, check_number

Point = tuple[np.ndarray, np.ndarray]  # float64[n] and float64[m], the policies of both players

TOLERANCE = 1e-9  # of equilibria: smaller differences, relative to the range of payoffs, count as ties
MAX_CORNERS = 15_000  # a bound of the corners that `nash` finds for a player

MAX_STEPS = 10_000  # along the branch of logit equilibria
STEP_TOLERANCE = 1e-8
CORRECTIONS = 8  # by Newton's method, of the point that is returned


@dataclass(frozen=True, eq=False)
class MatrixGame:
    """The payoffs of a game in which a row player and a column player choose one action each, at the same time.

        MatrixGame("matching_pennies", np.array([[[1, -1], [-1, 1]], [[-1, 1], [1, -1]]]))

    Raises ParameterError unless the payoffs are finite numbers [2, n, m].
    """

    name: str
    payoffs: np.ndarray  # float64[2, n, m]: the row player's and the column player's, by row action and column action
    actions: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())  # names of the n and m actions, for pictures

    def __post_init__(self) -> None:
        expected = "payoffs must be finite numbers of shape [2, n, m], one matrix for each player"
        try:
            payoffs = np.array(self.payoffs, np.float64)  # a copy
        except (TypeError, ValueError):
            raise ParameterError(f"{expected}, not {self.payoffs!r}") from None
        if payoffs.ndim != 3 or payoffs.shape[0] != 2 or 0 in payoffs.shape or not np.isfinite(payoffs).all():
            raise ParameterError(f"{expected}, not {payoffs.tolist()}")
        payoffs.flags.writeable = False
        object.__setattr__(self, "payoffs", payoffs)

    @property
    def num_actions(self) -> tuple[int, int]:
        """The numbers of actions, n of the row player and m of the column player."""
        return self.payoffs.shape[1], self.payoffs.shape[2]

    def own_payoffs(self, player: int) -> np.ndarray:
        """Returns float64[own actions, other's actions], the payoffs of player 0 (row) or 1 (column)."""
        return self.payoffs[1].T if player else self.payoffs[0]


# -- games ---------------------------------------------------------------------------------------------------------

_DILEMMA = np.array([[-1, -4], [0, -3]])
_BIASED_RPS = np.array([[0, -0.25, 0.5], [0.25, 0, -0.05], [-0.5, 0.05, 0]])
_SUBSIDY = np.array([[12, 0], [11, 10]])
_DISPERSION = np.array([[-1, 1], [1, -1]])
_BATTLE = np.array([[3, 0], [0, 2]])

GAMES = {  # by name: payoffs of both players, and the names of the actions, which are the same for both
    "prisoners_dilemma": ([_DILEMMA, _DILEMMA.T], ("C", "D")),
    "biased_rps": ([_BIASED_RPS, -_BIASED_RPS], ("R", "P", "S")),
    "subsidy": ([_SUBSIDY, _SUBSIDY.T], ("S1", "S2")),
    "subsidy_printed": ([_DISPERSION, _DISPERSION], ("S1", "S2")),
    "battle_of_sexes": ([_BATTLE, _BATTLE[::-1, ::-1]], ("O", "M")),
}


def matrix_game(name: str) -> MatrixGame:
    """Returns the game with this name.

        prisoners_dilemma  actions C (cooperate) and D (defect)
        biased_rps         rock R, paper P and scissors S with unequal payoffs; zero-sum
        subsidy            S1 pays 12 to both if both choose it; S2 pays 11 or 10, whatever the other does
        subsidy_printed    the table of El Kaddouri, Rys and Gao 2024: it pays to choose different actions
        battle_of_sexes    opera O and movie M: both want to meet, each prefers another place

    Raises ParameterError for another name.
    """
    if name not in GAMES:
        raise ParameterError(f"unknown matrix game {name!r}; the matrix games are {', '.join(sorted(GAMES))}")
    payoffs, actions = GAMES[name]
    return MatrixGame(name, np.stack(payoffs), (actions, actions))


# -- equilibria ----------------------------------------------------------------------------------------------------


def nash(game: MatrixGame) -> list[Point]:
    """Returns the Nash equilibria as pairs of policies, (float64[n], float64[m]).

    In almost all games these are all equilibria. A degenerate game, in which a policy has more best replies than it has
    actions, can have infinitely many. Then these are the corners of the set of all equilibria. Pure equilibria come
    first. Actions that are not played have probability 0 exactly. Payoffs that differ by less than 1e-9 of a player's
    range of payoffs count as equal.

    Raises ValueError for a game that is larger than about 8 x 8 actions.
    """
    n, m = game.num_actions
    if math.comb(n + m, n) > MAX_CORNERS:
        raise ValueError(
            f"nash enumerates the corners of games of up to about 8 x 8 actions, not {n} x {m}; "
            "remove dominated actions first, or use a solver such as Gambit"
        )
    # From 1 to 2, with the same equilibria, as nashpy needs positive payoffs.
    positive = [1 + (own - own.min()) / (np.ptp(own) or 1.0) for own in game.payoffs]
    # It also needs two actions of each player: a single one gets another beside it, which pays less.
    padded = [np.pad(own, ((0, n == 1), (0, m == 1)), "edge") for own in positive]
    padded[0][n:], padded[1][:, m:] = 0.5, 0.5
    found: list[Point] = []
    for point in nashpy.Game(*padded).vertex_enumeration():
        x, y = (np.where(policy < TOLERANCE, 0, policy)[:size] for policy, size in zip(point, (n, m), strict=True))
        if all(max(np.abs(x - other[0]).max(), np.abs(y - other[1]).max()) > TOLERANCE for other in found):
            found.append((x, y))
    return sorted(found, key=_support_order)


def _support_order(point: Point) -> tuple[int, list[list[int]], list[list[float]]]:
    """Returns the sort key of an equilibrium: the number of actions played, the actions, and their probabilities."""
    supports = [np.flatnonzero(policy).tolist() for policy in point]
    return sum(map(len, supports)), supports, [policy.tolist() for policy in point]


def pareto(game: MatrixGame) -> list[Point]:
    """Returns the pure Pareto optima in the form of `nash`: pairs of policies, each with one action of probability 1.

    A pair of actions is a Pareto optimum unless another pair pays both players at least as much, and one of them more.
    """
    n, m = game.num_actions
    found: list[Point] = []
    for i, j in np.ndindex(n, m):
        gain = game.payoffs - game.payoffs[:, i, j][:, None, None]
        if not ((gain >= 0).all(0) & (gain > 0).any(0)).any():
            found.append((np.eye(n)[i], np.eye(m)[j]))
    return found


# -- logit equilibria ----------------------------------------------------------------------------------------------


def logit_equilibrium(game: MatrixGame, tau: float) -> Point:
    """Returns the logit equilibrium at temperature `tau`, as policies (float64[n], float64[m]).

    Both policies are softmax replies to each other: x ~ exp(A y / tau) and y ~ exp(B^T x / tau). At a small `tau`
    there can be several such points. This one lies on the branch that starts at the uniform policies, at infinite
    temperature. The branch is followed down to `tau`, also around folds; its first point at `tau` is returned. In
    almost all games the branch leads to one Nash equilibrium as `tau` goes to 0. Where a symmetric branch divides, as
    in `battle_of_sexes`, the symmetric part is followed.

    `tau` is a positive number in the unit of the payoffs.

    Raises:
      ParameterError: `tau` is not a number above 0.
      ArithmeticError: the branch could not be followed to `tau`; a larger one can be reached.
    """
    check_number("tau", tau)
    scale = max(np.ptp(game.payoffs[0]), np.ptp(game.payoffs[1])) or 1.0
    row, column = (game.own_payoffs(player) / scale for player in (0, 1))
    n, m = row.shape
    payoffs = np.block([[np.zeros((n, n)), row], [column, np.zeros((m, m))]])  # against both policies
    player = np.repeat([0, 1], [n, m])
    branch = _LogitBranch(payoffs, player[:, None] == player)
    x, y = np.split(branch.policies(branch.follow(float(scale / tau))), [n])
    return x, y


class _LogitBranch(NamedTuple):
    """The curve of points (logits, precision) with logits = precision * advantages, from precision 0 on.

    The precision is 1 / temperature. The logits are those of the row player's n and the column player's m actions; the
    policies are their softmax. The advantage of an action is its payoff against the other's policy, less the payoff of
    the own policy. So the logits of actions that are played stay small, and are precise, at low temperatures too.
    """

    payoffs: np.ndarray  # float64[n + m, n + m], of each action against the actions of the other
    own: np.ndarray  # bool[n + m, n + m], whether two actions are of one player

    def policies(self, logits: np.ndarray) -> np.ndarray:
        """Returns both policies as one array, float64[n + m]."""
        weights = np.exp(logits - np.where(self.own, logits, -np.inf).max(1))
        return weights / (self.own @ weights)

    def equations(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns float64[n + m], which is 0 on the curve, and its derivatives float64[n + m, n + m + 1]."""
        logits, precision = point[:-1], point[-1]
        policies = self.policies(logits)
        payoffs = self.payoffs @ policies
        advantages = payoffs - self.own @ (policies * payoffs)
        by_policies = self.payoffs - self.own @ (np.diag(payoffs) + policies[:, None] * self.payoffs)
        by_logits = by_policies @ (np.diag(policies) - self.own * np.outer(policies, policies))
        jacobian = np.hstack([np.eye(len(logits)) - precision * by_logits, -advantages[:, None]])
        return logits - precision * advantages, jacobian

    def follow(self, precision: float) -> np.ndarray:
        """Returns the logits float64[n + m] of the first point of the curve with this precision.

        Raises ArithmeticError if it is not reached in MAX_STEPS steps along the curve, or if they become too small.
        """
        size = len(self.own)
        to_precision = before = np.eye(size + 1)[-1]
        curve = RK45(
            lambda _, point: self.tangent(point, before),
            0,
            np.zeros(size + 1),
            math.inf,
            rtol=STEP_TOLERANCE,
            atol=STEP_TOLERANCE,
        )
        for _ in range(MAX_STEPS):
            if curve.step() or curve.y[-1] >= precision:
                break
            before = self.tangent(curve.y, before)
        if curve.y[-1] < precision:
            temperature = 1 / curve.y[-1] if curve.y[-1] > 0 else math.inf
            raise ArithmeticError(
                f"the branch of logit equilibria was lost at {temperature:.3g} of the range of payoffs; "
                "take a larger tau"
            )
        on_the_way = curve.dense_output()
        length: Any = brentq(lambda length: on_the_way(length)[-1] - precision, curve.t_old, curve.t)
        point = on_the_way(length)
        for _ in range(CORRECTIONS):
            residual, jacobian = self.equations(point)
            # `lstsq`: where branches meet, the equations are singular, and the smallest change is the right one.
            system, wrong = np.vstack([jacobian, to_precision]), np.append(residual, point[-1] - precision)
            point = point - np.linalg.lstsq(system, wrong)[0]
        return point[:-1]

    def tangent(self, point: np.ndarray, before: np.ndarray) -> np.ndarray:
        """Returns the unit tangent of the curve, in the direction that goes on from the tangent before."""
        _, singular, vectors = np.linalg.svd(self.equations(point)[1])
        directions = vectors[np.sum(singular > TOLERANCE) :]  # one, or more where branches meet
        tangent = directions.T @ (directions @ before)
        return tangent / np.linalg.norm(tangent)
