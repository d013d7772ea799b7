"""Rewards as running sums, games against random players, and the policies of the figures."""

import functools
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from examples.papers.parameter_sharing import blanked_seats, head_to_head, heat_maps, mixed_opponents, runs
from examples.papers.parameter_sharing.running_sums import LOSS, RunningSums
from examples.papers.parameter_sharing.runs import COLUMNS, evaluate
from examples.papers.parameter_sharing.study import MODES, settings_of
from jaxgames.policies.agent import PolicyAgent
from train.models.policy import Policy, Sharing

ENV = jaxgames.make("chinese_checkers(size=2, num_players=6, max_rounds=6)")


@functools.cache
def policy_of(mode: Sharing) -> Policy:
    return Policy.of(ENV, mode, hidden_sizes=(8,))


@functools.cache
def params_of(mode: Sharing) -> Any:
    """Large parameters: those of a new policy are so small that all actions are nearly equal."""
    return jax.tree.map(lambda leaf: 100 * leaf, jax.jit(policy_of(mode).init)(jax.random.key(0)))


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


@pytest.mark.slow  # compiles whole games
def test_measures_of_games_agree_with_each_other() -> None:
    found = jax.device_get(evaluate(policy_of("shared"), params_of("shared"), jax.random.key(0), 8, max_rounds=6))
    assert set(found) == set(COLUMNS)
    assert found["truncated_rate"] == 1  # nobody wins within 6 rounds
    assert found["rounds"] == 6
    assert found["win_rate"] == 0
    assert np.isnan(found["decided_win_rate"])
    assert abs(found["reward"]) < abs(found["running_sums"])


def test_peg_at_home_and_another_in_the_goal() -> None:
    elsewhere = ~heat_maps.HOME & ~heat_maps.GOAL
    home, goal, between = (np.flatnonzero(cells)[0] for cells in (heat_maps.HOME, heat_maps.GOAL, elsewhere))
    pegs = np.zeros((3, len(heat_maps.HOME)), bool)
    for board, cells in enumerate(((home, goal), (home, between), (between, goal))):
        pegs[board, list(cells)] = True
    assert heat_maps.home_and_goal(pegs).tolist() == [True, False, False]


@pytest.mark.slow  # compiles whole games
def test_maps_have_the_pegs_of_the_policy() -> None:
    agent = PolicyAgent(params_of("shared"), ENV, policy_of("shared"))
    pegs = np.asarray(heat_maps.pegs_after_turns(ENV, agent, jax.random.key(0), 4, (0, 2, 50)))
    assert (pegs.sum(-1) == 3).all()  # in each of three turns and four games
    assert heat_maps.places(pegs[0].mean(0)) == ["3.00", "0.00", "0.00"]
    assert float(heat_maps.places(pegs[1].mean(0))[0]) < 3


@pytest.mark.slow  # compiles whole games
def test_match_of_three_ways_has_a_row_per_iteration() -> None:
    stacks = [jax.tree.map(lambda leaf: jnp.stack([leaf] * 2), params_of(mode)) for mode in MODES]
    keys = jax.random.split(jax.random.key(0), 2)
    wins, rounds = head_to_head.matches(ENV, tuple(map(policy_of, MODES)), 4, stacks, keys)
    assert wins.shape == (2, 3)
    assert rounds.tolist() == [6, 6]


def test_blanked_planes_do_not_reach_the_policy() -> None:
    """Two observations that differ only in the other seats' pegs have equal logits."""
    shape = (2, *policy_of("shared").observation_shape)
    observation = jax.random.bernoulli(jax.random.key(1), 0.3, shape)
    observation = observation.at[1, ..., 0].set(observation[0, ..., 0]).at[1, ..., 6:].set(observation[0, ..., 6:])
    of_blanked = params_of("shared"), jnp.asarray(blanked_seats.SEEN["other seats"])
    seat = jnp.zeros(2, jnp.int32)
    logits, _ = jax.jit(blanked_seats.Blanked(policy_of("shared")).apply)(of_blanked, observation, seat)
    np.testing.assert_array_equal(logits[0], logits[1])
    whole, _ = jax.jit(policy_of("shared").apply)(params_of("shared"), observation, seat)
    assert not np.array_equal(whole[0], whole[1])


def test_losses_against_new_opponents_are_those_from_the_line_between_known_ones() -> None:
    """At 0.7 of `greedy`, halfway between 0.6 and 0.8, the policy would win 0.5 and wins 0.3. 0.9 is easier."""
    known = [[{"greedy_win_rate": x, "win_rate": y}] for x, y in ((0.8, 0.6), (0.4, 0.1), (0.6, 0.4))]
    new = {"a": [{"greedy_win_rate": 0.7, "win_rate": 0.3}], "b": [{"greedy_win_rate": 0.9, "win_rate": 0.3}]}
    table = mixed_opponents.table_of_losses(known, new)
    assert table.splitlines()[2:] == ["| a | 0.20 (0.20 to 0.20) |", "| b | - |"]


@pytest.mark.slow  # compiles an iteration for two seeds at once
def test_runs_keep_the_parameters_of_every_iteration_and_are_not_trained_twice(tmp_path: Path) -> None:
    settings = settings_of("parameter_sharing", 2, hidden_sizes=((8,),))
    first = runs.train_all(tmp_path, settings, seeds=2, games=2)
    assert [run.folder.name for run in first] == ["seed=0", "seed=1"]
    curves = runs.curves_of(first)
    assert curves["steps"] == [4000, 8000]
    assert all(np.shape(curves[name]) == (2, 2) for name in COLUMNS)
    assert all(run.checkpoints() == [0, 1, 2] for run in first)
    before = (tmp_path / "seed=0" / "metrics.jsonl").read_bytes()
    again = runs.train_all(tmp_path, settings, seeds=2, games=2)
    assert (tmp_path / "seed=0" / "metrics.jsonl").read_bytes() == before
    assert runs.curves_of(again)["win_rate"] == curves["win_rate"]
    with pytest.raises(ValueError, match="was started with other settings"):
        runs.train_all(tmp_path, settings_of("parameter_sharing", 3), seeds=2, games=2)


def test_bounds_of_running_sums_contain_a_win() -> None:
    low, high = RunningSums().reward_range
    assert low <= LOSS
    assert high >= 10.3
