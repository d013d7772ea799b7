"""Learning dynamics in matrix games: replicator, Boltzmann and lenient, with their fields, trajectories and basins.

A player has the policy x, and its actions have the payoffs u against the opponent's policy y:

    replicator:  dx_i/dt = x_i (u_i - x.u)                                         tau = 0
    Boltzmann:   dx_i/dt = x_i (u_i - x.u) / tau - x_i (log x_i - x.log x)         tau > 0

These are equations 5 and 10 of Bloembergen et al. (2015, "Evolutionary Dynamics of Multi-Agent Learning: A Survey").
The second one describes Q-learning with Boltzmann exploration, with time in units of 1 / learning rate. A plain learner
has u = A y. A lenient learner keeps the largest of kappa rewards. So its u_i is the expected maximum of kappa draws
(Panait, Tuyls and Luke 2008, "Theoretical Advantages of Lenient Learners"):

    u_i = sum_j A_ij y_j [ P(A_ik <= A_ij)^kappa - P(A_ik < A_ij)^kappa ] / P(A_ik = A_ij)        with k drawn from y

Trajectories are integrated in logits l, with x = softmax(l). There the equations are short and have no boundary:

    replicator:  dl_i/dt = u_i                   Boltzmann:  dl_i/dt = u_i / tau - l_i

The integrator is the Dormand-Prince pair of orders 5 and 4 of `jax.experimental.ode`, in float64. `vmap` gives each
trajectory its own step size.
"""

import functools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax.experimental.ode import odeint
from scipy.optimize import brentq

from jaxgames._checks import ParameterError, check_int, check_number
from train.matrix.games import MatrixGame

Floats = npt.NDArray[np.float64]
Array: TypeAlias = Any  # floats of numpy or of JAX; a function of such arrays returns the same kind

TOLERANCE_OF_BASINS = 1e-7  # of the integrator: a basin needs the corner where a trajectory ends, not the path to it
MAX_GRID = 2000
CORNERS = ((0, 0), (0, 1), (1, 0), (1, 1))  # pure policies of a game with two actions per player, as (x, y)
NO_CORNER = -1  # label of a start whose trajectory ends at no corner
CORNER_WIDTH = 0.05  # a trajectory ends at a corner if x and y are both nearer to it than this


# -- the equations -------------------------------------------------------------------------------------------------


def replicator(policy: Array, payoffs: Array) -> Array:
    """Returns the derivative of a policy under replicator dynamics, float[..., n].

    Args:
      policy: float[..., n].
      payoffs: float[..., n], expected payoff of each action.
    """
    return policy * (payoffs - (policy * payoffs).sum(-1, keepdims=True))


def lenient_payoffs(matrix: Array, opponent: Array, kappa: float | jax.Array) -> Array:
    """Returns the expected maximum of `kappa` payoffs of each action, float[..., n]; the expected payoff for 1.

    Args:
      matrix: float[n, m], payoff of the player's action against each action of the opponent.
      opponent: float[..., m], policy of the opponent.
      kappa: number of payoffs of which a learner keeps the largest, at least 1.
    """
    this, other = matrix[:, :, None], matrix[:, None, :]  # [n, m, 1] and [n, 1, m]
    draws = opponent[..., None, None, :]
    at_most = ((other <= this) * draws).sum(-1)  # [..., n, m], probability of a payoff up to this one
    below = ((other < this) * draws).sum(-1)
    earlier = np.tri(matrix.shape[1], k=-1, dtype=bool)
    counted = ~((other == this) & earlier).any(-1)  # of equal payoffs, one stands for all: no division by their sum
    return (matrix * counted * (at_most**kappa - below**kappa)).sum(-1)


@dataclass(frozen=True)
class Dynamics:
    """The dynamics of both players, a function of a game and of their policies.

    `Dynamics()` is the replicator, `Dynamics(tau=0.1)` is Boltzmann, and `Dynamics(tau=0.1, kappa=5)` is lenient
    Boltzmann. `Dynamics(kappa=5)` is the limit of the last one for small temperatures.
    """

    tau: float = 0.0
    """Temperature, at least 0; 0 is the replicator."""
    kappa: float = 1
    """Leniency, at least 1: the number of rewards of which a learner keeps the largest."""

    def __post_init__(self) -> None:
        check_number("tau", self.tau, lowest=0)
        check_number("kappa", self.kappa, lowest=1)

    def __call__(self, game: MatrixGame, row: Array, column: Array) -> tuple[Array, Array]:
        """Returns the derivatives of both policies, float[..., n] and float[..., m], of policies of these shapes."""
        u = lenient_payoffs(game.own_payoffs(0), column, self.kappa)
        v = lenient_payoffs(game.own_payoffs(1), row, self.kappa)
        if self.tau > 0:  # the exploration term is a replicator term too, with -log x as the payoff of an action
            log = row.__array_namespace__().log
            u, v = u / self.tau - log(row), v / self.tau - log(column)
        return replicator(row, u), replicator(column, v)


# -- fields and trajectories ---------------------------------------------------------------------------------------


class Field(NamedTuple):
    """Derivatives at the centres of grid x grid cells of the policies of a game with two actions per player."""

    x: Floats  # [grid], probabilities of the first action, of either player
    dx: Floats  # [grid, grid], dx/dt of the row player at (x[i], x[j])
    dy: Floats  # [grid, grid], dy/dt of the column player


def field(game: MatrixGame, dynamics: Dynamics, grid: int = 20) -> Field:
    """Returns the direction field of a game with two actions per player, on grid x grid policies.

    Raises ParameterError for a game with more actions, or for a grid that is not from 1 to 2000.
    """
    x, row, column = _grid_of_policies(game, grid)
    d_row, d_column = dynamics(game, row, column)
    return Field(x, d_row[..., 0], d_column[..., 0])


class Trajectory(NamedTuple):
    """The policies of both players over time."""

    times: Floats  # [num_points]
    row: Floats  # [..., num_points, n]
    column: Floats  # [..., num_points, m]


def integrate(
    game: MatrixGame,
    dynamics: Dynamics,
    start: tuple[npt.ArrayLike, npt.ArrayLike],
    duration: float = 20.0,
    num_points: int = 201,
    tolerance: float = 1e-9,
) -> Trajectory:
    """Returns the trajectories from given policies, at equally spaced times from 0 to `duration`.

    Args:
      game: a game with n actions of the row player and m of the column player.
      dynamics: of both players.
      start: policies of both players, float[..., n] and float[..., m], with probabilities above 0.
      duration: the last time, above 0.
      num_points: times of the result, the first and the last one included; at least 2.
      tolerance: of the integrator, relative and absolute, per step.

    Raises ParameterError for a probability that is not above 0, because logits have no 0.
    """
    times = np.linspace(0.0, duration, num_points)
    row, column = (np.asarray(policy, np.float64) for policy in start)
    if not ((row > 0).all() and (column > 0).all()):  # NaN too
        raise ParameterError("start must have probabilities above 0, because logits have no 0")
    gain, decay = (1.0, 0.0) if dynamics.tau == 0 else (1 / dynamics.tau, 1.0)
    with jax.enable_x64(True):
        logits = [jnp.log(policy).reshape(-1, policy.shape[-1]) for policy in (row, column)]
        settings = jnp.array([dynamics.kappa, gain, decay], jnp.float64)
        matrices = [jnp.asarray(game.own_payoffs(player)) for player in (0, 1)]
        found = _integrated(matrices, logits, jnp.asarray(times), settings, tolerance)
        x, y = (np.asarray(policies).reshape(*row.shape[:-1], *policies.shape[1:]) for policies in found)
    return Trajectory(times, x, y)


@functools.partial(jax.jit, static_argnames="tolerance")
def _integrated(
    matrices: list[jax.Array], logits: list[jax.Array], times: jax.Array, settings: jax.Array, tolerance: float
) -> list[jax.Array]:
    """Returns the policies [B, T, n] and [B, T, m] from logits [B, n] and [B, m]; each trajectory has its own steps."""
    kappa, gain, decay = settings

    def derivative(state: list[jax.Array], _: jax.Array) -> list[jax.Array]:
        u = lenient_payoffs(matrices[0], jax.nn.softmax(state[1]), kappa)
        v = lenient_payoffs(matrices[1], jax.nn.softmax(state[0]), kappa)
        return [gain * u - decay * state[0], gain * v - decay * state[1]]

    def policies(start: list[jax.Array]) -> list[jax.Array]:
        found = odeint(derivative, start, times, rtol=tolerance, atol=tolerance)
        return jax.tree.map(jax.nn.softmax, found)

    return jax.vmap(policies)(logits)


# -- basins of attraction --------------------------------------------------------------------------------------------


class Basins(NamedTuple):
    """The ends of the trajectories from grid x grid policies of a game with two actions per player."""

    x: Floats  # [grid], starts of either player: centres of equal cells
    ends: Floats  # [grid, grid, 2], the last (x, y) from the start (x[i], x[j])
    labels: npt.NDArray[np.int8]  # [grid, grid], index in CORNERS of the corner at the end, or NO_CORNER

    def share(self, corner: tuple[int, int]) -> float:
        """Returns the share of the starts that end at a corner (x, y). Raises ValueError if it is not in CORNERS."""
        return float((self.labels == CORNERS.index(corner)).mean())


def basin(game: MatrixGame, kappa: float, tau: float, grid: int = 60) -> float:
    """Returns the share of grid x grid start policies whose trajectories end at (1, 1), with x and y above 0.95.

    Args:
      game: a game with two actions per player.
      kappa: leniency, at least 1.
      tau: temperature, at least 0; 0 is the limit for small temperatures, the replicator.
      grid: start policies per player, from 1 to 2000: the centres of equal cells.

    Raises ParameterError for another game, or for an argument out of range.
    """
    return basins(game, kappa, tau, grid).share((1, 1))


def basins(game: MatrixGame, kappa: float, tau: float, grid: int = 60) -> Basins:
    """Returns the end and its label for each of grid x grid start policies; the arguments are those of `basin`.

    The duration is long for both terms: 2,400 units of 1 / largest difference of payoffs, and 20 of 1 / tau, times tau.
    """
    x, row, column = _grid_of_policies(game, grid)
    spread = float(np.ptp(game.payoffs, axis=(1, 2)).max()) or 1.0
    duration = max(2400 * tau / spread, 20.0) if tau else 2400 / spread
    found = integrate(game, Dynamics(tau, kappa), (row, column), duration, 2, TOLERANCE_OF_BASINS)
    ends = np.stack([found.row[..., -1, 0], found.column[..., -1, 0]], -1)
    labels = np.full((grid, grid), NO_CORNER, np.int8)
    for index, corner in enumerate(CORNERS):
        labels[(np.abs(ends - corner) < CORNER_WIDTH).all(-1)] = index
    return Basins(x, ends, labels)


def inner_rest_point(game: MatrixGame, kappa: float = 1) -> tuple[float, float] | None:
    """Returns (x, y), between 0 and 1, at which both actions of each player pay the same; None if there is none.

    It is the rest point of the lenient replicator inside the square, and the mixed equilibrium for `kappa` 1. In a
    coordination game it is the saddle between the basins. There is at most one: the difference of the payoffs is
    monotonic in the opponent's policy, unless one action dominates the other.

    Raises ParameterError for a game that has not two actions per player, or for a kappa below 1.
    """
    check_number("kappa", kappa, lowest=1)
    _check_two_actions(game)
    x, y = (_indifference(game.own_payoffs(player), kappa) for player in (1, 0))
    return None if x is None or y is None else (x, y)


def critical_temperature(game: MatrixGame, kappa: float = 1) -> float:
    """Returns the temperature above which no logit equilibrium x = y > 1/2 is left, in a symmetric 2 x 2 game.

    At a logit equilibrium, logit(y) = (u_1 - u_2) / tau. So tau = (u_1 - u_2) / logit(y) on the diagonal, and its
    maximum over y > 1/2 is the critical temperature. It is infinite if u_1 > u_2 at y = 1/2, and 0 if u_1 <= u_2
    everywhere above.

    Raises ParameterError for a game that has not two actions, or for a kappa below 1.
    """
    check_number("kappa", kappa, lowest=1)
    _check_two_actions(game)
    own = game.own_payoffs(0)
    if _difference(own, np.float64(0.5), kappa) > 0:
        return math.inf
    logits = np.linspace(0, 40, 40_001)[1:]  # of y
    return max(0.0, float((_difference(own, 1 / (1 + np.exp(-logits)), kappa) / logits).max()))


def _difference(matrix: Floats, opponent: Any, kappa: float) -> Any:
    """Returns u_1 - u_2 for probabilities of the opponent's first action, float64[...]."""
    payoffs = lenient_payoffs(matrix, np.stack([opponent, 1 - opponent], -1), kappa)
    return payoffs[..., 0] - payoffs[..., 1]


def _indifference(matrix: Floats, kappa: float) -> float | None:
    """Returns the probability of the opponent's first action at which u_1 = u_2; None without one."""

    def difference(y: float) -> float:
        return float(_difference(matrix, np.float64(y), kappa))

    if difference(0) * difference(1) >= 0:
        return None
    root: Any = brentq(difference, 0, 1, xtol=1e-15)  # a number, without `full_output`
    return root


def _check_two_actions(game: MatrixGame) -> None:
    if game.num_actions != (2, 2):
        raise ParameterError(f"expected a game with two actions per player; {game.name} has {game.num_actions}")


def _grid_of_policies(game: MatrixGame, grid: int) -> tuple[Floats, Floats, Floats]:
    """Returns the centres of equal cells, [grid], and the policies of both players, [grid, grid, 2] each."""
    _check_two_actions(game)
    check_int("grid", grid, 1, MAX_GRID)
    centres = (np.arange(grid) + 0.5) / grid
    row, column = np.meshgrid(centres, centres, indexing="ij")
    return centres, np.stack([row, 1 - row], -1), np.stack([column, 1 - column], -1)
