"""The spaces of two studies, against formulas in plain Python, along random games."""

import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from pettingzoo.test import api_test, seed_test

import jaxgames
from examples.papers.alpha_mini import published as minichess_published
from examples.papers.alpha_mini.published import ACTION, MOVES, NUM_ACTIONS, Move, action_mask, number_of, values
from examples.papers.parameter_sharing import published as star_published
from examples.papers.parameter_sharing.published import PublishedEnv, PublishedLayout, aec_env
from jaxgames.games.minichess.board import KING, VALUES
from jaxgames.games.minichess.rules import LETTERS
from tests.games.chinese_checkers.reference import Move as StarMove
from tests.games.chinese_checkers.reference import Position, Reference
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
    """The king on a1 (row 4, column 0) may go to a2, b2 and b1."""
    env = jaxgames.make("minichess(rules=king_capture)")
    state = env.from_string("4k/P4/5/5/K4 w - - 0 1")
    to_queen, to_knight = (int(number_of(state, env.action_from_string(state, f"a4a5{piece}"))) for piece in "qn")
    assert (to_knight, text_of(to_queen, black=False)) == (-1, "a4a5")
    mask = jax.jit(action_mask)(state, env.legal_action_mask(state))
    of_king = [MOVES.index(Move(KING, 20, target)) for target in (15, 16, 21)]
    assert np.flatnonzero(mask).tolist() == sorted([*of_king, to_queen])


def test_agents_of_pettingzoo_see_values_and_play_by_the_numbers_of_the_study() -> None:
    zoo, rng = minichess_published.PublishedEnv(ENV), np.random.default_rng(0)
    for agent in zoo.possible_agents:
        assert zoo.observation_space(agent)["observation"] == Box(-60_000, 60_000, (5, 5), np.int32)
        assert zoo.action_space(agent) == Discrete(942)
    zoo.reset()
    for ply in range(6):
        shown, other = (zoo.observe(f"player_{seat}") for seat in (ply % 2, 1 - ply % 2))
        mask, _, board = jax.device_get(look(zoo.board))
        np.testing.assert_array_equal(shown["observation"], board)
        np.testing.assert_array_equal(other["observation"], board[::-1], "seen from the other side")
        np.testing.assert_array_equal(shown["action_mask"], mask)
        assert not other["action_mask"].any()
        before, number = zoo.board, int(rng.choice(np.flatnonzero(mask)))
        zoo.step(number)
        assert ENV.to_string(zoo.board) == ENV.to_string(compiled(ENV).step(before, np.int32(ACTION[number])))


def test_number_of_a_piece_that_is_elsewhere_is_illegal() -> None:
    """Number 0 is a rook that leaves a5, where Black's rook stands and not White's."""
    assert MOVES[0].origin == 0
    for number in (-1, NUM_ACTIONS, 0):
        zoo = minichess_published.PublishedEnv(ENV)
        zoo.reset()
        zoo.step(number)
        assert (zoo.rewards["player_0"], zoo.terminations["player_0"]) == (-1.0, True)


STAR = "chinese_checkers(size={}, num_players=6, max_rounds={})"
LONGER = [(1, 200, 40), (2, 40, 6), (3, 12, 3), (4, 6, 2)]  # sizes, limits and numbers of games


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

    def number(self, position: Position, move: StarMove) -> int:
        """The action (q, r, direction, is_jump), written out as one number."""
        if move.origin is None:
            return 12 * self.side**2
        assert move.direction is not None
        q, r = self.rules.seen[position.seat][move.origin]
        place = (r + 2 * self.size) + self.side * (q + 2 * self.size)
        return int(move.hop) + 2 * (move.direction + 6 * place)

    def legal(self, position: Position) -> dict[int, tuple[int, StarMove]]:
        """The legal moves by their published numbers, each with the number that it has in jaxgames."""
        moves: dict[int, StarMove] = {} if position.over else self.rules.moves(position)
        return {self.number(position, move): (own, move) for own, move in moves.items()}


def compare(slow: Slow, position: Position, zoo: PublishedEnv, seat: int) -> None:
    """Compares what an agent is shown."""
    shown = zoo.observe(f"player_{seat}")
    assert shown["observation"].tolist() == slow.observation(position, seat)
    legal = slow.legal(position) if seat == position.seat else {}
    assert np.flatnonzero(shown["action_mask"]).tolist() == sorted(legal)
    assert {array.dtype for array in shown.values()} == {np.dtype(np.int8)}


def play_published(size: int, max_rounds: int, games: int, seed: int) -> Counter[str]:
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


@pytest.mark.parametrize(
    ("size", "max_rounds", "games"), [(1, 200, 1), *(pytest.param(*case, marks=pytest.mark.slow) for case in LONGER)]
)
def test_random_games_have_the_published_numbers(size: int, max_rounds: int, games: int) -> None:
    seen = play_published(size, max_rounds, games, seed=1)
    assert seen["won"] + seen["truncated"] == games
    assert min(seen["hops"], seen["ends_of_turns"]) > 0
    assert size > 1 or seen["won"] > 0


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
    np.testing.assert_array_equal(layout.own_observation(published), own)


def test_every_number_is_an_action_or_illegal_at_the_start() -> None:
    """Numbers off the star, of the wrong kind of move, or of no peg are illegal."""
    zoo = PublishedEnv(jaxgames.make(STAR.format(1, 200)))
    zoo.reset()
    state, mask, layout = zoo.board, zoo.board_info.mask, zoo.layout
    actions = [layout.action(state, number) for number in range(layout.num_actions)]
    assert {*actions} == {*range(zoo.game.num_actions), -1}  # each action of the env has a number, and -1 is illegal
    legal = [number for number, action in enumerate(actions) if action >= 0 and mask[action]]
    assert legal == np.flatnonzero(layout.mask(state, mask)).tolist()
    assert len(legal) == mask.sum()


@pytest.mark.slow
@pytest.mark.parametrize(("module", "game"), [(minichess_published, str(ENV)), (star_published, STAR.format(1, 3))])
def test_pettingzoo_accepts_the_environments_and_other_games_are_refused(module: Any, game: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        api_test(module.aec_env(game), num_cycles=40)
        seed_test(lambda: module.aec_env(game), num_cycles=20)
    with pytest.raises(ValueError, match="the published environment needs"):
        module.aec_env("checkers")
