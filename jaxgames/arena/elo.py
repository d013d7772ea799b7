"""Elo ratings of agents from the results of their games, with confidence intervals. All of it is numpy on the host.

    wins = [[0, 7], [3, 0]]             # wins[i][j], games that agent i won against agent j
    elo(wins)                           # float64[2], agent 0 has rating 0
    elo_interval(wins)                  # float64[2, 2], the lowest and the highest rating of each agent

The model is that of Bradley and Terry (1952, "Rank analysis of incomplete block designs"). Agent i is expected to score

    1 / (1 + 10 ** ((elo[j] - elo[i]) / 400))

against agent j; a draw is half a win for both. The ratings are those of the largest likelihood. Every pair that has
played gets one virtual draw in addition. So ratings stay finite when an agent wins or loses all its games. For two
agents, the rating is 400 log10((w + 1/2) / (l + 1/2)), the estimate of Haldane (1956) and Anscombe (1956) for w wins
and l losses.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jaxgames._checks import ParameterError, check_int

ELO_PER_LOG_ODDS = 400 / np.log(10)
VIRTUAL_SCORE = 0.5  # what each agent of a pair scores in their virtual draw
MIN_WEIGHT = 1e-6  # of the points of a pair in a resample: smaller ones cost precision
MAX_NEWTON_STEPS = 1000
TOLERANCE = 1e-6  # of the log odds before the last step of Newton's method, which squares the error
MAX_BATCH_ENTRIES = 2**22  # matrix entries of the resamples that are fitted together

Floats = NDArray[np.float64]


def elo(wins: ArrayLike, draws: ArrayLike | None = None, *, anchor: int = 0) -> Floats:
    """Returns the Elo rating of every agent, float64[agents].

    Args:
      wins: [agents, agents], the games that agent i won against agent j.
      draws: [agents, agents], the drawn games of agents i and j, the same in both directions; None for no draws.
      anchor: the agent whose rating is 0.

    Raises ValueError if no chain of games leads from an agent to the anchor.
    """
    won, drawn = _counts(wins, draws, anchor)
    played = won + won.T + drawn > 0
    return _fit(won + drawn / 2 + VIRTUAL_SCORE * played, anchor)


def elo_interval(
    wins: ArrayLike,
    draws: ArrayLike | None = None,
    *,
    anchor: int = 0,
    num_resamples: int = 1000,
    seed: int = 0,
) -> Floats:
    """Returns the 95 % bootstrap interval of every agent's Elo rating, float64[agents, 2].

    It has the 2.5 % and the 97.5 % quantile of the ratings of `elo_resamples`. An end is infinite where the games give
    no bound. The upper end is infinite for an agent from which the anchor has scored nothing, neither directly nor by a
    chain of agents that scored against the next one. The lower end is -inf for an agent that has scored nothing from
    the anchor in this sense.

    The arguments are those of `elo_resamples`.
    """
    ratings = elo_resamples(wins, draws, anchor=anchor, num_resamples=num_resamples, seed=seed)
    interval = np.quantile(ratings, [0.025, 0.975], axis=0).T
    won, drawn = _counts(wins, draws, anchor)
    bounded = _reachable(won + drawn > 0)
    interval[~bounded[:, anchor], 0] = -np.inf
    interval[~bounded[anchor], 1] = np.inf
    return interval


def elo_resamples(
    wins: ArrayLike,
    draws: ArrayLike | None = None,
    *,
    anchor: int = 0,
    num_resamples: int = 1000,
    seed: int = 0,
) -> Floats:
    """Returns the ratings in resamples of the games, float64[num_resamples, agents].

    It is the Bayesian bootstrap (Rubin 1981, "The Bayesian bootstrap"). Each resample gives random weights to the games
    of every pair, and to its virtual draw as half a win of each agent. The weights of a pair add up to the number of
    its games and the virtual draw. For two agents without draws, the shares of the wins have Jeffreys' distribution.

    Args:
      wins: as `elo` takes it, and so are `draws` and `anchor`.
      num_resamples: from 100 to 1,000,000.
      seed: of the resamples.
    """
    won, drawn = _counts(wins, draws, anchor)
    check_int("num_resamples", num_resamples, 100, 1_000_000)
    i, j = np.nonzero(np.triu(won + won.T + drawn))  # the pairs that have played
    shapes = np.stack([won[i, j] + VIRTUAL_SCORE, drawn[i, j], won[j, i] + VIRTUAL_SCORE], axis=-1)
    generator = np.random.default_rng(seed)

    ratings: list[Floats] = []
    batch = max(1, MAX_BATCH_ENTRIES // len(won) ** 2)
    for begin in range(0, num_resamples, batch):
        size = min(batch, num_resamples - begin)
        weights = generator.standard_gamma(shapes, size=(size, *shapes.shape))  # sums of exponential weights
        weights *= shapes.sum(-1, keepdims=True) / weights.sum(-1, keepdims=True)
        scores = np.zeros((size, *won.shape))
        scores[:, i, j] = np.maximum(weights @ np.array([1, 0.5, 0]), MIN_WEIGHT)
        scores[:, j, i] = np.maximum(weights @ np.array([0, 0.5, 1]), MIN_WEIGHT)
        ratings.append(_fit(scores, anchor))
    return np.concatenate(ratings)


def _counts(wins: ArrayLike, draws: ArrayLike | None, anchor: Any) -> tuple[Floats, Floats]:
    """Returns wins and draws as float64[agents, agents]."""
    won = np.asarray(wins, np.float64)
    drawn = np.zeros_like(won) if draws is None else np.asarray(draws, np.float64)
    if won.ndim != 2 or won.shape[0] != won.shape[1] or len(won) < 2:
        raise ParameterError(f"wins must have shape [agents, agents] for two or more agents, not {list(won.shape)}")
    if drawn.shape != won.shape:
        raise ParameterError(f"draws must have the shape of wins, {list(won.shape)}, not {list(drawn.shape)}")
    for name, counts in (("wins", won), ("draws", drawn)):
        if not (np.isfinite(counts).all() and (counts >= 0).all() and (counts == np.floor(counts)).all()):
            raise ParameterError(f"{name} must hold counts of games, which are whole numbers from 0")
        if np.diagonal(counts).any():
            raise ParameterError(f"{name} must be 0 on the diagonal: no agent plays against itself")
    if (drawn != drawn.T).any():
        raise ParameterError("draws[i, j] and draws[j, i] must be equal: they count the same games")
    check_int("anchor", anchor, 0, len(won) - 1)
    apart = np.flatnonzero(~_reachable(won + won.T + drawn > 0)[anchor])
    if apart.size:
        raise ParameterError(
            f"no chain of games leads from agent {anchor}, which has rating 0, to agents "
            f"{', '.join(map(str, apart.tolist()))}: play games between them"
        )
    return won, drawn


def _reachable(edges: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Returns bool[agents, agents], whether edges lead from agent i to agent j in any number of steps, 0 included."""
    reachable = edges | np.eye(len(edges), dtype=np.bool_)
    for _ in range(len(edges).bit_length()):  # each pass doubles the number of steps
        reachable = reachable @ reachable
    return reachable


def _fit(scores: Floats, anchor: int) -> Floats:
    """Returns the ratings for scores (float64[..., agents, agents]) of i against j, float64[..., agents].

    The scores are positive in both directions for pairs that have played, and 0 for others. The negative log likelihood
    is convex. Newton's method with steps of the length log(1 + d) / d converges from any start, where d is the largest
    change of a difference of log odds (Sun and Tran-Dinh 2019, "Generalized self-concordant functions: a recipe for
    Newton-type methods").
    """
    num_agents = scores.shape[-1]
    free = np.arange(num_agents) != anchor
    log_odds = np.zeros(scores.shape[:-1])
    for _ in range(MAX_NEWTON_STEPS):
        expected = 1 / (1 + np.exp(log_odds[..., None, :] - log_odds[..., :, None]))
        points = scores * expected.swapaxes(-1, -2)  # the score that is not expected, without cancellation
        gradient = (points - points.swapaxes(-1, -2)).sum(-1)
        weights = (scores + scores.swapaxes(-1, -2)) * expected * expected.swapaxes(-1, -2)
        hessian = weights.sum(-1)[..., None] * np.eye(num_agents) - weights
        step = np.zeros_like(log_odds)
        step[..., free] = np.linalg.solve(hessian[..., free, :][..., free], gradient[..., free, None])[..., 0]
        change = np.ptp(step, axis=-1, keepdims=True)
        log_odds = log_odds + step * np.log1p(change) / np.maximum(change, np.finfo(np.float64).tiny)
        if change.max() < TOLERANCE:
            return log_odds * ELO_PER_LOG_ODDS
    raise ArithmeticError(f"the ratings did not converge in {MAX_NEWTON_STEPS} steps of Newton's method")
