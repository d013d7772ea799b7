"""Elo ratings: known numbers, ratings recovered from simulated games, intervals that cover, ends without a bound."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from jaxgames import arena

Floats = NDArray[np.float64]


def expected_score(ratings: Floats) -> Floats:
    """float64[agents, agents], the expected score of agent i against agent j."""
    return 1 / (1 + 10 ** ((ratings[None, :] - ratings[:, None]) / 400))


def simulated(ratings: Floats, games: int, generator: np.random.Generator, draw_share: float = 0.0) -> Any:
    """Wins and draws of `games` games of every pair, whose expected scores are those of the ratings."""
    num_agents = len(ratings)
    score = expected_score(ratings)
    wins, draws = np.zeros((num_agents, num_agents)), np.zeros((num_agents, num_agents))
    for i in range(num_agents):
        for j in range(i):
            drawn = draw_share * 2 * min(score[i, j], score[j, i])
            found = generator.multinomial(games, [score[i, j] - drawn / 2, drawn, score[j, i] - drawn / 2])
            wins[i, j], draws[i, j], wins[j, i] = found
            draws[j, i] = draws[i, j]
    return wins, draws


def by_minorisation(wins: Floats, draws: Floats) -> Floats:
    """The slow reference: the iteration of Hunter (2004, "MM algorithms for generalized Bradley-Terry models")."""
    scores = wins + draws / 2 + (1 - np.eye(len(wins))) / 2  # a virtual draw of every pair
    games = scores + scores.T
    strength = np.ones(len(wins))
    for _ in range(5000):
        strength = scores.sum(1) / (games / (strength[:, None] + strength[None, :])).sum(1)
        strength /= strength[0]
    return 400 * np.log10(strength)


# -- ratings -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("won", "drawn", "lost"), [(7, 0, 3), (2, 5, 9), (0, 8, 0), (400, 0, 0), (0, 1, 10_000_000)])
def test_rating_of_two_agents_is_the_closed_form(won: int, drawn: int, lost: int) -> None:
    """The log odds of the score, to which each agent adds half a point."""
    expected = 400 * np.log10((won + drawn / 2 + 0.5) / (lost + drawn / 2 + 0.5))
    ratings = arena.elo([[0, lost], [won, 0]], [[0, drawn], [drawn, 0]])
    np.testing.assert_allclose(ratings, [0, expected], atol=1e-6)


def test_ratings_agree_with_hunters_slow_iteration() -> None:
    wins, draws = simulated(np.array([0, 250, -300, 40.0, 800]), 60, np.random.default_rng(0), draw_share=0.4)
    np.testing.assert_allclose(arena.elo(wins, draws), by_minorisation(wins, draws), atol=1e-6)


def test_another_anchor_shifts_all_ratings_alike_and_another_order_permutes_them() -> None:
    wins, draws = simulated(np.array([0, 90, 200.0]), 50, np.random.default_rng(2), draw_share=0.5)
    ratings = arena.elo(wins, draws)
    np.testing.assert_allclose(arena.elo(wins, draws, anchor=2), ratings - ratings[2], atol=1e-6)
    order = np.array([2, 0, 1])
    np.testing.assert_allclose(
        arena.elo(wins[order][:, order], draws[order][:, order], anchor=1), ratings[order], atol=1e-6
    )


# -- intervals -----------------------------------------------------------------------------------------------------


def test_intervals_cover_the_true_ratings_in_95_of_100_ladders() -> None:
    generator = np.random.default_rng(3)
    ratings = np.array([0, 100, 150.0])
    covered: list[Any] = []
    for seed in range(300):
        wins, draws = simulated(ratings, 100, generator, draw_share=0.3)
        low, high = arena.elo_interval(wins, draws, num_resamples=200, seed=seed).T
        covered.append((low <= ratings) & (ratings <= high))
    share = np.mean(covered, axis=0)
    assert share[0] == 1  # the anchor has rating 0 in every resample
    assert (abs(share[1:] - 0.95) < 0.035).all()


def test_agent_that_wins_all_games_has_a_finite_rating_and_no_upper_bound() -> None:
    wins = [[0, 0, 0], [20, 0, 3], [20, 17, 0]]  # agent 0 loses everything, so nothing bounds its distance
    ratings, interval = arena.elo(wins), arena.elo_interval(wins)
    assert np.isfinite(ratings).all()
    assert ratings[0] == 0 < ratings[1] < ratings[2]
    assert interval[0].tolist() == [0, 0]
    assert interval[1:, 1].tolist() == [np.inf, np.inf]
    assert (interval[1:, 0] > 100).all()  # 20 of 20 games are a lower bound
    of_others = arena.elo_interval(wins, anchor=1)
    assert of_others[0, 0] == -np.inf  # agent 0 below agent 1
    assert np.isfinite(of_others[0, 1])
    assert np.isfinite(of_others[2]).all()


def test_one_draw_bounds_a_rating() -> None:
    wins, draws = [[0, 0], [20, 0]], [[0, 1], [1, 0]]
    assert np.isfinite(arena.elo_interval(wins, draws)).all()


def test_same_seed_gives_the_same_interval() -> None:
    first, again, other = (arena.elo_interval([[0, 400], [600, 0]], seed=seed).tolist() for seed in (1, 1, 2))
    assert first == again != other
