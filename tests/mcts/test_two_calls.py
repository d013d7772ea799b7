"""The search in two calls: the tree's result where both make the same visits, and how often they do."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.mcts import SearchConfig, SearchResult, search
from jaxgames.mcts.tree import PADDING
from tests.helpers.sticks import TABLES, Payoffs
from tests.mcts.evaluations import Linear, Nothing, random_boards

BOXES = jaxgames.make("dots_and_boxes(rows=2, cols=2)")
BOARDS = 256


@functools.cache
def results(simulations: int, considered: int, scale: float = 0.0, slots: int | None = None) -> list[Any]:
    """The results of the tree and of two calls on random boards, of which some are over; see `SearchResult`."""
    settings: dict[str, Any] = {"simulations": simulations, "slots": slots, "gamma": 0.9, "gumbel_scale": scale}
    configs = (SearchConfig(max_considered=considered, **settings), SearchConfig(search="two_calls", **settings))
    evaluate, states = Linear(BOXES), random_boards(BOXES, BOARDS, 12)
    found = [search(BOXES, evaluate, each, jax.random.key(0), evaluate.params(0), states) for each in configs]
    return jax.device_get(found)


def same(tree: SearchResult, two_calls: SearchResult, rows: Any) -> None:
    """Two results are equal on some boards."""
    for name in ("action", "slots", "visits"):
        np.testing.assert_array_equal(getattr(tree, name)[rows], getattr(two_calls, name)[rows])
    for name in ("weights", "values", "policy_values", "raw_values"):
        np.testing.assert_allclose(getattr(tree, name)[rows], getattr(two_calls, name)[rows], atol=1e-5)


@pytest.mark.parametrize("simulations", [2, 3])
def test_result_is_that_of_the_tree_if_the_second_call_visits_one_action_or_none(simulations: int) -> None:
    """Boards with one legal action are left out: the tree visits it each time. Seats move twice in a row here."""
    tree, two_calls = results(simulations, 2, scale=1.0)
    actions = (tree.slots != PADDING).sum(-1)
    assert min((actions == number).sum() for number in (0, 1)) > 5  # boards that are over, too
    same(tree, two_calls, actions != 1)


def test_result_is_near_that_of_the_tree_with_more_actions() -> None:
    """The tree looks at its values after each of the last four visits, two calls only before them."""
    tree, two_calls = results(12, 8)
    enough = (tree.slots != PADDING).sum(-1) >= 8
    visits = (tree.visits == two_calls.visits).all(-1)
    assert enough.sum() > 50
    assert visits[enough].mean() > 0.8
    assert (tree.action == two_calls.action)[enough].mean() > 0.9
    same(tree, two_calls, enough & visits)


def test_few_actions_are_visited_at_most_twice_and_finished_boards_never() -> None:
    _, result = results(12, 8)
    actions = (result.slots != PADDING).sum(-1)
    assert (result.visits.sum(-1) == np.minimum(actions, 8) + np.minimum(actions, 4)).all()
    assert result.visits.max() == 2
    assert not result.visits[result.slots == PADDING].any()
    np.testing.assert_allclose(result.weights.sum(-1)[actions > 0], 1, atol=1e-5)
    assert not result.values[actions == 0].any()


def test_no_more_actions_are_tried_than_there_are_slots() -> None:
    _, result = results(30, 4, slots=4)
    actions = (result.slots != PADDING).sum(-1)
    assert actions.max() == 4
    np.testing.assert_array_equal(result.visits, 2 * (result.slots != PADDING))


@pytest.mark.parametrize(
    ("env", "seats"),
    [
        (Payoffs(), "paranoid"),
        (Payoffs(), "max_n"),
        (Payoffs(num_players=2, order=(0, 1), limit=1), "paranoid"),  # cut off: its evaluation counts, never 0
    ],
)
def test_seats_have_the_returns_of_the_tree(env: Payoffs, seats: Any) -> None:
    states, params = jax.vmap(env.at)(jnp.arange(TABLES)), jnp.array([3.0, -3.0, 2.0])[: env.num_players]
    tree, two_calls = (
        jax.device_get(search(env, Nothing(env), config, jax.random.key(0), params, states))
        for config in (
            SearchConfig(simulations=3, max_considered=2, seats=seats),
            SearchConfig(simulations=3, search="two_calls", seats=seats),
        )
    )
    assert len(set(tree.action.tolist())) > 1
    same(tree, two_calls, np.arange(TABLES))
