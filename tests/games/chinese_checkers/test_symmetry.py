"""The six seats of the star are alike: what one seat may do, any other may when it sits there."""

import chex
import jax
import numpy as np

import jaxgames
from tests.games.chinese_checkers.cases import make_reference
from tests.games.chinese_checkers.whole_games import BOARDS, choose_eagerly, named, rotated_by_one
from tests.helpers.positions import batched, board, read_all


def test_seats_are_alike_when_the_board_is_rotated_by_one_triangle() -> None:
    """The mover sees the same, may do the same and is paid the same, in mid-chain too."""
    env = jaxgames.make(named(2, 6))
    reference, rng = make_reference(env), np.random.default_rng(0)
    texts, rotated_texts, actions = list[str](), list[str](), list[int]()
    position = reference.start()
    while len(texts) < 10 * BOARDS:
        legal = reference.legal(position)
        action = choose_eagerly(reference, rng, position, legal)
        texts.append(reference.to_string(position))
        rotated_texts.append(reference.to_string(rotated_by_one(position)))
        actions.append(action)
        position = reference.step(position, action, legal)

    step, _, look = batched(env)
    states, rotated_states = read_all(env, texts), read_all(env, rotated_texts)
    for begin in range(0, len(texts), BOARDS):
        part = slice(begin, begin + BOARDS)
        before, rotated_before = board(states, part), board(rotated_states, part)
        played = np.array(actions[part], np.int32)
        after, rotated_after = jax.device_get((step(before, played), step(rotated_before, played)))
        for one, other in ((before, rotated_before), (after, rotated_after)):
            seen, seen_by_the_next = jax.device_get((look(one), look(other)))
            chex.assert_trees_all_equal(seen._replace(seats=np.roll(seen.seats, 1, axis=1)), seen_by_the_next)
            np.testing.assert_array_equal((one.current_player + 1) % 6, other.current_player)
            np.testing.assert_array_equal(np.roll(one.rewards, 1, axis=-1), other.rewards)
