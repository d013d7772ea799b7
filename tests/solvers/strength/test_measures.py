"""The measures of strength in the diamond: known numbers on 4 x 4, and a slow reference on 3 x 3."""

import functools
import math
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.games.chinese_checkers_diamond import ChineseCheckersDiamond
from jaxgames.solvers.strength import measure, measures, policy_table
from jaxgames.solvers.strength.graph import graph_of
from jaxgames.solvers.strength.policy_table import PolicyTable, boards
from jaxgames.solvers.strength.reachable import reachable_states
from tests.helpers.positions import board
from tests.solvers.strength import reference as strength_reference
from tests.solvers.strength.measured import Act, agent, solution

GAME = ChineseCheckersDiamond(3, 3)

# -- known numbers -------------------------------------------------------------------------------------------------

KNOWN: dict[str, float] = {  # of hash0; counted by another program, written in numpy from the rules
    **{"ultra_weak": 0, "self_play_plies": 50, "weak_solved": False},
    **{"weak_states": 0.224756, "agent_states": 149_257, "unique_states": 251_496},
    **{"won_terminals": 1_429, "lost_terminals": 4_929, "weak_uniform": 0.147771, "weak_uniform_loss": 0.147474},
    **{"sure_fraction": 0.010773, "kept_value": 0.648787, "action_weak": 0.705608},
    **{"strong_action": 0.705661, "strong_decisive": 0.448824, "strong_won": 0.546343, "strong_fastest": 0.258849},
    "strong_states": 149_311,
}


@pytest.mark.slow  # the reference below counts the same measures of 3 x 3
def test_measures_of_4_x_4_are_the_known_ones() -> None:
    measures = measure(ChineseCheckersDiamond(4, 3), agent("hash0", 4), solution(4))
    assert {name: measures[name] for name in KNOWN} == pytest.approx(KNOWN, rel=0, abs=1e-6)


def test_agent_is_asked_once_per_state_in_full_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first two batches are a sample for both seats. The measures are those of larger batches."""
    whole, live = measure(GAME, agent("hash0", 3), solution(3)), graph_of(solution(3)).live
    monkeypatch.setattr(policy_table, "BATCH", 300)
    monkeypatch.setattr(measures, "SAMPLE", 600)
    seats, states = list[int](), list[np.ndarray]()

    def act(boards: Any) -> Any:
        assert (boards.current_player == boards.current_player[0]).all()
        seats.append(int(boards.current_player[0]))
        states.append(solution(3).index(boards))
        return agent("hash0", 3)(boards)

    assert measure(GAME, act, solution(3)) == whole
    assert seats == [0, 0, 1, 1, *[0] * math.ceil((len(live) - 600) / 300)]
    np.testing.assert_array_equal(states[:2], states[2:4])
    asked = np.concatenate([*states[:2], *states[4:]])
    np.testing.assert_array_equal(np.sort(asked[: len(live)]), live)
    assert (asked[len(live) :] == asked[len(live) - 1]).all()


# -- a slow reference ----------------------------------------------------------------------------------------------


def by_seat(states: Any) -> jax.Array:
    """Another policy on each seat."""
    return jnp.where(states.current_player == 0, agent("hash1", 3)(states), agent("hash2", 3)(states))


def act_of(name: str) -> Act:
    return by_seat if name == "by_seat" else agent(name, 3)


@functools.cache
def policy_of(name: str) -> strength_reference.Policy:
    """The moves of an agent in all positions of 3 x 3, by the position's text."""
    act, env, graph = act_of(name), GAME, graph_of(solution(3))
    policy: strength_reference.Policy = {}
    for seat in (0, 1):
        states = jax.device_get(boards(solution(3), graph.live, seat))
        actions = np.asarray(act(states))
        for row in range(len(graph.live)):
            policy[env.to_string(board(states, row))] = int(actions[row])
    return policy


@pytest.mark.parametrize("name", ["hash0", "fastest", "by_seat"])
@pytest.mark.parametrize(("seat", "plies"), [(0, 50), (1, 7)])
def test_every_measure_is_that_of_plain_python(name: str, seat: int, plies: int) -> None:
    measures = measure(GAME, act_of(name), solution(3), plies, seat=seat)
    expected = strength_reference.measures(strength_reference.solved(3, 3), policy_of(name), seat, plies)
    for key, value in expected.items():
        assert measures[key] == (value if value is None else pytest.approx(value, abs=1e-12)), key


@pytest.mark.parametrize("name", ["hash0", "fastest"])
def test_mistakes_are_counted_where_they_are(name: str) -> None:
    """By plies from the start, over the states that occur; by moves from the start, and by winning moves, over all."""
    policy, rules = policy_of(name), strength_reference.solved(3, 3)
    measures = measure(GAME, agent(name, 3), solution(3))
    reached = strength_reference.reach(rules, policy, seat=0)
    plies = {
        each: ply for each, ply in reached.items() if each in rules.moves and strength_reference.seat_of(each) == 0
    }
    assert measures["mistakes_by_ply"] == table(rules, policy, plies, "ply")
    shares: dict[str, float] = {}
    for each, following in rules.moves.items():
        if strength_reference.seat_of(each) == 0 and rules.value[each] == 1:
            winning = sum(rules.value[after] == -1 for after in following.values())
            shares[each] = math.ceil(10 * winning / len(following)) / 10
    assert measures["mistakes_by_share"] == table(rules, policy, shares, "share")
    assert len(plies) <= sum(measures["mistakes_by_distance"]["states"]) <= measures["strong_states"]
    wrong = round((1 - measures["strong_action"]) * measures["strong_states"])
    assert sum(measures["mistakes_by_share"]["mistakes"]) == wrong


def table(
    rules: strength_reference.Game, policy: strength_reference.Policy, group: Mapping[str, float], name: str
) -> dict[str, list[Any]]:
    """The table of mistakes of some positions by group."""
    columns: dict[str, list[Any]] = {name: sorted(set(group.values())), "states": [], "decisive": [], "mistakes": []}
    for number in columns[name]:
        positions = [each for each in group if group[each] == number]
        columns["states"].append(len(positions))
        columns["decisive"].append(sum(strength_reference.is_decisive(rules, each) for each in positions))
        columns["mistakes"].append(sum(not strength_reference.keeps(rules, policy, each) for each in positions))
    return columns


# -- values --------------------------------------------------------------------------------------------------------


def test_values_are_compared_with_the_true_ones() -> None:
    """The values are 0.2 too low, and 0.9 too high in the lost states: right sign, wrong sign."""
    true = solution(3)

    def values(states: Any) -> np.ndarray:
        value = true.value(states)
        return np.where(value == 1, 0.8, -0.1).astype(np.float32)

    measures = measure(GAME, agent("hash0", 3), true, values=values)
    states = true.states_at(graph_of(true).live)
    won = float((true.value(states) == 1).mean())
    assert measures["value_accuracy"] == pytest.approx(won)
    assert measures["value_sign"] == 1
    errors = np.where(true.value(states) == 1, 0.2**2, 0.9**2)
    assert measures["value_mse"] == pytest.approx(errors.mean(), rel=1e-6)
    assert measures["value_mse_margin"] == pytest.approx(1.96 * errors.std() / len(errors) ** 0.5, rel=1e-4)
    graph = graph_of(true)
    reachable = reachable_states(graph, PolicyTable(true, graph, agent("hash0", 3)))
    assert measures["weak_value_accuracy"] == pytest.approx((graph.value[reachable.agent] == 1).mean())
    assert measures["weak_value_accuracy"] != pytest.approx(won)


# -- settings ------------------------------------------------------------------------------------------------------


def test_limit_of_plies_of_the_game_does_not_matter() -> None:
    short = ChineseCheckersDiamond(3, 3, max_plies=30)
    assert measure(short, agent("hash0", 3), solution(3)) == measure(GAME, agent("hash0", 3), solution(3))


def test_strong_measures_of_a_random_sample_are_estimates_and_weak_ones_can_be_left_out() -> None:
    every = measure(GAME, agent("hash0", 3), solution(3))
    some = measure(GAME, agent("hash0", 3), solution(3), strong_states=600)
    assert some["strong_states"] == 600
    assert some["strong_action"] == pytest.approx(every["strong_action"], abs=0.06)
    assert some["strong_action"] != every["strong_action"]
    assert some["sure_fraction"] == every["sure_fraction"]
    strong = measure(GAME, agent("hash0", 3), solution(3), strong_states=600, weak=False)
    assert strong == {name: some[name] for name in strong}
    assert "strong_action" in strong
    assert {"ultra_weak", "weak_solved", "agent_states", "sure_fraction"} <= some.keys() - strong.keys()
