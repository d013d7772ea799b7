"""Whole games of Chinese Checkers on the diamond, turn by turn, beside a slow reference that shares no code with ours.

In most games the players are eager: they move forward nine times out of ten, so that games end in wins too; in
every third they play at random. Some games begin in the middle, on crowded boards that no game would lead to. Now
and then somebody plays an illegal action.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import Env, State
from tests.games.chinese_checkers_diamond_reference import Move, Position, Reference

# size, pieces, tip_lock, max_plies: enough for eager players to win, not for random ones
BOARDS = [
    (2, 1, False, 6),
    (3, 1, False, 12),
    (3, 3, False, 25),
    (4, 3, False, 35),
    (4, 6, True, 60),
    (5, 10, False, 60),
    (5, 6, True, 60),
    (6, 6, False, 60),
    (9, 10, False, 120),
    (7, 6, True, 80),
]  # every other one, of all kinds too, in the fast tests


def choose(rng: np.random.Generator, position: Position, moves: dict[int, Move]) -> int:
    """A move that brings a piece furthest towards the tip of the goal, the laggards first."""

    def gain(move: Move) -> float:
        if move is None:
            return 0.0
        way = [sum(cell) for cell in move]
        if position.seat == 0:
            return (way[1] - way[0]) * (10.0 - 0.1 * way[0])
        return (way[0] - way[1]) * (10.0 + 0.1 * way[0])

    if rng.random() < 0.1:
        return int(rng.choice(list(moves)))
    return max(moves, key=lambda action: (gain(moves[action]), rng.random()))


def compiled(env: Env[Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Batched functions of a state: what is seen of it, and what follows."""

    def look(state: State) -> tuple[jax.Array, jax.Array, jax.Array]:
        from_every_seat = jax.vmap(lambda seat: env.observe(state, seat))(jnp.arange(2))
        return env.legal_action_mask(state), env.observe(state), from_every_seat

    return jax.jit(jax.vmap(look)), jax.jit(jax.vmap(lambda state, action: env.step(state, action)))


def batch(states: Sequence[State]) -> Any:
    """Boards as one batch."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *states)


def crowded(rng: np.random.Generator, size: int, max_plies: int) -> str:
    """Any number of pieces anywhere, more or less in the corners they began in or wanted to go to."""
    full, swap = rng.random(), rng.integers(0, 2)
    line = np.add.outer(np.arange(size), np.arange(size)) - (size - 1)
    likely = np.where(line < 0, swap, 1 - swap).astype(str)
    content = np.where(rng.random((size, size)) < 0.7, likely, rng.integers(0, 2, (size, size)).astype(str))
    content = np.where(rng.random((size, size)) < full, content, ".")
    return f"{'/'.join(''.join(row) for row in content)} {rng.integers(0, 2)} {rng.integers(0, max_plies)}"


class Played:
    """Games on one kind of board, played on both sides and compared after every turn."""

    def __init__(self, size: int, pieces: int, tip_lock: bool, max_plies: int, games: int, seed: int):
        self.rng, self.games = np.random.default_rng(seed), games
        self.env = jaxgames.make(
            "chinese_checkers_diamond", size=size, pieces=pieces, tip_lock=tip_lock, max_plies=max_plies
        )
        self.reference = Reference(size, pieces, tip_lock, max_plies)
        self.look, self.step = compiled(self.env)
        self.ends: Counter[str] = Counter()
        texts = [crowded(self.rng, size, max_plies) for _ in range(games // 5)]
        starts = games - len(texts)
        self.positions = [self.reference.start()] * starts + [self.reference.from_string(text) for text in texts]
        self.states = batch(
            [self.env.init(jax.random.key(0))] * starts + [self.env.from_string(text) for text in texts]
        )
        self.play()

    def play(self) -> None:
        turns = 0
        while True:
            moves = [self.reference.legal(position) for position in self.positions]
            self.compare(moves)
            if all(position.over for position in self.positions):
                break
            actions = [self.action(i, moves[i]) for i in range(self.games)]
            self.states = self.step(self.states, np.array(actions, np.int32))
            turns += 1
            played = zip(self.positions, actions, moves, strict=True)
            after = [self.reference.step(*turn) for turn in played]
            for before, position, action, legal in zip(self.positions, after, actions, moves, strict=True):
                if position.over and not before.over:
                    self.ends["truncated" if position.truncated else "won" if action in legal else "illegal"] += 1
                self.ends["passes"] += legal.get(action, 0) is None
            self.positions = after
        assert turns <= self.reference.max_plies

    def action(self, game: int, moves: dict[int, Move]) -> int:
        """Every third game is played at random; a finished board gets any action; one in 500 is any action."""
        if not moves or self.rng.random() < 0.002:
            return int(self.rng.integers(-1, self.env.num_actions + 1))
        if game % 3 == 2:
            return int(self.rng.choice(list(moves)))
        return choose(self.rng, self.positions[game], moves)

    def compare(self, moves: list[dict[int, Move]]) -> None:
        """Everything that the contract promises of a board."""
        state = jax.device_get(self.states)
        masks, views, from_every_seat = jax.device_get(self.look(self.states))
        expected = np.zeros_like(masks)
        for i, legal in enumerate(moves):
            expected[i, list(legal)] = True
        np.testing.assert_array_equal(masks, expected)
        seats = [[self.reference.observation(position, seat) for seat in (0, 1)] for position in self.positions]
        np.testing.assert_array_equal(from_every_seat, seats)
        movers = [position.seat for position in self.positions]
        np.testing.assert_array_equal(views, np.array(seats)[np.arange(self.games), movers])
        np.testing.assert_array_equal(state.current_player, movers)
        for name in ("rewards", "terminated", "truncated", "ply"):
            there = [getattr(position, name) for position in self.positions]
            np.testing.assert_array_equal(getattr(state, name), there, err_msg=name)
        i = int(self.rng.integers(self.games))
        one = jax.tree.map(lambda leaf: leaf[i], state)
        assert self.env.to_string(one) == self.reference.to_string(self.positions[i])
        for action, move in moves[i].items():
            text = self.reference.move_to_string(self.positions[i], move)
            assert self.env.action_to_string(one, action) == text
            assert self.env.action_from_string(one, text) == action


@pytest.mark.parametrize(("size", "pieces", "tip_lock", "max_plies"), BOARDS[::2])
def test_the_reference_agrees_on_whole_games(size: int, pieces: int, tip_lock: bool, max_plies: int) -> None:
    """Legal moves, views, rewards, ends and notation, in 40 games each, 200 in all."""
    played = Played(size, pieces, tip_lock, max_plies, games=40, seed=size)
    assert played.ends["won"] >= 5
    assert played.ends["truncated"] >= 1 or size == 2


@pytest.mark.slow
@pytest.mark.parametrize(("size", "pieces", "tip_lock", "max_plies"), BOARDS)
def test_the_reference_agrees_on_a_thousand_games(size: int, pieces: int, tip_lock: bool, max_plies: int) -> None:
    """10,000 games over all boards."""
    played = Played(size, pieces, tip_lock, max_plies, games=1_000, seed=100 + size)
    assert played.ends["won"] >= 100
    assert played.ends["truncated"] >= 20 or size == 2
    assert played.ends["illegal"] >= 1
    assert played.ends["passes"] >= 1
