"""A search without knowledge finds the best action of solved positions, whoever moves next and for any number of seats.

The solutions are computed without JAX: by backward induction, or by minimax on the slow references of the rules.
"""

import dataclasses
from collections.abc import Iterable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.mcts import SearchConfig, search
from tests.games.checkers.random_positions import scattered
from tests.games.checkers.reference import Reference as Checkers
from tests.games.chinese_checkers.reference import Reference as Star
from tests.games.dots_and_boxes.reference import Reference as DotsAndBoxes
from tests.helpers.minimax import Minimax
from tests.helpers.payoffs import TABLES, Payoffs, solve
from tests.helpers.positions import read_all
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


class Solved(NamedTuple):
    """Positions in which a wrong action loses something."""

    texts: list[str]
    best: list[set[int]]
    misleading: list[bool]  # whether a sign that always alternates plays wrong there


def solve_positions(reference: Any, texts: Iterable[str], depth: int, count: int) -> Solved:
    """The first `count` positions in which not every action is best within a depth."""
    right, wrong = Minimax(reference), Minimax(reference, alternating=True)
    solved = Solved([], [], [])
    for text in dict.fromkeys(texts):
        if len(solved.texts) == count:
            break
        position = reference.from_string(text)
        if not position.over and (best := right.best(position, depth)) != set(reference.moves(position)):
            solved.texts.append(text)
            solved.best.append(best)
            solved.misleading.append(not best & wrong.best(position, depth))
    return solved


def after_random_moves(reference: Any, rng: np.random.Generator, moves: int) -> str:
    """The position after a number of random moves, or after fewer if the game ends."""
    position = reference.start()
    for _ in range(moves):
        if not position.over:
            legal = reference.moves(position)
            position = reference.after(position, legal[int(rng.choice(list(legal)))])
    return reference.to_string(position)


def plays_best(env: Any, solved: Solved, config: SearchConfig) -> np.ndarray:
    """bool[positions], whether the search plays a best action."""
    states, evaluate = read_all(env, solved.texts), Nothing(env)
    actions = search(env, evaluate, config, jax.random.key(0), jnp.zeros(2), states).action
    return np.array([action in best for action, best in zip(actions.tolist(), solved.best, strict=True)])


def boxes(rows: int, cols: int, open_edges: int, games: int) -> tuple[Any, Solved]:
    """Positions of Dots and Boxes after random play, with a given number of open edges."""
    env = jaxgames.make("dots_and_boxes", rows=rows, cols=cols, reward="boxes")
    reference, rng = DotsAndBoxes(rows, cols, "boxes"), np.random.default_rng(1)
    texts = [after_random_moves(reference, rng, env.num_actions - open_edges) for _ in range(games)]
    return env, solve_positions(reference, texts, open_edges, count=200)


# The discount makes a win that minimax finds better than a later one, which it does not.
LONG = SearchConfig(simulations=4096, search="puct", pb_c_init=2.5, gamma=0.9, slots=20)


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["gumbel", "puct"])
def test_larger_boards_of_dots_and_boxes_are_played_as_minimax_does(rule: str) -> None:
    env, solved = boxes(2, 3, open_edges=6, games=900)
    assert len(solved.texts) == 200
    config = dataclasses.replace(LONG, search=rule, value_scale=1.0, gamma=1.0)
    assert plays_best(env, solved, config).mean() >= 0.99


@pytest.mark.slow
def test_checkers_is_played_as_minimax_does_where_a_piece_jumps_twice() -> None:
    """A few pieces: a side that jumps over the last ones of the other wins."""
    env, reference, rng = jaxgames.make("checkers"), Checkers(), np.random.default_rng(2)
    texts = [
        scattered(rng, men=(int(rng.integers(2)), int(rng.integers(3))), kings=(1, int(rng.integers(1, 3))))
        for _ in range(3000)
    ]
    solved = solve_positions(reference, texts, 4, count=200)
    assert len(solved.texts) == 200
    assert sum(solved.misleading) >= 1
    played = plays_best(env, solved, LONG)
    assert played.mean() >= 0.99
    assert played[solved.misleading].all()


@pytest.mark.slow
def test_small_star_is_played_as_minimax_does_where_a_peg_hops() -> None:
    env = jaxgames.make("chinese_checkers", size=1, num_players=2, reward="win_loss")
    reference, rng = Star(1, 2, "win_loss"), np.random.default_rng(3)
    texts = [after_random_moves(reference, rng, int(rng.integers(2, 30))) for _ in range(600)]
    solved = solve_positions(reference, texts, 5, count=200)
    assert len(solved.texts) >= 20
    assert sum(solved.misleading) >= 5
    assert plays_best(env, solved, LONG).mean() >= 0.99
