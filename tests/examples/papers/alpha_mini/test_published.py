"""The observation and the action numbers of Alpha-Mini, beside a slow search for moves on a padded board."""

import warnings
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from pettingzoo.test import api_test

import jaxgames
from examples.papers.alpha_mini.published import (
    ACTION,
    MOVES,
    NUM_ACTIONS,
    Move,
    PublishedEnv,
    action_mask,
    aec_env,
    number_of,
    values,
)
from jaxgames.games.minichess.board import KING, PAWN, ROOK, VALUES
from jaxgames.games.minichess.rules import LETTERS
from tests.helpers.positions import compiled, play, start

ENV = jaxgames.make("minichess(rules=king_capture, reward=material, double_step=True, promotion=queen)")

# The study's board has 9 rows of 7 cells: two rows and one column around it hold WALL. A step up is -7.
WALL, WIDTH = 9, 7
OFFSETS = {
    "R": (-7, 1, 7, -1),
    "N": (-9, -15, -13, -5, 15, 13, 9, 5),
    "B": (8, 6, -8, -6),
    "Q": (8, 6, -8, -6, -7, 1, 7, -1),
    "K": (7, -7, 6, 8, -6, -8, -1, 1),
}


def padded(place: int) -> int:
    return 15 + WIDTH * (place // 5) + place % 5


def slow_moves() -> Iterator[tuple[str, int, int]]:
    """The actions in their order, as (letter, origin, target) on the padded board: first those on an empty board."""
    board = [WALL] * 63
    for place in range(25):
        board[padded(place)] = 0
    for letter, offsets in OFFSETS.items():
        for origin in map(padded, range(25)):
            for offset in offsets:
                target = origin + offset
                while board[target] != WALL:
                    yield letter, origin, target
                    target += offset if letter in "RBQ" else 0
                    if letter in "NK":
                        break
    for origin in map(padded, range(25)):
        if board[origin - 7] != WALL:
            yield "P", origin, origin - 7
            if origin >= 36:  # the study's program lets a pawn on its first rank go two cells too
                yield "P", origin, origin - 14
    for origin in map(padded, range(25)):
        for target in (origin - 8, origin - 6):
            if board[target] != WALL:
                yield "P", origin, target


def test_numbers_are_those_of_a_search_for_moves_on_the_padded_board() -> None:
    expected = list(slow_moves())
    assert [(LETTERS[move.piece], padded(move.origin), padded(move.target)) for move in MOVES] == expected
    assert NUM_ACTIONS == len(set(expected)) == 942


def test_some_numbers_are_known() -> None:
    """A rook from a5 to b5 is the first; a knight's first is a5-b3; the pawn's capture e1xd2 is the last."""
    assert MOVES[0] == Move(ROOK, 0, 1)
    assert sum(move.piece == ROOK for move in MOVES) == 200
    assert MOVES[200][1:] == (0, 11)
    assert MOVES[-1] == Move(PAWN, 24, 18)
    assert MOVES[736][0] == KING


def test_values_are_signed_by_colour_in_rows_from_the_last_rank_of_the_mover() -> None:
    state = start(ENV)
    pieces = [VALUES[LETTERS.index(letter)] for letter in "RNBQK"]
    expected = np.array([[-value for value in pieces], [-100] * 5, [0] * 5, [100] * 5, pieces])
    np.testing.assert_array_equal(look(state)[2], expected)
    after = play(ENV, state, "b1c3")
    expected[4, 1], expected[2, 2] = 0, 280
    np.testing.assert_array_equal(look(after)[2], expected[::-1])
    assert look(after)[2].dtype == np.int32


def text_of(number: int, black: bool) -> str:
    """The move in UCI without the letter of a promotion."""
    ranks = "12345" if black else "54321"
    return "".join("abcde"[place % 5] + ranks[place // 5] for place in MOVES[number][1:])


@jax.jit
def look(state: Any) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The mask of the study, the number of each action of ours, and the values."""
    numbers = jax.vmap(lambda action: number_of(state, action))(np.arange(ENV.num_actions))
    mask = action_mask(state, ENV.legal_action_mask(state))
    return mask, numbers, values(ENV.observe(state), state.current_player == 0)


def test_masks_and_numbers_name_the_legal_moves_of_random_games() -> None:
    rng, promotions = np.random.default_rng(0), 0
    for _ in range(6):
        state = start(ENV)
        while not (state.terminated | state.truncated):
            mask, numbers, board = jax.device_get(look(state))
            legal = np.flatnonzero(compiled(ENV).mask(state))
            assert sorted(numbers[legal]) == np.flatnonzero(mask).tolist()
            np.testing.assert_array_equal(ACTION[numbers[legal]], legal)
            black = bool(state.current_player)
            for action in rng.choice(legal, min(3, len(legal)), replace=False).tolist():
                text, move = ENV.action_to_string(state, action), MOVES[numbers[action]]
                assert text[:4] == text_of(numbers[action], black)
                assert VALUES[move.piece] == abs(board.ravel()[move.origin])
                promotions += len(text) == 5
            state = jax.device_get(compiled(ENV).step(state, np.int32(rng.choice(legal))))
    assert promotions


def test_underpromotion_has_no_number() -> None:
    env = jaxgames.make("minichess(rules=king_capture)")
    state = env.from_string("4k/P4/5/5/K4 w - - 0 1")
    actions = {text: env.action_from_string(state, text) for text in ("a4a5q", "a4a5n", "a1b1")}
    number = jax.jit(number_of)
    numbers = {text: int(number(state, action)) for text, action in actions.items()}
    assert numbers["a4a5n"] == -1
    assert text_of(numbers["a4a5q"], black=False) == "a4a5"
    assert MOVES[numbers["a1b1"]].piece == KING
    mask = jax.jit(action_mask)(state, env.legal_action_mask(state))
    assert np.flatnonzero(mask).tolist() == sorted([*king_numbers(), numbers["a4a5q"]])


def king_numbers() -> list[int]:
    """The king on a1 (row 4, column 0) may go to a2, b2 and b1."""
    return [MOVES.index(Move(KING, 20, target)) for target in (15, 16, 21)]


# -- the environment of PettingZoo -----------------------------------------------------------------------------------


@pytest.mark.parametrize("moves", [6, pytest.param(200, marks=pytest.mark.slow)])
def test_agents_of_pettingzoo_see_values_and_play_by_the_numbers_of_the_study(moves: int) -> None:
    zoo, rng = PublishedEnv(ENV), np.random.default_rng(0)
    for agent in zoo.possible_agents:
        assert zoo.observation_space(agent)["observation"] == Box(-60_000, 60_000, (5, 5), np.int32)
        assert zoo.action_space(agent) == Discrete(942)
    zoo.reset()
    for _ in range(moves):
        if any(zoo.terminations.values()):
            break
        mover = zoo.agent_selection
        shown, other = zoo.observe(mover), zoo.observe(next(agent for agent in zoo.agents if agent != mover))
        mask, _, board = jax.device_get(look(zoo.board))
        np.testing.assert_array_equal(shown["observation"], board)
        np.testing.assert_array_equal(other["observation"], board[::-1], "seen from the other side")
        np.testing.assert_array_equal(shown["action_mask"], mask)
        assert not other["action_mask"].any()
        before, number = zoo.board, int(rng.choice(np.flatnonzero(mask)))
        zoo.step(number)
        assert ENV.to_string(zoo.board) == ENV.to_string(jax.device_get(ENV.step(before, int(ACTION[number]))))


@pytest.mark.slow
def test_pettingzoo_accepts_the_environment() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        api_test(aec_env(str(ENV)), num_cycles=40)


@pytest.mark.parametrize("number", [-1, NUM_ACTIONS, 0])
def test_number_of_a_piece_that_is_elsewhere_is_illegal(number: int) -> None:
    """Number 0 is a rook that leaves a5, where Black's rook stands and not White's."""
    assert MOVES[0].origin == 0
    zoo = PublishedEnv(ENV)
    zoo.reset()
    zoo.step(number)
    assert (zoo.rewards["player_0"], zoo.terminations["player_0"]) == (-1.0, True)


def test_other_game_has_no_environment_of_the_study() -> None:
    with pytest.raises(ValueError, match="the published environment needs 'minichess'"):
        aec_env("checkers")
