"""A search without knowledge finds the best action of solved positions, whoever moves next and for any number of seats.

The solutions are computed without JAX: by backward induction, or by minimax on the slow references of the rules.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.mcts import SearchConfig, search
from jaxgames.mcts import tree as trees
from tests.games.dots_and_boxes.reference import Reference as DotsAndBoxes
from tests.helpers.minimax import best_actions
from tests.helpers.payoffs import TABLES, Payoffs, solve
from tests.helpers.positions import read_all
from tests.mcts.evaluations import Nothing

EXPLORING = SearchConfig(simulations=512, policy="puct", pb_c_init=2.5)  # needed without knowledge
THREE_SEATS, REPEATED_TURNS = Payoffs(), Payoffs(num_players=2, order=(0, 1, 1, 0))


def share_solved(env: Payoffs, config: SearchConfig, seats: str) -> float:
    """The share of the tables on which the search plays the best choice by a criterion."""
    states = jax.vmap(env.at)(jnp.arange(TABLES))
    actions = search(env, Nothing(env), config, jax.random.key(0), jnp.zeros(env.num_players), states).action
    return float((np.asarray(actions) == solve(env, seats)).mean())


@pytest.mark.parametrize(("seats", "other"), [("max_n", "paranoid"), ("paranoid", "max_n")])
def test_three_seats_play_the_solution_of_their_criterion(seats: str, other: str) -> None:
    config = dataclasses.replace(EXPLORING, seats=seats)
    assert share_solved(THREE_SEATS, config, seats) >= 0.95 > share_solved(THREE_SEATS, config, other)


def test_two_seats_play_the_solution_where_a_seat_moves_twice() -> None:
    assert share_solved(REPEATED_TURNS, EXPLORING, "max_n") >= 0.99


# -- games of the library, two seats -------------------------------------------------------------------------------


def positions(reference: Any, texts: Sequence[str], depth: int) -> tuple[list[str], list[set[int]]]:
    """The positions in which a wrong action loses something within a depth, and their best actions."""
    memo: dict[tuple[str, int], float] = {}
    chosen: list[str] = []
    solutions: list[set[int]] = []
    for text in texts:
        position = reference.from_string(text)
        if not position.over:
            best, legal = best_actions(reference, position, depth, memo)
            if best != legal:
                chosen.append(text)
                solutions.append(best)
    return chosen, solutions


def after_random_moves(reference: Any, rng: np.random.Generator, moves: int) -> str:
    """A position that so many random moves lead to, or fewer if the game ends."""
    position = reference.start()
    for _ in range(moves):
        if not position.over:
            legal = reference.moves(position)
            position = reference.after(position, legal[int(rng.choice(list(legal)))])
    return reference.to_string(position)


def share_played(env: Any, texts: Sequence[str], solutions: Sequence[set[int]], config: SearchConfig) -> float:
    """The share of the positions in which the search plays one of the best actions."""
    evaluate = Nothing(env)
    actions = search(env, evaluate, config, jax.random.key(0), jnp.zeros(2), read_all(env, texts)).action
    return float(np.mean([action in best for action, best in zip(actions.tolist(), solutions, strict=True)]))


def boxes(rows: int, cols: int, count: int, open_edges: int) -> tuple[Any, list[str], list[set[int]]]:
    """Dots and Boxes with so many open edges: the env, positions, best actions."""
    env = jaxgames.make("dots_and_boxes", rows=rows, cols=cols, reward="boxes")
    reference, rng = DotsAndBoxes(rows, cols, "boxes"), np.random.default_rng(1)
    drawn = env.num_actions - open_edges
    texts = [after_random_moves(reference, rng, drawn) for _ in range(4 * count)]
    texts, solutions = positions(reference, texts, open_edges)
    return env, texts[:count], solutions[:count]


def test_dots_and_boxes_is_played_as_minimax_does_only_with_the_right_discount(monkeypatch: pytest.MonkeyPatch) -> None:
    """A seat that takes a box moves again. A sign that alternates after every action plays such boards badly."""
    env, texts, solutions = boxes(2, 2, count=100, open_edges=5)
    assert len(texts) == 100
    assert share_played(env, texts, solutions, EXPLORING) >= 0.99

    def alternating(mover: jax.Array, next_mover: jax.Array, terminated: jax.Array, gamma: float) -> jax.Array:
        return jnp.where(terminated, 0.0, jnp.where(next_mover == mover, -gamma, gamma))

    monkeypatch.setattr(trees, "discount_of", alternating)
    wrong = dataclasses.replace(EXPLORING, max_considered=17)  # not used by PUCT: another program
    assert share_played(env, texts, solutions, wrong) < 0.9
