"""Trees that the next search continues: the part below the board to move, its visits and values, and nothing else."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import ParameterError, arena
from jaxgames.mcts import MCTSAgent, SearchConfig, bytes_per_node, empty_trees, search
from jaxgames.mcts.reuse import subtrees
from jaxgames.mcts.search import playable, search_tree, summary
from jaxgames.mcts.tree import NO_NODE, Tree
from tests.helpers.solved import solved_boxes
from tests.mcts.evaluations import Linear, random_boards
from tests.mcts.test_proofs import proved_nodes

BOXES = jaxgames.make("dots_and_boxes(rows=2, cols=2, reward=margin)")
KEY, BOARDS = jax.random.key(0), 60
GUMBEL = SearchConfig(simulations=16, max_considered=4, reuse=True)


class Searched(NamedTuple):
    kept: Tree  # before the search
    tree: Tree
    result: Any


masks = jax.jit(jax.vmap(BOXES.legal_action_mask))


@functools.partial(jax.jit, static_argnums=0)
def searched(config: SearchConfig, trees: Tree, states: Any) -> Searched:
    """The search that continues `trees`, with all that it has on the way."""
    evaluate = Linear(BOXES)
    kept = subtrees(BOXES, config, trees, states)
    tree, rule = search_tree(BOXES, evaluate, config, KEY, evaluate.params(0), states, kept)
    return Searched(kept, tree, summary(tree, rule, config.simulations))


@functools.cache
def two_searches(config: SearchConfig = GUMBEL, steps: int = 6) -> tuple[Any, Searched, Any, Searched]:
    """The boards and the results of two searches.

    Between them, the first third of the boards makes two moves, the second third none, and the last third restarts. The
    first boards are those after up to `steps` random actions.
    """
    states = playable(BOXES, random_boards(BOXES, BOARDS, steps))[1]
    first = searched(config, jax.jit(lambda: empty_trees(BOXES, config, BOARDS))(), states)
    moved, step = states, jax.jit(jax.vmap(BOXES.step))
    for action in (first.result.action, None):
        mask = np.asarray(masks(moved))
        moved = step(moved, mask.argmax(-1).astype(np.int32) if action is None else action)
    others = random_boards(BOXES, BOARDS, 1, seed=1)

    def mixed(moved: np.ndarray, same: np.ndarray, new: np.ndarray) -> np.ndarray:
        return np.concatenate([moved[: BOARDS // 3], same[BOARDS // 3 : 2 * BOARDS // 3], new[2 * BOARDS // 3 :]])

    states_after = jax.tree.map(mixed, *jax.device_get((moved, states, others)))
    return jax.device_get((states, first, states_after, searched(config, first.tree, states_after)))


def nodes_below(tree: Tree, board: int, states: Any) -> list[int]:
    """The nodes from the one with the position of `states[board]` on, in their order; none if no node has it."""

    def position(boards: Any, *place: int) -> tuple[bytes, ...]:
        return tuple(np.asarray(leaf)[place].tobytes() for leaf in (boards.edges, boards.owner, boards.current_player))

    visits = tree.visits[board].sum(-1)
    roots = [n for n in np.flatnonzero(visits).tolist() if position(tree.states, board, n) == position(states, board)]
    found = [max(roots, key=lambda n: visits[n])] if roots else []
    for node in found:  # it grows
        found += [int(child) for child in tree.children[board, node] if child != NO_NODE]
    return sorted(found)


@pytest.mark.parametrize(
    "config", [GUMBEL, pytest.param(SearchConfig(16, "puct", proofs=True, reuse=True), marks=pytest.mark.slow)]
)
def test_kept_tree_is_that_of_a_slow_reference_in_every_slot(config: SearchConfig) -> None:
    _, first, states, second = two_searches(config)
    third = jax.device_get(searched(config, second.tree, states))  # where some trees have too many nodes
    sizes: set[int] = set()
    for before, kept in ((first.tree, second.kept), (second.tree, third.kept)):
        for board in range(BOARDS):
            nodes = nodes_below(before, board, states)[: config.simulations + 1]
            sizes.add(len(nodes))
            row_of = {node: row for row, node in enumerate(nodes)} | {NO_NODE: NO_NODE}
            for row, node in enumerate(nodes):
                for name in ("actions", "logits", "visits", "values", "raw_values"):
                    np.testing.assert_array_equal(getattr(kept, name)[board, row], getattr(before, name)[board, node])
                assert (kept.states.edges[board, row] == before.states.edges[board, node]).all()
                children = [row_of.get(int(child), NO_NODE) for child in before.children[board, node]]
                assert kept.children[board, row].tolist() == children
                assert all(child > row for child in children if child != NO_NODE)
            assert not kept.visits[board, len(nodes) :].any()
            assert (kept.children[board, len(nodes) :] == NO_NODE).all()
    assert {0, 1 + config.simulations} < sizes  # none and too many, and something in between


def test_new_game_has_an_empty_tree_and_its_search_is_a_first_one() -> None:
    _, first, states, second = two_searches()
    new = np.array([board for board in range(BOARDS) if not nodes_below(first.tree, board, states)])
    assert len(new) > 5
    assert not second.kept.visits[new].any()
    assert (second.kept.children[new] == NO_NODE).all()
    evaluate = Linear(BOXES)
    alone = search(BOXES, evaluate, GUMBEL, KEY, evaluate.params(0), jax.tree.map(jnp.asarray, states))
    for name in ("action", "slots", "visits"):
        np.testing.assert_array_equal(getattr(second.result, name)[new], np.asarray(getattr(alone, name))[new])
    np.testing.assert_allclose(second.result.weights[new], np.asarray(alone.weights)[new], atol=1e-5)


@pytest.mark.parametrize("config", [GUMBEL, pytest.param(SearchConfig(16, "puct", reuse=True), marks=pytest.mark.slow)])
def test_root_has_the_kept_visits_and_those_of_this_search(config: SearchConfig) -> None:
    _, _, states, second = two_searches(config)
    live = ~states.terminated
    kept = second.kept.visits[:, 0].sum(-1)
    assert (kept[live] > 0).sum() > 30
    np.testing.assert_array_equal(second.result.visits.sum(-1)[live], kept[live] + config.simulations)
    assert (second.result.visits >= second.kept.visits[:, 0]).all()
    before, visits = second.kept.visits[:, 0], second.result.visits
    mean = (visits * second.tree.values[:, 0] - before * second.kept.values[:, 0]) / np.maximum(visits - before, 1)
    weights = np.where(visits > before, second.result.weights, 0)
    expected = (weights * mean).sum(-1) / np.maximum(weights.sum(-1), 1e-9)
    found = second.result.policy_values[np.arange(BOARDS), states.current_player]
    np.testing.assert_allclose(found[live], expected[live], atol=1e-4)
    mask = np.asarray(masks(states))
    assert mask[live, second.result.action[live]].all()


def test_sequential_halving_counts_the_visits_of_this_search() -> None:
    """Its schedule depends on the number of legal actions only, and the best of its last slots is played."""
    _, _, states, second = two_searches()
    evaluate = Linear(BOXES)
    alone = search(BOXES, evaluate, GUMBEL, KEY, evaluate.params(0), jax.tree.map(jnp.asarray, states))
    visits = second.result.visits - second.kept.visits[:, 0]
    np.testing.assert_array_equal(np.sort(visits), np.sort(alone.visits))
    live = ~states.terminated
    played = second.result.slots == second.result.action[:, None]
    assert (visits == visits.max(-1, keepdims=True))[live][played[live]].all()


def test_result_of_a_board_does_not_depend_on_the_others() -> None:
    _, first, states, second = two_searches()
    order = np.random.default_rng(0).permutation(BOARDS)
    tree, boards = jax.tree.map(lambda leaf: leaf[order], (first.tree, states))
    other = searched(GUMBEL, tree, boards)
    for name in ("action", "visits", "slots"):
        np.testing.assert_array_equal(getattr(other.result, name), getattr(second.result, name)[order])


@pytest.mark.slow  # compiles another search
def test_proofs_of_trees_that_continue_are_those_of_the_solution() -> None:
    """The third search continues trees of which the newest nodes were left out."""
    config = SearchConfig(16, "puct", proofs=True, reuse=True)
    _, _, states, second = two_searches(config, steps=10)
    third = jax.device_get(searched(config, second.tree, states))
    proved, returns = proved_nodes(BOXES, third.tree)
    mover = np.asarray(proved.current_player)
    rows = np.arange(len(mover))
    scores = np.stack([(proved.owner == seat).sum(-1) for seat in (0, 1)], -1)
    expected = scores[rows, mover] - scores[rows, 1 - mover] + np.asarray(solved_boxes(2, 2).value(proved))
    assert len(mover) > 100
    np.testing.assert_array_equal(returns[rows, mover], expected)
    sure = third.tree.proofs.nodes[:, 0] & ~states.terminated
    assert sure.sum() > 5
    best = np.asarray(solved_boxes(2, 2).best_actions(jax.tree.map(jnp.asarray, states)))
    assert best[np.arange(BOARDS), third.result.action][sure].all()


@pytest.mark.slow  # compiles two searches
def test_paranoid_trees_of_three_seats_are_for_the_same_root_seat() -> None:
    """Their means are those of the seat at the root, so another seat cannot use them; with max_n, it can."""
    env = jaxgames.make("chinese_checkers(size=1, num_players=3)")
    state = playable(env, jax.vmap(env.init)(jax.random.split(KEY, 1)))[1]
    after = jax.vmap(env.step)(state, jax.vmap(env.legal_action_mask)(state).argmax(-1))
    assert int(after.current_player[0]) != int(state.current_player[0])
    for seats, kept in (("paranoid", 0), ("max_n", 1)):
        config = SearchConfig(simulations=1, seats=seats, slots=2)
        tree = empty_trees(env, config, 1)
        nodes = jax.tree.map(lambda leaf, a, b: leaf.at[:, 0].set(a).at[:, 1].set(b), tree.states, state, after)
        visits, children = tree.visits.at[:, :2, 0].set(1), tree.children.at[:, 0, 0].set(1)
        tree = tree._replace(states=nodes, visits=visits, children=children)
        assert int(subtrees(env, config, tree, after).visits.sum()) == kept, seats


@pytest.mark.slow  # compiles the games of two agents
def test_agent_with_reuse_plays_legal_moves_to_the_end_of_all_games() -> None:
    evaluate = Linear(BOXES)
    agent, other = (
        MCTSAgent(BOXES, evaluate, SearchConfig(simulations=8, reuse=reuse), evaluate.params(0))
        for reuse in (True, False)
    )
    seats = arena.seating((1, 1), "alternating", 32)
    openings = arena.random_openings(BOXES, KEY, 16, 3).for_games(32, 2)
    games = arena.play(BOXES, (agent, other), seats, KEY, openings=openings)
    assert games.over.all()
    assert not games.forfeited.any()
    assert other.init_memory(4) is None


def test_memory_of_a_board_has_the_documented_size() -> None:
    """2 * simulations + 1 nodes of `bytes_per_node` (docs/search.md), and what only the root has."""
    config = SearchConfig(simulations=64, reuse=True)
    memory = jax.eval_shape(functools.partial(empty_trees, BOXES, config, 3))
    size = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(memory))
    slots, seats = config.num_slots(BOXES.num_actions), BOXES.num_players
    assert size == 3 * (129 * bytes_per_node(BOXES, config) + 4 * (seats + slots * seats + slots))


def test_reuse_is_refused_with_noise_in_the_tree() -> None:
    with pytest.raises(ParameterError, match="reuse needs dirichlet_fraction=0"):
        SearchConfig(reuse=True, dirichlet_fraction=0.25)
    with pytest.raises(ParameterError, match=r"reuse must be one of False, True, not 1\.5"):
        SearchConfig(reuse=1.5)  # pyright: ignore[reportArgumentType]  # wrong on purpose
