"""The turns that are counted beside the submoves are those that the env allows, one submove after the other."""

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

import jaxgames
from examples.papers.parameter_sharing.whole_turns import whole_turns
from jaxgames.games.chinese_checkers.board import tables

ENV = jaxgames.make("chinese_checkers(size=2, num_players=6)")
T = tables(2)
LEGAL, STEP = jax.jit(ENV.legal_action_mask), jax.jit(ENV.step)


def turns_by_submoves(state: Any, path: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Yields the cells of the moving peg for each end of a turn that submoves of the env reach."""
    for action in np.flatnonzero(LEGAL(state)[:-1]).tolist():
        cell, direction = divmod(action, 6)
        is_hop = int(state.board[T.neighbour[cell, direction]]) >= 0
        to = int((T.beyond if is_hop else T.neighbour)[cell, direction])
        yield (*(path or (cell,)), to)
        if is_hop:
            yield from turns_by_submoves(STEP(state, action), (*(path or (cell,)), to))


def test_whole_turns_are_those_that_submoves_reach() -> None:
    random, state, longest = np.random.default_rng(0), ENV.init(), 0
    for _ in range(6):
        for _ in range(30):
            state = STEP(state, int(random.choice(np.flatnonzero(LEGAL(state)))))
        while int(state.peg) >= 0:  # to the beginning of a turn
            state = STEP(state, ENV.num_actions - 1)
        turns = [*whole_turns(2, np.asarray(state.board).tolist())]
        assert sorted(turns) == sorted(turns_by_submoves(state))
        longest = max(longest, *map(len, turns))
    assert longest >= 4, "no chain of three hops was compared"
