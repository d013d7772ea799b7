"""Whole games beside OpenSpiel's `chinese_checkers`, which plays the traditional board of size 4."""

import functools
from typing import Any

import jax
import numpy as np
import pyspiel
import pytest

from tests.games.chinese_checkers.pictures import PLAYERS, game
from tests.games.chinese_checkers.reference import DIRECTIONS, Reference, rotated
from tests.games.chinese_checkers.whole_games import choose_eagerly
from tests.helpers.lockstep import at_random
from tests.helpers.positions import batched, board, repeated, start

THEIR_DIRECTION = [3, 1, 0, 2, 4, 5]  # of each of ours: OpenSpiel counts up-left, up-right, left, right, down-left, ...
THEIR_PASS = 726


@functools.cache
def their_actions(num_players: int) -> np.ndarray:
    """int[num_players, 727], OpenSpiel's number for each of our actions: in absolute cells and directions."""
    reference = Reference(4, num_players)
    numbers = np.full((num_players, reference.end_turn + 1), THEIR_PASS)
    for seat, triangle in enumerate(reference.triangle):
        for i, cell in enumerate(reference.cells):
            for direction, step in enumerate(DIRECTIONS):
                absolute = DIRECTIONS.index(rotated(step, triangle))
                origin = reference.index[rotated(cell, triangle)]
                numbers[seat, 6 * i + direction] = 6 * origin + THEIR_DIRECTION[absolute]
    return numbers


def their_rows(state: Any) -> str:
    """The board as in our text: OpenSpiel draws rows from the top and numbers the players from 1."""
    rows = [row.replace(" ", "") for row in str(state).splitlines()[:17]]
    return "/".join("".join("." if c == "." else str(int(c) - 1) for c in row) for row in rows)


def play_beside_open_spiel(num_players: int, games: int, seed: int) -> tuple[int, int]:
    """Plays until all eager games, two of three, are won; returns the numbers of submoves and of wins.

    OpenSpiel differs in two ways. It ends a chain by itself when no hop is left, where we wait for `end`. And it looks
    for a win when the turn ends, where we do after each hop.
    """
    rng = np.random.default_rng(seed)
    env = game(size=4, num_players=num_players, reward="win_loss", max_rounds=100_000)
    reference = Reference(4, num_players, "win_loss", 100_000)  # chooses the submoves
    openspiel = pyspiel.load_game("chinese_checkers", {"players": num_players, "max_moves": 1_000_000})
    numbers = their_actions(num_players)

    theirs = [openspiel.new_initial_state() for _ in range(games)]
    positions, states = [reference.start()] * games, repeated(start(env), games)
    eager = [i % 3 != 2 for i in range(games)]
    submoves = wins = 0
    while not all(position.over for position, is_eager in zip(positions, eager, strict=True) if is_eager):
        masks = np.asarray(batched(env).mask(states))
        actions = np.zeros(games, np.int32)
        live = [i for i in range(games) if not positions[i].over]
        for i in live:
            rows, seat, chain, _ = env.to_string(board(states, i)).split()
            legal = np.flatnonzero(masks[i])
            assert rows == their_rows(theirs[i])
            ended_by_itself = chain != "-" and legal.tolist() == [env.num_actions - 1]
            if not ended_by_itself:
                assert int(seat) == states.current_player[i] == theirs[i].current_player()
                assert sorted(numbers[int(seat), legal]) == theirs[i].legal_actions()
            ours = reference.legal(positions[i])
            choose = functools.partial(choose_eagerly, reference) if eager[i] else at_random
            actions[i] = choose(rng, positions[i], ours)
            positions[i] = reference.step(positions[i], int(actions[i]), ours)
            if not ended_by_itself:
                theirs[i].apply_action(int(numbers[int(seat), actions[i]]))
            submoves += 1
        states = jax.device_get(batched(env).step(states, actions))
        for i in live:
            in_chain = env.to_string(board(states, i)).split()[2] != "-"
            if states.terminated[i] and in_chain and not theirs[i].is_terminal():
                theirs[i].apply_action(THEIR_PASS)
            assert theirs[i].is_terminal() == states.terminated[i]
            if states.terminated[i]:
                assert theirs[i].returns() == states.rewards[i].tolist()
                wins += 1
    return submoves, wins


@pytest.mark.parametrize(
    ("num_players", "games"),
    [(2, 3), *(pytest.param(*each, marks=pytest.mark.slow) for each in [(3, 3), (4, 2), (6, 2)])],
)
def test_open_spiel_agrees_on_whole_games(num_players: int, games: int) -> None:
    """Legal submoves, the board, who moves and who wins."""
    submoves, wins = play_beside_open_spiel(num_players, games, seed=num_players)
    assert submoves >= 500
    assert wins >= 2


@pytest.mark.slow
@pytest.mark.parametrize("num_players", PLAYERS)
def test_open_spiel_agrees_on_a_thousand_games(num_players: int) -> None:
    """250 games for each number of players, two thirds of them to the win."""
    _, wins = play_beside_open_spiel(num_players, games=250, seed=100 + num_players)
    assert wins >= 160
