"""Sharing parameters on the star: figures of curves by hand, other rewards and rules beside the plain game."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from examples.papers.parameter_sharing import blanked_seats, mixed_opponents, traditional
from examples.papers.parameter_sharing.chance_moves import ChanceMoves
from examples.papers.parameter_sharing.running_sums import LOSS
from examples.papers.parameter_sharing.runs import COLUMNS
from examples.papers.parameter_sharing.study import (
    MEASURES,
    MODES,
    PAPER,
    WINDOW,
    measures,
    published,
    reached,
    settings_of,
)
from examples.papers.parameter_sharing.unequal_seats import UnequalSeats
from jaxgames import arena
from jaxgames.games.chinese_checkers import ChineseCheckers
from jaxgames.sampling import random_action
from tests.helpers.positions import board
from train.models.policy import Policy
from train.ppo import Config, config_for

APART = "examples.papers.parameter_sharing.separate_encoders:apart"


def result(*rates: list[float], turns: float = 20.0) -> dict[str, Any]:
    """Curves of twelve evaluations, each after another 4,000 steps, of a run per list of win rates."""
    others = {name: [[turns] * 12 for _ in rates] for name in COLUMNS}
    return others | {"steps": [4000 * (i + 1) for i in range(12)], "win_rate": list(rates)}


def test_measures_of_curves_are_those_by_hand() -> None:
    """The first evaluation that reaches a rate, over seeds; turns of the last ten evaluations that won a game."""
    found = reached(result([0.5, 0.9, 0.8, 0.9, 0.9, 0.9, 0.9, 1.0, 1.0, 1.0, 1.0, 1.0]))
    assert [found[name].value for name in MEASURES] == [8000, 16000, 32000, 20.0]
    curves = result([1.0] * 12, [0.0] + [1.0] * 11, [0.0] * 12)
    assert measures(curves)["steps to 1.0"] == [4000, 8000, float("inf")]
    assert reached(curves)["steps to 1.0"] == (8000, 4000, float("inf"))
    nan = float("nan")
    curves = result([1.0] * 12) | {"mean_turns": [[100.0, 100.0, nan, 10.0, 20.0, nan, *[15.0] * 6]]}
    assert reached(curves)["turns to win"].value == pytest.approx((10 + 20 + 6 * 15) / 8)


def test_figures_of_the_table_are_those_of_the_published_curves() -> None:
    for mode in MODES:
        run = published()[mode]
        first = {rate: float(run.steps[np.argmax(run.win_rate >= rate)]) for rate in (0.9, 1.0)}
        turns = round(float(run.rounds[-WINDOW:].mean()) + 1, 1)
        assert (first[0.9], first[1.0], turns) == (PAPER[mode][0], PAPER[mode][2], PAPER[mode][3])


def config_of(settings: dict[str, tuple[Any, ...]]) -> Config:
    return Config(**{name: value for name, (value,) in settings.items()})


def test_value_loss_of_code_and_paper_is_the_clipped_squared_error_of_the_rewards() -> None:
    sparse = "chinese_checkers(size=3, reward=sparse)"
    of_code = [config_of(settings_of("parameter_sharing_code", 1, "shared_encoder", env)) for env in (None, sparse)]
    for config in (*of_code, config_for(preset="parameter_sharing_paper")):
        bound = max(map(abs, jaxgames.make(config.env).reward_range))
        assert config.vf_clip is not None
        assert config.vf_clip * bound**2 == pytest.approx(10, rel=1e-3)
        assert config.vf_coef * 0.5 / bound**2 == pytest.approx(1, rel=1e-3)  # PPO's loss has half of the squared error


KEY, ENV = jax.random.key(0), jaxgames.make("chinese_checkers(size=2, num_players=6, max_rounds=6)")


@pytest.mark.slow  # compiles two games
def test_every_decision_is_paid_with_the_sum_so_far() -> None:
    """A random game is played in both games; the sums are added up here."""
    plain = jaxgames.make("chinese_checkers(size=1, num_players=2, max_rounds=40)")
    summed = jaxgames.make(
        "examples.papers.parameter_sharing.running_sums:running_sums(size=1, num_players=2, max_rounds=40)"
    )
    step, step_summed, legal = jax.jit(plain.step), jax.jit(summed.step), jax.jit(plain.legal_action_mask)
    generator, totals = np.random.default_rng(0), np.zeros(2)
    ended = set[str]()
    for _ in range(6):
        state, other = plain.init(), summed.init()
        totals[:] = 0
        while not (state.terminated or state.truncated):
            mover = int(state.current_player)
            action = int(generator.choice(np.flatnonzero(legal(state))))
            state, other = step(state, action), step_summed(other, action)
            totals += np.asarray(state.rewards)
            expected = np.zeros(2)
            expected[mover] = totals[mover]
            if state.terminated:
                expected[1 - mover] = LOSS
            np.testing.assert_allclose(other.rewards, expected, atol=1e-6)
            low, high = summed.reward_range
            assert low <= float(other.rewards.min()) <= float(other.rewards.max()) <= high
            assert plain.to_string(state) == summed.to_string(other)
        ended.add("won" if state.terminated else "truncated")
    assert "won" in ended


def test_blanked_planes_do_not_reach_the_policy() -> None:
    """Two observations that differ only in the other seats' pegs have equal logits."""
    policy = Policy.of(ENV, "shared", hidden_sizes=(8,))
    # Large parameters: those of a new policy are so small that all actions are nearly equal.
    params = jax.tree.map(lambda leaf: 100 * leaf, jax.jit(policy.init)(jax.random.key(0)))
    seat, observation = jnp.zeros(2, jnp.int32), jax.random.bernoulli(KEY, 0.3, (2, *policy.observation_shape))
    observation = observation.at[1, ..., 0].set(observation[0, ..., 0]).at[1, ..., 6:].set(observation[0, ..., 6:])
    of_blanked = params, jnp.asarray(blanked_seats.SEEN["other seats"])
    logits, _ = jax.jit(blanked_seats.Blanked(policy).apply)(of_blanked, observation, seat)
    np.testing.assert_array_equal(logits[0], logits[1])
    whole, _ = jax.jit(policy.apply)(params, observation, seat)
    assert not np.array_equal(whole[0], whole[1])


def test_losses_against_new_opponents_are_those_from_the_line_between_known_ones() -> None:
    """At 0.7 of `greedy`, halfway between 0.6 and 0.8, the policy would win 0.5 and wins 0.3. 0.9 is easier."""
    known = [[{"greedy_win_rate": x, "win_rate": y}] for x, y in ((0.8, 0.6), (0.4, 0.1), (0.6, 0.4))]
    new = {"a": [{"greedy_win_rate": 0.7, "win_rate": 0.3}], "b": [{"greedy_win_rate": 0.9, "win_rate": 0.3}]}
    table = mixed_opponents.table_of_losses(known, new)
    assert table.splitlines()[2:] == ["| a | 0.20 (0.20 to 0.20) |", "| b | - |"]


SMALLEST = ChineseCheckers(size=1, num_players=6, max_rounds=4)


def test_goals_are_blocked_by_pegs_of_the_opposite_seat_or_of_others() -> None:
    """Seat 1 is in the goal of seat 0 and seat 3 in that of seat 4; all other pegs are at home."""
    boards = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], SMALLEST.from_string("0/5..3/.../4..2/1 0 - 0"))
    games = arena.start(SMALLEST, KEY, 1)._replace(boards=boards, turns=jnp.ones((1, 6), jnp.int32))
    found = traditional.summary(SMALLEST, games, jnp.zeros((1, 6), jnp.int32))
    assert found["decided"] == 0
    assert (found["blocked_by_opposite"], found["blocked_by_others"]) == (4 / 6, 2 / 6)
    assert (found["pegs_in_goal"], found["pegs_at_home"]) == (0, 4 / 6)


PLAIN, UNEQUAL = jaxgames.make("chinese_checkers(size=2, num_players=6)"), UnequalSeats()


def test_odd_seats_have_the_plain_actions_without_hops() -> None:
    def ply(state: Any, key: jax.Array) -> tuple[Any, Any]:
        masks = PLAIN.legal_action_mask(state), UNEQUAL.legal_action_mask(state)
        return UNEQUAL.step(state, random_action(key, masks[1])), (state, *masks)

    keys = jax.random.split(KEY, 60)
    states, plain, unequal = jax.device_get(jax.jit(lambda: jax.lax.scan(ply, UNEQUAL.init(), keys)[1])())
    fewer = 0
    for i in range(60):
        state = board(states, i)
        legal = np.flatnonzero(plain[i]).tolist()
        steps = [action for action in legal if "=>" not in PLAIN.action_to_string(state, action)]
        expected = steps if state.current_player % 2 == 1 and steps else legal
        assert np.flatnonzero(unequal[i]).tolist() == expected
        fewer += len(expected) < len(legal)
    assert fewer > 5


BOARDS = 1024


@pytest.mark.slow  # two seconds
def test_actions_are_replaced_by_all_legal_ones_with_the_chance() -> None:
    start = PLAIN.init()
    legal = np.flatnonzero(PLAIN.legal_action_mask(start))
    step = jax.jit(jax.vmap(lambda action: PLAIN.step(start, action).board))
    results = np.asarray(step(legal))
    assert len(np.unique(results, axis=0)) == len(legal)
    env = ChanceMoves(chance=0.5)
    drawn: Any = jax.jit(jax.vmap(lambda key: env.step(env.init(key), int(legal[0]), key).board))
    boards = np.asarray(drawn(jax.random.split(KEY, BOARDS)))
    counts = (boards[:, None] == results).all(-1).sum(0)
    assert counts.sum() == BOARDS
    share = 0.5 / len(legal)  # of each action among the replacements
    expected = BOARDS * np.array([0.5 + share, *[share] * (len(legal) - 1)])
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all(), (counts, expected)
