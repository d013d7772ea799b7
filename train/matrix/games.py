"""Matrix games of two players: payoffs, Nash equilibria, Pareto optima and logit equilibria.

    game = matrix_game("battle_of_sexes")
    for row_policy, column_policy in nash(game):
        print(row_policy, column_policy)

A matrix game is not an `Env`. Both players choose at once and the game is over, so it has no seat to move, no position
and no legal actions. A policy is a vector of probabilities, one per action of a player. A point is a pair of policies,
the row player's and the column player's.

Equilibria are computed on the host in float64.

Sources: Shoham and Leyton-Brown, Multiagent Systems, 2008, sections 3.3 and 4.2; McKelvey and Palfrey, Quantal Response
Equilibria for Normal Form Games, 1995; Turocy, A dynamic homotopy interpretation of the logistic quantal response
equilibrium correspondence, 2005.
"""

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxgames._checks import ParameterError, ParameterTypeError, check_number, check_text

Point = tuple[np.ndarray, np.ndarray]  # float64[n] and float64[m], the policies of both players

TOLERANCE = 1e-9  # of equilibria: smaller differences, relative to the range of payoffs, count as ties
MAX_SYSTEMS = 1_000_000  # of linear equations that `nash` solves for a player

LOGIT_ERROR = 1e-8  # the largest difference between a policy of `logit_equilibrium` and the softmax reply
FIRST_STEP = 0.1  # along the branch of logit equilibria, in logits and in the range of payoffs divided by temperature
MIN_STEP = 1e-10
MAX_STEPS = 10_000
MAX_GROWTH = 0.25  # of a step, as a part of the distance that was gone
MAX_DEVIATION = 0.1  # of a point of the branch from the tangent, as a part of the step
MIN_COSINE = 0.98  # of the angle by which the branch turns within a step
MAX_CORRECTIONS = 8
NEWTON_TOLERANCE = 1e-13


@dataclass(frozen=True, eq=False)
class MatrixGame:
    """The payoffs of a game in which a row player and a column player choose one action each, at the same time.

    Two games are equal if all their fields are; a game is hashable. Construct one for a game of your own:

        MatrixGame("matching_pennies", np.array([[[1, -1], [-1, 1]], [[-1, 1], [1, -1]]]))

    Raises ParameterError unless the payoffs are finite numbers [2, n, m] and the names of actions fit them.
    """

    name: str
    payoffs: np.ndarray  # float64[2, n, m]: the row player's and the column player's, by row action and column action
    actions: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())  # names of the n and m actions; if empty, "0", "1", ...

    def __post_init__(self) -> None:
        check_text(self.name)
        expected = "payoffs must be finite numbers of shape [2, n, m], one matrix for each player"
        try:
            payoffs = np.array(self.payoffs, np.float64) + 0.0  # a copy, in which -0.0 has become 0.0
        except (TypeError, ValueError):
            raise ParameterError(f"{expected}, not {self.payoffs!r}") from None
        if payoffs.ndim != 3 or payoffs.shape[0] != 2 or 0 in payoffs.shape:
            raise ParameterError(f"{expected}, not of shape {[*payoffs.shape]}")
        if not np.isfinite(payoffs).all():
            raise ParameterError(f"{expected}, not {payoffs.tolist()}")
        payoffs.flags.writeable = False
        object.__setattr__(self, "payoffs", payoffs)
        numbers = tuple(tuple(map(str, range(count))) for count in self.num_actions)
        expected = f"actions must be {self.num_actions[0]} names of the row player's actions and {self.num_actions[1]} "
        expected += f"of the column player's, not {self.actions!r}"
        actions: Any = self.actions  # callers need not be typed
        if not all(isinstance(given, tuple | list) for given in actions):
            raise ParameterTypeError(expected)
        names: tuple[tuple[Any, ...], ...] = tuple(
            tuple(given) or default for given, default in itertools.zip_longest(actions, numbers, fillvalue=())
        )
        if tuple(map(len, names)) != self.num_actions:
            raise ParameterError(expected)
        if not all(isinstance(name, str) for name in itertools.chain(*names)):
            raise ParameterTypeError(expected)
        object.__setattr__(self, "actions", names)

    @property
    def num_actions(self) -> tuple[int, int]:
        """The numbers of actions, n of the row player and m of the column player."""
        return self.payoffs.shape[1], self.payoffs.shape[2]

    def own_payoffs(self, player: int) -> np.ndarray:
        """Returns float64[own actions, other's actions], the payoffs of player 0 (row) or 1 (column)."""
        return self.payoffs[1].T if player else self.payoffs[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MatrixGame) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return self.name, self.actions, self.payoffs.shape, self.payoffs.tobytes()


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


def list_matrix_games() -> list[str]:
    """Returns the names that `matrix_game` takes, in alphabetical order."""
    return sorted(GAMES)


def matrix_game(name: str) -> MatrixGame:
    """Returns the game with this name.

        prisoners_dilemma  actions C (cooperate) and D (defect)
        biased_rps         rock R, paper P and scissors S with unequal payoffs; zero-sum
        subsidy            S1 pays 12 to both if both choose it; S2 pays 11 or 10, whatever the other does
        subsidy_printed    the table of El Kaddouri, Rys and Gao 2024: it pays to choose different actions
        battle_of_sexes    opera O and movie M: both want to meet, each prefers another place

    Raises ParameterError for another name.
    """
    if not isinstance(name, str) or name not in GAMES:  # pyright: ignore[reportUnnecessaryIsInstance]  # a list has no hash
        raise ParameterError(f"unknown matrix game {name!r}; the matrix games are {', '.join(list_matrix_games())}")
    payoffs, actions = GAMES[name]
    return MatrixGame(name, np.stack(payoffs), (actions, actions))


def check_game(game: object) -> None:
    """Raises ParameterTypeError unless `game` is a MatrixGame."""
    if not isinstance(game, MatrixGame):
        raise ParameterTypeError(f"expected a MatrixGame, such as matrix_game('subsidy'), not {game!r}")


# -- equilibria ----------------------------------------------------------------------------------------------------


def nash(game: MatrixGame) -> list[Point]:
    """Returns the Nash equilibria as pairs of policies, (float64[n], float64[m]).

    In almost all games these are all equilibria. A degenerate game, in which a policy has more best replies than it has
    actions, can have infinitely many. Then these are the extreme ones, the corners of the set of all equilibria. Every
    other equilibrium is a mixture of extreme ones whose policies can be exchanged.

    The order is by the number of actions that both play together, so pure equilibria come first. Equal ones are ordered
    by the row player's actions, then by the column player's. Actions that are not played have probability 0 exactly.

    The method enumerates supports, the sets of actions that are played. For each support, and each set of as many
    replies, linear equations make these replies equally good. Payoffs that differ by less than 1e-9 of a player's
    range of payoffs count as equal.

    Raises ValueError for a game with more than a million pairs of such sets, such as 12 x 12 actions.
    """
    check_game(game)
    n, m = game.num_actions
    if math.comb(n + m, n) > MAX_SYSTEMS:
        raise ValueError(
            f"nash enumerates the supports of games of up to about 11 x 11 actions, not {n} x {m}; "
            "remove dominated actions first, or use a solver such as Gambit"
        )
    row, column = (_to_unit_range(game.own_payoffs(player)) for player in (0, 1))
    xs, ys = _corner_policies(column), _corner_policies(row)
    row_loses = (xs > 0) @ ~_best_replies(row, ys).T  # bool[len(xs), len(ys)], whether another reply pays more
    column_loses = (ys > 0) @ ~_best_replies(column, xs).T
    found = [(xs[i], ys[j]) for i, j in np.argwhere(~row_loses & ~column_loses.T)]
    return sorted(found, key=_support_order)


def pareto(game: MatrixGame) -> list[Point]:
    """Returns the pure Pareto optima in the form of `nash`: pairs of policies, each with one action of probability 1.

    A pair of actions is a Pareto optimum unless another pair pays both players at least as much, and one of them more.
    Mixed policies are not compared. The order is by the row player's action, then by the column player's.
    """
    check_game(game)
    n, m = game.num_actions
    found: list[Point] = []
    for i, j in np.ndindex(n, m):
        gain = game.payoffs - game.payoffs[:, i, j][:, None, None]
        if not ((gain >= 0).all(0) & (gain > 0).any(0)).any():
            found.append((np.eye(n)[i], np.eye(m)[j]))
    return found


def _to_unit_range(payoffs: np.ndarray) -> np.ndarray:
    """Returns payoffs moved and scaled to 0 .. 1, which leaves the equilibria unchanged."""
    return (payoffs - payoffs.min()) / (np.ptp(payoffs) or 1.0)


def _best_replies(payoffs: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Returns bool[policies, own actions], the best replies to policies float64[policies, other's actions]."""
    values = others @ payoffs.T
    return values >= values.max(1, keepdims=True) - TOLERANCE


def _corner_policies(payoffs: np.ndarray) -> np.ndarray:
    """Returns float64[policies, own actions], those at corners: no other has the same actions and best replies.

    The payoffs are those of the other player, float64[other's actions, own actions], from 0 to 1.
    """
    replies, actions = payoffs.shape
    found: list[np.ndarray] = []
    for size in range(1, min(actions, replies) + 1):
        sets_of_replies = np.array([*itertools.combinations(range(replies), size)])
        for support in itertools.combinations(range(actions), size):
            # The unknowns are the probabilities of the support, and the payoff of the replies.
            equations = np.zeros((len(sets_of_replies), size + 1, size + 1))
            equations[:, :size, :size] = payoffs[sets_of_replies][:, :, support]
            equations[:, :size, size] = -1
            equations[:, size, :size] = 1
            regular = np.linalg.svd(equations, compute_uv=False)[:, -1] > TOLERANCE
            solved = np.linalg.solve(equations[regular], np.eye(size + 1)[:, size:])[:, :size, 0]
            policies = np.zeros((len(solved), actions))
            policies[:, support] = solved
            are_best = np.take_along_axis(_best_replies(payoffs, policies), sets_of_replies[regular], 1).all(1)
            found.extend(_without_repetitions(policies[are_best & (solved > TOLERANCE).all(1)]))
    return np.stack(found)


def _without_repetitions(policies: np.ndarray) -> list[np.ndarray]:
    """Returns the policies, and those that differ by rounding errors once."""
    kept: list[np.ndarray] = []
    for policy in policies:
        if all(np.abs(policy - other).max() > TOLERANCE for other in kept):
            kept.append(policy)
    return kept


def _support_order(point: Point) -> tuple[int, list[list[int]], list[list[float]]]:
    """Returns the sort key of an equilibrium: the number of actions played, the actions, and their probabilities."""
    supports = [np.flatnonzero(policy).tolist() for policy in point]
    return sum(map(len, supports)), supports, [policy.tolist() for policy in point]


# -- logit equilibria ----------------------------------------------------------------------------------------------


def logit_equilibrium(game: MatrixGame, tau: float) -> Point:
    """Returns the logit equilibrium at temperature `tau`, as policies (float64[n], float64[m]).

    Both policies are softmax replies to each other: x ~ exp(A y / tau) and y ~ exp(B^T x / tau). At a small `tau`
    there can be several such points. This one lies on the branch that starts at the uniform policies, at infinite
    temperature. The branch is followed in small steps down to `tau`, also around folds; the first point of the branch
    at `tau` is returned. In almost all games the branch leads to one Nash equilibrium as `tau` goes to 0. Where a
    symmetric branch divides, as in `battle_of_sexes`, the symmetric part is followed.

    `tau` is a positive number in the unit of the payoffs.

    Raises:
      ParameterError: `tau` is not a number above 0.
      ArithmeticError: the branch could not be followed to `tau`; a larger one can be reached.
    """
    check_game(game)
    check_number("tau", tau)
    scale = max(np.ptp(game.payoffs[0]), np.ptp(game.payoffs[1])) or 1.0
    branch = _LogitBranch(*(game.own_payoffs(player) / scale for player in (0, 1)))
    precision = float(scale / tau)
    logits = branch.follow(precision)
    point, replies = branch.policies(logits), branch.policies(precision * branch.advantages(logits))
    error = max(np.abs(policy - reply).max() for policy, reply in zip(point, replies, strict=True))
    if not error <= LOGIT_ERROR:
        raise ArithmeticError(
            f"no logit equilibrium of {game.name} was found at tau = {tau}: the error is {error:.0e}; take a larger tau"
        )
    return point


class _LogitBranch:
    """The curve of points (logits, precision) with logits = precision * advantages, from precision 0 on.

    The precision is 1 / temperature. The logits are those of the row player's n and the column player's m actions; the
    policies are their softmax. The advantage of an action is its payoff against the other's policy, less the payoff of
    the own policy. So the logits of actions that are played stay small, and are precise, at low temperatures too.
    """

    def __init__(self, row: np.ndarray, column: np.ndarray) -> None:
        self.row, self.column = row, column  # float64[n, m] and float64[m, n], the payoffs of each player
        self.size = sum(row.shape)

    def policies(self, logits: np.ndarray) -> Point:
        """Returns both policies."""
        x, y = (np.exp(part - part.max()) for part in np.split(logits, [len(self.row)]))
        return x / x.sum(), y / y.sum()

    def advantages(self, logits: np.ndarray) -> np.ndarray:
        """Returns float64[n + m]."""
        x, y = self.policies(logits)
        row, column = self.row @ y, self.column @ x
        return np.concatenate([row - x @ row, column - y @ column])

    def residual(self, point: np.ndarray) -> np.ndarray:
        """Returns float64[n + m], which is 0 on the curve."""
        return point[:-1] - point[-1] * self.advantages(point[:-1])

    def jacobian(self, point: np.ndarray) -> np.ndarray:
        """Returns float64[n + m, n + m + 1], the derivatives of the residual."""
        x, y = self.policies(point[:-1])
        n = len(x)
        by_x, by_y = np.diag(x) - np.outer(x, x), np.diag(y) - np.outer(y, y)  # derivatives of the policies by logits
        slopes = np.zeros((self.size, self.size))
        slopes[:n, :n] = -(self.row @ y) @ by_x
        slopes[:n, n:] = (self.row - x @ self.row) @ by_y
        slopes[n:, n:] = -(self.column @ x) @ by_y
        slopes[n:, :n] = (self.column - y @ self.column) @ by_x
        by_logits = np.eye(self.size) - point[-1] * slopes
        return np.hstack([by_logits, -self.advantages(point[:-1])[:, None]])

    def follow(self, precision: float) -> np.ndarray:
        """Returns the logits float64[n + m] of the first point of the curve with this precision.

        Each step goes along the tangent and then back to the curve, in the plane through its end. A step is
        halved if the curve has turned too far behind it, and doubled if not.

        Raises ArithmeticError if a step becomes too small, or there are too many.
        """
        point, step = np.zeros(self.size + 1), FIRST_STEP
        tangent = self._tangent(point, np.eye(self.size + 1)[-1])
        for _ in range(MAX_STEPS):
            ahead = (precision - point[-1]) / tangent[-1] if tangent[-1] > 0 else math.inf
            last = ahead <= step  # this step ends at the precision asked for, in the plane of the points that have it
            step = min(step, ahead)
            normal = np.eye(self.size + 1)[-1] if last else tangent
            found = self._corrected(point + step * tangent, normal, step)
            turned = tangent if found is None else self._tangent(found, tangent)
            if found is None or turned @ tangent < MIN_COSINE or (found[-1] > precision and not last):
                step /= 2
                if step < MIN_STEP:
                    break
            elif last:
                return found[:-1]
            else:
                point, tangent = found, turned
                step = min(step * 2, MAX_GROWTH * (1 + point[-1]))
        temperature = 1 / point[-1] if point[-1] > 0 else math.inf
        raise ArithmeticError(
            f"the branch of logit equilibria was lost at {temperature:.3g} of the range of payoffs; take a larger tau"
        )

    def _tangent(self, point: np.ndarray, before: np.ndarray) -> np.ndarray:
        """Returns the unit tangent of the curve, in the direction that goes on from the tangent before."""
        _, singular, vectors = np.linalg.svd(self.jacobian(point))
        directions = vectors[np.sum(singular > TOLERANCE) :]  # one, or more where branches meet
        tangent = directions.T @ (directions @ before)
        return tangent / np.linalg.norm(tangent)

    def _corrected(self, start: np.ndarray, normal: np.ndarray, step: float) -> np.ndarray | None:
        """Returns the point of the curve that Newton's method finds in the plane through `start`.

        Returns None if it does not converge, or leads away from `start` by more than a part of the step.
        """
        point = start
        for _ in range(MAX_CORRECTIONS):
            system = np.vstack([self.jacobian(point), normal])
            # `lstsq`: where branches meet, the equations are singular, and the smallest change is the right one.
            change = np.linalg.lstsq(system, np.append(self.residual(point), normal @ (point - start)))[0]
            point = point - change
            if np.abs(point - start).max() > MAX_DEVIATION * step:
                return None
            if np.abs(change).max() <= NEWTON_TOLERANCE * max(1.0, np.abs(point).max()):
                return point
        return None
