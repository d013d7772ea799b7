"""The spaces of the published star environment, against formulas in plain Python, along whole random games."""

import warnings
from collections import Counter
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from pettingzoo.test import api_test, seed_test

import jaxgames
from examples.papers.parameter_sharing.published import PublishedEnv, PublishedLayout, aec_env
from tests.games.chinese_checkers.reference import Move, Position, Reference

STAR = "chinese_checkers(size={}, num_players=6, max_rounds={})"
SMALL = STAR.format(1, 200)


class Slow:
    """The published numbers of a position, from the rules in plain Python; nothing of `jaxgames` is used."""

    def __init__(self, size: int) -> None:
        self.rules = Reference(size, 6)
        self.size, self.side = size, 4 * size + 1

    def observation(self, position: Position, viewer: int) -> list[int]:
        """Planes of zeros and ones; Python's own % is what a negative index of an array does."""
        flat = [0] * (8 * self.side**2)

        def mark(cell: tuple[int, int], plane: int) -> None:
            q, r = self.rules.seen[viewer][cell]
            flat[8 * (self.side * (q % self.side) + r % self.side) + plane] = 1

        for cell, owner in position.pegs.items():
            if owner is not None:
                mark(cell, (owner - viewer) % 6)
        for cell in position.chain[:-1]:
            mark(cell, 6)
        if position.chain:
            mark(position.chain[-1], 7)
        return flat

    def number(self, position: Position, move: Move) -> int:
        """The action (q, r, direction, is_jump), written out as one number."""
        if move.origin is None:
            return 12 * self.side**2
        assert move.direction is not None
        q, r = self.rules.seen[position.seat][move.origin]
        place = (r + 2 * self.size) + self.side * (q + 2 * self.size)
        return int(move.hop) + 2 * (move.direction + 6 * place)

    def legal(self, position: Position) -> dict[int, tuple[int, Move]]:
        """The legal moves by their published numbers, each with the number that it has in jaxgames."""
        moves: dict[int, Move] = {} if position.over else self.rules.moves(position)
        return {self.number(position, move): (own, move) for own, move in moves.items()}


def compare(slow: Slow, position: Position, zoo: PublishedEnv, seat: int) -> None:
    """Compares what an agent is shown."""
    shown = zoo.observe(f"player_{seat}")
    assert shown["observation"].tolist() == slow.observation(position, seat)
    legal = slow.legal(position) if seat == position.seat else {}
    assert np.flatnonzero(shown["action_mask"]).tolist() == sorted(legal)
    assert {array.dtype for array in shown.values()} == {np.dtype(np.int8)}


def play(size: int, max_rounds: int, games: int, seed: int) -> Counter[str]:
    """Plays random games in published numbers, and compares every position; returns what happened in them."""
    rng = np.random.default_rng(seed)
    slow = Slow(size)
    slow.rules.max_rounds = max_rounds
    zoo = PublishedEnv(jaxgames.make(STAR.format(size, max_rounds)))
    layout = zoo.layout
    seen: Counter[str] = Counter()
    for _ in range(games):
        zoo.reset()
        position = slow.rules.start()
        while not position.over:
            assert zoo.agent_selection == f"player_{position.seat}"
            compare(slow, position, zoo, position.seat)
            compare(slow, position, zoo, int(rng.integers(6)))
            legal = slow.legal(position)
            number = int(rng.choice(list(legal)))
            own, move = legal[number]
            assert layout.action(zoo.board, number) == own
            assert layout.published_action(zoo.board, own) == number
            zoo.step(number)
            position = slow.rules.after(position, move)
            assert list(zoo.rewards.values()) == pytest.approx(list(position.rewards), abs=1e-6)
            assert set(zoo.terminations.values()) == {position.terminated}
            assert set(zoo.truncations.values()) == {position.truncated}
            seen.update(hops=move.hop, ends_of_turns=move.origin is None, steps=1)
        seen.update(won=position.terminated, truncated=position.truncated)
        for seat in range(6):
            compare(slow, position, zoo, seat)
    return seen


def test_random_game_has_the_published_numbers() -> None:
    seen = play(size=1, max_rounds=200, games=1, seed=0)
    assert seen["won"] == 1
    assert min(seen["hops"], seen["ends_of_turns"]) > 0


@pytest.mark.slow
@pytest.mark.parametrize(("size", "max_rounds", "games"), [(1, 200, 40), (2, 40, 6), (3, 12, 3), (4, 6, 2)])
def test_many_random_games_have_the_published_numbers(size: int, max_rounds: int, games: int) -> None:
    seen = play(size, max_rounds, games, seed=1)
    assert seen["won"] + seen["truncated"] == games
    assert min(seen["hops"], seen["ends_of_turns"]) > 0
    assert size > 1 or seen["won"] > 0


@pytest.mark.slow
def test_pettingzoo_accepts_the_environment() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        api_test(aec_env(STAR.format(1, 3)), num_cycles=200)
        seed_test(lambda: aec_env(STAR.format(1, 3)), num_cycles=50)


@pytest.mark.parametrize(("size", "actions", "entries"), [(2, 973, 648), (3, 2029, 1352), (4, 3469, 2312)])
def test_spaces_have_the_sizes_of_the_paper(size: int, actions: int, entries: int) -> None:
    zoo = aec_env(STAR.format(size, 10))
    assert zoo.action_space("player_5") == Discrete(actions)
    box, mask = Box(0, 1, (entries,), np.int8), Box(0, 1, (actions,), np.int8)
    assert zoo.observation_space("player_5") == Dict({"observation": box, "action_mask": mask})
    assert vars(zoo.unwrapped)["state_space"] == box


def test_observation_is_the_rolled_one_of_the_env_and_rolls_back() -> None:
    env = jaxgames.make(STAR.format(2, 10))
    layout = PublishedLayout(env)
    own = np.random.default_rng(0).random(env.observation_shape) < 0.5
    published = layout.observation(own)
    np.testing.assert_array_equal(published, np.roll(own, (-4, -4), (0, 1)).reshape(-1))
    assert published.reshape(9, 9, 8)[0, 0].tolist() == own[4, 4].tolist()  # the centre of the board
    np.testing.assert_array_equal(layout.own_observation(published), own)


def test_every_number_is_an_action_or_illegal_at_the_start() -> None:
    """Numbers off the star, of the wrong kind of move, or of no peg are illegal."""
    zoo = PublishedEnv(jaxgames.make(SMALL))
    zoo.reset()
    env, state, mask, layout = zoo.game, zoo.board, zoo.board_info.mask, zoo.layout
    published = layout.mask(state, mask)
    legal = [number for number in range(layout.num_actions) if _is_legal(mask, layout.action(state, number))]
    assert legal == np.flatnonzero(published).tolist()
    assert len(legal) == mask.sum()
    actions = {layout.action(state, number) for number in range(layout.num_actions)}
    assert actions == {*range(env.num_actions), -1}  # each action of the env has a number, and -1 is illegal


def _is_legal(mask: np.ndarray, action: int) -> bool:
    return action >= 0 and bool(mask[action])


def test_number_with_the_wrong_kind_of_move_ends_the_game() -> None:
    for change in (1, 0):
        zoo = aec_env(SMALL)
        zoo.reset()
        observation, *_ = zoo.last()
        assert observation is not None
        number = int(observation["action_mask"].argmax())
        assert number % 2 == 0  # a step
        zoo.step(number + change)
        assert any(zoo.terminations.values()) == (change == 1)
    assert zoo.rewards["player_0"] == pytest.approx(0.001)


@pytest.mark.parametrize("kind", [int, np.int64, np.array, jnp.int32])
def test_published_number_of_any_integer_type_is_the_same_action(kind: Any) -> None:
    zoo = PublishedEnv(jaxgames.make(SMALL))
    zoo.reset()
    zoo.step(kind(zoo.observe("player_0")["action_mask"].argmax()))
    assert zoo.agent_selection == "player_1"  # of the env's own numbers it would be an illegal one
    assert not any(zoo.terminations.values())
    not_an_integer: Any = 1.0
    with pytest.raises(TypeError, match="action must be one integer"):
        zoo.step(not_an_integer)


@pytest.mark.parametrize("game", ["checkers", "chinese_checkers_diamond", "chinese_checkers(size=2, num_players=3)"])
def test_other_games_and_seats_are_refused(game: Any) -> None:
    with pytest.raises(ValueError, match=r"needs 'chinese_checkers\(num_players=6\)' of any size and reward, not"):
        aec_env(game)
