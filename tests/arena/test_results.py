"""Results of games between agents, against games counted in plain Python; Elo ratings, against known numbers."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

import jaxgames
from jaxgames import arena
from jaxgames.agents import RandomAgent
from jaxgames.arena import Games
from tests.arena.test_playing import KEY, STICKS
from tests.helpers.positions import stacked
from tests.helpers.sticks import ShortSticks

Floats = NDArray[np.float64]

BOXES = jaxgames.make("dots_and_boxes", rows=2, cols=2)  # an even number of boxes: draws are possible


# -- counting: random games played again, one board at a time --------------------------------------------------------


def recorded(env: Any, num_games: int, num_steps: int) -> tuple[Games, np.ndarray]:
    """Games of random agents, and the actions int32[steps, games]."""
    agent_of_seat = jnp.zeros((num_games, env.num_players), jnp.int32)

    def run(key: jax.Array) -> Any:
        return arena.record(env, (RandomAgent(env),), agent_of_seat, arena.start(env, key, num_games), key, num_steps)

    games, _, actions = jax.device_get(jax.jit(run)(KEY))
    return games, actions


def replayed(env: Any, every_action: np.ndarray) -> list[dict[str, Any]]:
    """The same games, counted from their actions alone."""
    init, step, winners = jax.jit(env.init), jax.jit(env.step), jax.jit(env.winners)
    rows: list[dict[str, Any]] = []
    for actions in every_action.T:
        state, movers, returns = init(KEY), list[int](), np.zeros(env.num_players)
        for action in actions:
            if state.terminated | state.truncated:
                break
            movers.append(int(state.current_player))
            state = step(state, action)
            returns += np.asarray(state.rewards)
        begun = [seat for seat, before in zip(movers, [-1, *movers], strict=False) if seat != before]
        rows.append(
            {
                "length": len(movers),
                "turns": [begun.count(seat) for seat in range(env.num_players)],
                "returns": returns,
                "terminated": bool(state.terminated),
                "truncated": bool(state.truncated),
                "winners": np.flatnonzero(winners(state)).tolist(),
            }
        )
    return rows


@pytest.mark.parametrize(("env", "num_steps"), [(ShortSticks(), 7), (BOXES, 12)], ids=["sticks", "dots_and_boxes"])
def test_counts_and_summary_are_those_of_the_games_played_again(env: Any, num_steps: int) -> None:
    """A row of boxes is one turn; a finished board counts and pays nothing more.

    The summary is that of an agent that sits on seat 0, 1, ..., 0, 1, ... of the games.
    """
    games, actions = recorded(env, 40, num_steps)
    rows = replayed(env, actions)
    assert any(row["length"] > sum(row["turns"]) for row in rows) == (env is BOXES)
    assert any(row["terminated"] and not row["winners"] for row in rows) == (env is BOXES)  # drawn
    assert any(row["truncated"] for row in rows) == (env is not BOXES)
    for name in ("length", "turns", "returns"):
        np.testing.assert_allclose(getattr(games, name), [row[name] for row in rows], atol=1e-4)
    seats = np.arange(len(rows)) % env.num_players
    won = [seat in row["winners"] for row, seat in zip(rows, seats, strict=True)]
    assert any(won)
    expected = {
        "win_rate": np.mean(won),
        "draw_rate": np.mean([row["terminated"] and not row["winners"] for row in rows]),
        "truncated_rate": np.mean([row["truncated"] for row in rows]),
        "mean_turns": np.mean([row["turns"][seat] for row, seat, win in zip(rows, seats, won, strict=True) if win]),
        "mean_reward": np.mean([row["returns"][seat] for row, seat in zip(rows, seats, strict=True)]),
    }
    found = arena.summary(env, games, jnp.asarray(np.where(np.arange(env.num_players) == seats[:, None], 0, 1)))
    assert set(found) == set(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-4)


# -- results with intervals ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        *((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)),
        (2.5, 7, 0.1181, 0.6974),  # by hand: z^2 = 3.8415, centre (2.5 + z^2 / 2) / (7 + z^2), half width 0.2897
    ],
)
def test_wilson_intervals_are_those_of_newcombe(successes: float, trials: int, low: float, high: float) -> None:
    """Newcombe (1998), Statistics in Medicine 17, pages 857-872, table I, method 3."""
    found = arena.wilson(successes, trials)
    assert [round(end, 4) for end in found] == [low, high]


def test_wilson_interval_ends_exactly_at_0_and_1() -> None:
    assert (arena.wilson(7, 7)[1], arena.wilson(0, 7)[0], arena.wilson(0, 0)) == (1, 0, (0, 1))


def test_results_are_the_summary_with_counts_and_intervals() -> None:
    """Seat 0 wins, a draw, a game cut off, seat 1 wins, a forfeit. The returns do not tell the winners.

    Agent 0 wins the first game with one of its two seats.
    """
    drawn, cut_off = (
        dataclasses.replace(STICKS.at(3, 0), terminated=jnp.bool_(over), truncated=jnp.bool_(not over))
        for over in (True, False)
    )
    boards = stacked([STICKS.at(0, 1), drawn, cut_off, STICKS.at(0, 2), drawn])
    returns = np.array([[5, 1, 0], [2, 2, 2], [5, 1, 0], [9, 0, 0], [-1, 0.5, 0.5]], np.float32)
    turns, nobody = np.arange(1, 16).reshape(5, 3), np.zeros(5, np.int32)
    games = Games(boards, *map(jnp.asarray, (returns, turns, np.full(5, 9), nobody, np.arange(5) == 4)))
    agent_of_seat = jnp.array([[0, 1, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 1, 1]])
    found = arena.results(STICKS, games, agent_of_seat, lists=True)
    assert found == {
        "games": 5,
        "wins": 1,
        "win_rate": 1 / 5,
        "win_rate_interval": arena.wilson(1, 5),
        "draws": 1,
        "draw_rate": 1 / 5,
        "draw_rate_interval": arena.wilson(1, 5),
        "truncated": 1,
        "truncated_rate": 1 / 5,
        "truncated_rate_interval": arena.wilson(1, 5),
        "mean_turns": 1,
        "mean_reward": pytest.approx((5 + 0 + 2 + 1 + 0 - 1) / 6),
        "mean_length": 9,
        "by_seat": [
            {"seat": 0, "games": 3, "wins": 1, "win_rate": 1 / 3, "win_rate_interval": arena.wilson(1, 3)},
            {"seat": 1, "games": 1, "wins": 0, "win_rate": 0, "win_rate_interval": arena.wilson(0, 1)},
            {"seat": 2, "games": 2, "wins": 0, "win_rate": 0, "win_rate_interval": arena.wilson(0, 2)},
        ],
        "turns_to_win": [1],
        "lengths": [9] * 5,
    }
    means = arena.summary(STICKS, games, agent_of_seat)
    for name, value in means.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-6)


# -- Elo ratings -----------------------------------------------------------------------------------------------------


def simulated(ratings: Floats, games: int, generator: np.random.Generator, draw_share: float = 0.0) -> Any:
    """Wins and draws of `games` games of every pair, whose expected scores are those of the ratings."""
    num_agents = len(ratings)
    score = 1 / (1 + 10 ** ((ratings[None, :] - ratings[:, None]) / 400))  # that is expected of i against j
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


@pytest.mark.parametrize(("won", "drawn", "lost"), [(7, 0, 3), (2, 5, 9), (0, 8, 0), (400, 0, 0), (0, 1, 10_000_000)])
def test_rating_of_two_agents_is_the_closed_form(won: int, drawn: int, lost: int) -> None:
    """The log odds of the score, to which each agent adds half a point."""
    expected = 400 * np.log10((won + drawn / 2 + 0.5) / (lost + drawn / 2 + 0.5))
    ratings = arena.elo([[0, lost], [won, 0]], [[0, drawn], [drawn, 0]])
    np.testing.assert_allclose(ratings, [0, expected], atol=1e-6)


@pytest.mark.parametrize("anchor", [0, 2])
def test_ratings_agree_with_hunters_slow_iteration(anchor: int) -> None:
    wins, draws = simulated(np.array([0, 250, -300, 40.0, 800]), 60, np.random.default_rng(0), draw_share=0.4)
    expected = by_minorisation(wins, draws)
    np.testing.assert_allclose(arena.elo(wins, draws, anchor=anchor), expected - expected[anchor], atol=1e-6)


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


def test_one_draw_bounds_a_rating_and_the_same_seed_gives_the_same_interval() -> None:
    assert np.isfinite(arena.elo_interval([[0, 0], [20, 0]], [[0, 1], [1, 0]])).all()
    first, again, other = (arena.elo_interval([[0, 400], [600, 0]], seed=seed).tolist() for seed in (1, 1, 2))
    assert first == again != other
