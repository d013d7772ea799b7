"""Whole games of Chinese Checkers, submove by submove, beside two engines that share no code with ours.

- `chinese_checkers_reference`, the rules in slow plain Python: everything that the contract promises.
- OpenSpiel's `chinese_checkers`, for the traditional board of size 4.

In most games the players are eager: they move forward nine times out of ten, so that games end in wins too; in
every third they play at random. Beside the reference somebody plays an illegal action now and then.
"""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest

import jaxgames
from jaxgames import Env, State
from tests.games.chinese_checkers_reference import DIRECTIONS, Cell, Move, Position, Reference, turned

PLAYERS = [2, 3, 4, 6]
REWARDS = ["sparse", "goal", "movement", "positive_sum", "win_loss"]
MAX_ROUNDS = {1: 3, 2: 17, 3: 38, 4: 75}  # enough for an eager player to win, not for a random one


# -- how the players choose -------------------------------------------------------------------------------


def choose(rng: np.random.Generator, reference: Reference, position: Position, moves: dict[int, Move]) -> int:
    """The move that brings a peg furthest towards the tip of the goal, the laggards first."""

    def gain(move: Move) -> float:
        if move.origin is None or move.target is None:
            return 0.0
        return squared_way(move.origin) - squared_way(move.target)

    def squared_way(cell: Cell) -> int:
        q, r = turned(cell, -reference.triangle[position.seat])
        q, r = q + reference.size, r - 2 * reference.size  # seen from the tip
        return max(abs(q), abs(r), abs(q + r)) ** 2

    if rng.random() < 0.1:
        return int(rng.choice(list(moves)))
    return max(moves, key=lambda action: (gain(moves[action]), rng.random()))


def choose_at_random(rng: np.random.Generator, moves: dict[int, Move]) -> int:
    return int(rng.choice(list(moves)))


# -- the reference ----------------------------------------------------------------------------------------


def make_all(size: int, num_players: int, max_rounds: int, rewards: Iterable[str]) -> dict[str, Env[Any]]:
    """One env for each reward scheme."""
    parameters = {"size": size, "num_players": num_players, "max_rounds": max_rounds}
    return {reward: jaxgames.make("chinese_checkers", reward=reward, **parameters) for reward in rewards}


def compiled(envs: dict[str, Env[Any]]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Batched functions of a state: what is seen of it, and what follows in every reward scheme."""
    env = next(iter(envs.values()))

    def look(state: State) -> tuple[jax.Array, jax.Array, jax.Array]:
        from_every_seat = jax.vmap(lambda seat: env.observe(state, seat))(jnp.arange(env.num_players))
        return env.legal_action_mask(state), env.observe(state), from_every_seat

    def step(state: State, action: jax.Array) -> tuple[State, dict[str, jax.Array], jax.Array]:
        following = {reward: scheme.step(state, action) for reward, scheme in envs.items()}
        rewards = {reward: after.rewards for reward, after in following.items()}
        after, *others = following.values()
        same = jnp.bool_(True)
        for other in others:  # a scheme may differ in what it pays, in nothing else
            alike = jax.tree.map(jnp.array_equal, other, dataclasses.replace(after, rewards=other.rewards))
            same &= jnp.all(jnp.stack(jax.tree.leaves(alike)))
        return after, rewards, same

    return jax.jit(jax.vmap(look)), jax.jit(jax.vmap(step))


def batch(states: Sequence[State]) -> Any:
    """Boards as one batch."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *states)


def board(states: State, i: int) -> Any:
    """Board number i of a batch."""
    return jax.tree.map(lambda leaf: leaf[i], states)


class Played:
    """Games of one board size and number of seats, played on both sides and compared after every submove."""

    def __init__(self, size: int, num_players: int, games: int, max_rounds: int, rewards: list[str], seed: int):
        self.rng = np.random.default_rng(seed)
        self.envs = make_all(size, num_players, max_rounds, rewards)
        self.references = {reward: Reference(size, num_players, reward, max_rounds) for reward in rewards}
        self.env, self.reference = self.envs[rewards[0]], self.references[rewards[0]]
        self.games = games
        self.look, self.step = compiled(self.envs)
        self.ends: Counter[str] = Counter()
        self.lowest = dict.fromkeys(rewards, np.inf)
        self.highest = dict.fromkeys(rewards, -np.inf)
        self.sums_to_zero = dict.fromkeys(rewards, True)

    def play(self, texts: list[str] | None = None, limit: int | None = None) -> "Played":
        """Plays all games, from the start or the positions in `texts`, to their ends or for `limit` submoves."""
        if texts is None:
            positions = [self.reference.start()] * self.games
            states = batch([self.env.init(jax.random.key(0))] * self.games)
        else:
            positions = [self.reference.from_string(text) for text in texts]
            states = batch([self.env.from_string(text) for text in texts])
        submoves = 0
        while not all(position.over for position in positions) and submoves != limit:
            moves = [self.reference.legal(position) for position in positions]
            self.compare(submoves, positions, moves, states)
            actions = [self.action(i, positions[i], moves[i]) for i in range(self.games)]
            states, rewards, same = self.step(states, np.array(actions, np.int32))
            assert same.all(), "the reward scheme must change the rewards only"
            positions = self.follow(positions, moves, actions, jax.device_get(rewards))
            submoves += 1
        moves = [self.reference.legal(position) for position in positions]
        self.compare(submoves, positions, moves, states)
        assert self.env.max_steps is None or submoves <= self.env.max_steps
        return self

    def action(self, game: int, position: Position, moves: dict[int, Move]) -> int:
        """Every third game is played at random; a finished board gets any action; one in 2000 is any action."""
        if position.over or self.rng.random() < 0.0005:
            return int(self.rng.integers(-1, self.env.num_actions + 1))
        if game % 3 == 2:
            return choose_at_random(self.rng, moves)
        return choose(self.rng, self.reference, position, moves)

    def follow(
        self,
        positions: list[Position],
        moves: list[dict[int, Move]],
        actions: list[int],
        rewards: dict[str, np.ndarray],
    ) -> list[Position]:
        """The positions after the actions, once what was paid is compared."""
        played = list(zip(positions, actions, moves, strict=True))
        after = [self.reference.step(*submove) for submove in played]
        for scheme, reference in self.references.items():
            paid = np.array([reference.step(*submove).rewards for submove in played])
            assert rewards[scheme].dtype == np.float32
            np.testing.assert_allclose(rewards[scheme], paid, atol=1e-6, err_msg=scheme)
            self.lowest[scheme] = min(self.lowest[scheme], rewards[scheme].min())
            self.highest[scheme] = max(self.highest[scheme], rewards[scheme].max())
            self.sums_to_zero[scheme] &= bool(np.allclose(rewards[scheme].sum(-1), 0, atol=1e-5))
        for position, legal, action, new in zip(positions, moves, actions, after, strict=True):
            if new.over and not position.over:
                self.ends["truncated" if new.truncated else "won" if action in legal else "illegal"] += 1
        return after

    def compare(
        self,
        submoves: int,
        positions: list[Position],
        moves: list[dict[int, Move]],
        states: State,
    ) -> None:
        """Everything that can be asked of a state, beside the reference's answer."""
        states, (masks, observations, from_every_seat) = jax.device_get((states, self.look(states)))
        expected_masks = np.zeros((self.games, self.env.num_actions), bool)
        for i, legal in enumerate(moves):
            expected_masks[i, list(legal)] = True
        np.testing.assert_array_equal(masks, expected_masks)
        expected = np.stack([self.reference.observation(position) for position in positions])
        np.testing.assert_array_equal(observations, expected)
        np.testing.assert_array_equal(states.terminated, [p.terminated for p in positions])
        np.testing.assert_array_equal(states.truncated, [p.truncated for p in positions])
        np.testing.assert_array_equal(states.current_player, [p.seat for p in positions])
        for i, position in enumerate(positions):
            assert self.env.to_string(board(states, i)) == self.reference.to_string(position)

        # what costs more is asked of one board at a time, in turn
        i = submoves % self.games
        state, position = board(states, i), positions[i]
        viewer = (submoves // self.games) % self.env.num_players
        np.testing.assert_array_equal(from_every_seat[i, viewer], self.reference.observation(position, viewer))
        for action, move in moves[i].items():
            text = self.env.action_to_string(state, action)
            assert text == self.reference.move_to_string(move)
            assert self.env.action_from_string(state, text) == action
        text = self.reference.to_string(position)
        if self.reference.from_string(text).over == position.over:  # text is silent about illegal actions
            read = self.env.from_string(text)
            chex.assert_trees_all_equal(dataclasses.replace(read, rewards=state.rewards), state)
            chex.assert_trees_all_equal_dtypes(read, state)


@pytest.mark.parametrize("num_players", PLAYERS)
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_whole_games_follow_the_reference(size: int, num_players: int) -> None:
    """Masks, views, rewards in all five schemes, ends and texts are the reference's, in games that end in every way."""
    played = Played(size, num_players, games=4, max_rounds=MAX_ROUNDS[size], rewards=REWARDS, seed=6).play()
    assert played.ends["won"]
    assert played.ends["truncated"]
    for reward, env in played.envs.items():
        assert env.reward_range[0] <= played.lowest[reward]
        assert played.highest[reward] <= env.reward_range[1]
        assert env.zero_sum == played.sums_to_zero[reward]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("num_players", PLAYERS)
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_many_whole_games_follow_the_reference(size: int, num_players: int, seed: int) -> None:
    """The same at length."""
    Played(size, num_players, games=24, max_rounds=MAX_ROUNDS[size], rewards=REWARDS, seed=seed).play()


@pytest.mark.parametrize("num_players", PLAYERS)
@pytest.mark.parametrize("size", [5, 6, 7, 8])
def test_large_boards_follow_the_reference_for_fifty_submoves(size: int, num_players: int) -> None:
    played = Played(size, num_players, games=2, max_rounds=1000, rewards=["positive_sum"], seed=size)
    played.play(limit=50)


@pytest.mark.parametrize("num_players", PLAYERS)
def test_any_placement_follows_the_reference(num_players: int) -> None:
    """Crowds that never come up in play: seats without pegs, stuck ones, full goals, long chains."""
    played = Played(2, num_players, games=96, max_rounds=3, rewards=REWARDS, seed=0)
    reference, rng = played.reference, played.rng
    texts = []
    for _ in range(played.games):
        density = rng.random()
        pegs: dict[Cell, int | None] = {
            cell: int(rng.integers(num_players)) if rng.random() < density else None for cell in reference.cells
        }
        seat, rounds = int(rng.integers(num_players)), int(rng.integers(3))
        if rng.random() < 0.5:  # somebody's goal is full
            owner = int(rng.integers(num_players))
            pegs |= dict.fromkeys(reference.goal[owner], owner)
        texts.append(reference.to_string(Position(pegs, seat, (), rounds, ())))
    played.play(texts, limit=12)
    assert played.ends["won"]
    assert played.ends["truncated"]


# -- OpenSpiel --------------------------------------------------------------------------------------------

OPEN_SPIEL_DIRECTION = [3, 1, 0, 2, 4, 5]  # of ours: OpenSpiel counts up-left, up-right, left, right, down-left, ...
OPEN_SPIEL_PASS = 726


def open_spiel_actions(reference: Reference) -> np.ndarray:
    """int[num_players, 727], OpenSpiel's number for each of our actions: in absolute cells and directions."""
    numbers = np.full((reference.num_players, reference.end + 1), OPEN_SPIEL_PASS)
    for seat, triangle in enumerate(reference.triangle):
        for i, cell in enumerate(reference.cells):
            for direction, step in enumerate(DIRECTIONS):
                absolute = DIRECTIONS.index(turned(step, triangle))
                origin = reference.index[turned(cell, triangle)]
                numbers[seat, 6 * i + direction] = 6 * origin + OPEN_SPIEL_DIRECTION[absolute]
    return numbers


def open_spiel_rows(state: Any) -> str:
    """The board as in our text: OpenSpiel draws rows from the top and numbers the players from 1."""
    rows = [row.replace(" ", "") for row in str(state).splitlines()[:17]]
    return "/".join("".join("." if c == "." else str(int(c) - 1) for c in row) for row in rows)


def play_beside_open_spiel(num_players: int, games: int, seed: int) -> tuple[int, int]:
    """Plays until all eager games are won, comparing all the way; returns the numbers of submoves and of wins."""
    rng = np.random.default_rng(seed)
    env = jaxgames.make("chinese_checkers", size=4, num_players=num_players, reward="win_loss", max_rounds=100_000)
    reference = Reference(4, num_players, "win_loss", 100_000)  # chooses the moves
    step = jax.jit(jax.vmap(lambda state, action: env.step(state, action)))
    look = jax.jit(jax.vmap(env.legal_action_mask))
    numbers = open_spiel_actions(reference)
    game = pyspiel.load_game("chinese_checkers", {"players": num_players, "max_moves": 1_000_000})

    theirs = [game.new_initial_state() for _ in range(games)]
    positions = [reference.start()] * games
    states = batch([env.init(jax.random.key(0))] * games)
    eager = [i % 3 != 2 for i in range(games)]
    submoves = wins = 0
    while not all(p.over for p, e in zip(positions, eager, strict=True) if e):
        masks, ours = jax.device_get((look(states), states))
        actions = np.zeros(games, np.int32)
        for i, position in enumerate(positions):
            if position.over:
                continue
            rows, seat, chain, _ = env.to_string(board(ours, i)).split()
            legal = np.flatnonzero(masks[i])
            assert rows == open_spiel_rows(theirs[i])
            # First difference: OpenSpiel ends a chain by itself when no hop is left. We ask for `end`.
            went_on = chain != "-" and legal.tolist() == [env.num_actions - 1]
            if not went_on:
                assert int(seat) == ours.current_player[i] == theirs[i].current_player()
                assert sorted(numbers[int(seat), legal]) == theirs[i].legal_actions()
            moves = reference.legal(position)
            actions[i] = choose(rng, reference, position, moves) if eager[i] else choose_at_random(rng, moves)
            positions[i] = reference.step(position, int(actions[i]), moves)
            if not went_on:
                theirs[i].apply_action(int(numbers[int(seat), actions[i]]))
            submoves += 1
        before, states = ours, step(states, actions)
        ours = jax.device_get(states)
        for i in range(games):
            if before.terminated[i]:
                continue
            # Second difference: OpenSpiel looks for a win when the turn ends only, we do after each hop.
            in_chain = env.to_string(board(ours, i)).split()[2] != "-"
            if ours.terminated[i] and in_chain and not theirs[i].is_terminal():
                theirs[i].apply_action(OPEN_SPIEL_PASS)
            assert theirs[i].is_terminal() == ours.terminated[i]
            if ours.terminated[i]:
                assert theirs[i].returns() == ours.rewards[i].tolist()
                wins += 1
    return submoves, wins


@pytest.mark.parametrize(("num_players", "games"), [(2, 9), (3, 6), (4, 5), (6, 4)])
def test_open_spiel_agrees_on_whole_games(num_players: int, games: int) -> None:
    """Legal moves, the board, who moves and who wins."""
    submoves, wins = play_beside_open_spiel(num_players, games, seed=num_players)
    assert submoves >= 2_000
    assert wins >= 2


@pytest.mark.slow
@pytest.mark.parametrize("num_players", PLAYERS)
def test_open_spiel_agrees_on_a_thousand_games(num_players: int) -> None:
    """250 games for each number of players, two thirds of them to the win."""
    _, wins = play_beside_open_spiel(num_players, games=250, seed=100 + num_players)
    assert wins >= 160


# -- symmetry ---------------------------------------------------------------------------------------------


def test_six_seats_are_alike() -> None:
    """Turning the whole board by one triangle and passing every seat's pegs to the next changes nothing for a mover."""
    env = jaxgames.make("chinese_checkers", size=3, num_players=6)
    reference = Reference(3, 6, "positive_sum", 500)
    rng = np.random.default_rng(0)

    def turned_by_one(position: Position) -> Position:
        pegs = {turned(cell, 1): None if seat is None else (seat + 1) % 6 for cell, seat in position.pegs.items()}
        chain = tuple(turned(cell, 1) for cell in position.chain)
        return dataclasses.replace(position, pegs=pegs, seat=(position.seat + 1) % 6, chain=chain)

    def read(position: Position) -> Any:
        return env.from_string(reference.to_string(position))

    pairs: list[tuple[Any, Any, int]] = []
    position = reference.start()
    while len(pairs) < 150 and not position.over:
        moves = reference.legal(position)
        action = choose(rng, reference, position, moves)
        pairs.append((read(position), read(turned_by_one(position)), action))
        position = reference.step(position, action, moves)
    states, turned_states, actions = (batch(part) for part in zip(*pairs, strict=True))

    look = jax.jit(jax.vmap(lambda state: (env.legal_action_mask(state), env.observe(state))))
    step = jax.jit(jax.vmap(lambda state, action: env.step(state, action)))
    chex.assert_trees_all_equal(look(states), look(turned_states))
    after, turned_after = step(states, actions), step(turned_states, actions)
    chex.assert_trees_all_equal(look(after), look(turned_after))
    np.testing.assert_array_equal(np.roll(after.rewards, 1, axis=-1), turned_after.rewards)
    np.testing.assert_array_equal((after.current_player + 1) % 6, turned_after.current_player)
