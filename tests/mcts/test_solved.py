"""A search without knowledge finds the best action of solved positions, whoever moves next and for any number of seats.

The solutions are computed without JAX: by backward induction, or by minimax on the slow references of the rules.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.mcts import SearchConfig, search
from tests.games.checkers.reference import Reference as Checkers
from tests.games.checkers.reference import scattered
from tests.games.chinese_checkers.reference import Reference as Star
from tests.games.dots_and_boxes.reference import Reference as DotsAndBoxes
from tests.helpers.payoffs import TABLES, Payoffs, solve
from tests.helpers.positions import read_all
from tests.helpers.reference import Minimax
from tests.mcts.evaluations import Nothing

EXPLORING = SearchConfig(simulations=256, search="puct", pb_c_init=2.5)  # needed without knowledge
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


@pytest.mark.slow
def test_two_seats_play_the_solution_where_a_seat_moves_twice() -> None:
    assert share_solved(REPEATED_TURNS, EXPLORING, "max_n") >= 0.99


# -- games of the library, two seats -------------------------------------------------------------------------------


def after_random_moves(reference: Any, rng: np.random.Generator, moves: int) -> str:
    """The position after a number of random moves, or after fewer if the game ends."""
    position = reference.start()
    for _ in range(moves):
        if not position.over:
            legal = reference.moves(position)
            position = reference.after(position, legal[int(rng.choice(list(legal)))])
    return reference.to_string(position)


def checkers(rng: np.random.Generator) -> tuple[Any, Iterator[str], int]:
    """A few pieces: a side that jumps over the last ones of the other wins, and a piece can jump twice."""
    men = ((int(rng.integers(2)), int(rng.integers(3))) for _ in range(3000))
    return Checkers(), (scattered(rng, of_sides, (1, int(rng.integers(1, 3)))) for of_sides in men), 4


def small_star(rng: np.random.Generator) -> tuple[Any, Iterator[str], int]:
    reference = Star(1, 2, "win_loss")
    return reference, (after_random_moves(reference, rng, int(rng.integers(2, 30))) for _ in range(600)), 5


def boxes(rng: np.random.Generator) -> tuple[Any, Iterator[str], int]:
    reference = DotsAndBoxes(2, 3, "boxes")
    return reference, (after_random_moves(reference, rng, 11) for _ in range(900)), 6


# The discount makes a win that minimax finds better than a later one, which it does not.
LONG = SearchConfig(simulations=4096, search="puct", pb_c_init=2.5, gamma=0.9, slots=20)
UNDISCOUNTED = dataclasses.replace(LONG, value_scale=1.0, gamma=1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "draw", "config"),
    [
        ("dots_and_boxes(rows=2, cols=3, reward='boxes')", boxes, UNDISCOUNTED),
        ("dots_and_boxes(rows=2, cols=3, reward='boxes')", boxes, dataclasses.replace(UNDISCOUNTED, search="gumbel")),
        ("checkers", checkers, LONG),
        ("chinese_checkers(size=1, num_players=2, reward='win_loss')", small_star, LONG),
    ],
)
def test_games_in_which_a_seat_moves_again_are_played_as_minimax_does(text: str, draw: Any, config: Any) -> None:
    """In 200 positions in which not every action is best within a depth, in fewer of the star."""
    env = jaxgames.make(text)
    reference, texts, depth = draw(np.random.default_rng(2))
    minimax, chosen, best = Minimax(reference), list[str](), list[set[int]]()
    for each in dict.fromkeys(texts):
        position = reference.from_string(each)
        if len(best) < 200 and not position.over:
            found = minimax.best(position, depth)
            if found != set(reference.moves(position)):
                chosen.append(each)
                best.append(found)
    assert len(best) >= 20
    actions = search(env, Nothing(env), config, jax.random.key(0), jnp.zeros(2), read_all(env, chosen)).action
    assert np.mean([action in of_board for action, of_board in zip(actions.tolist(), best, strict=True)]) >= 0.99
