"""The spaces of two studies, against formulas in plain Python, along random games."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, ClassVar

import jax
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, Space

import jaxgames
from examples.papers.alpha_mini import published as minichess_published
from examples.papers.alpha_mini.published import MOVES, NUM_ACTIONS, number_of
from examples.papers.parameter_sharing import published as star_published
from examples.papers.parameter_sharing.published import PublishedEnv, PublishedLayout
from jaxgames.games.minichess.rules import LETTERS
from tests.games.chinese_checkers import reference as star_reference
from tests.games.minichess.cases import make_reference
from tests.games.minichess.reference import VALUES, Position, Square

MINICHESS = "minichess(rules=king_capture, reward=material, double_step=True)"

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


SLOW_MOVES = [*slow_moves()]


def test_numbers_are_those_of_a_search_for_moves_on_the_padded_board() -> None:
    assert [(LETTERS[move.piece], padded(move.origin), padded(move.target)) for move in MOVES] == SLOW_MOVES
    assert NUM_ACTIONS == len(set(SLOW_MOVES)) == 942


class SlowMinichess:
    """The published numbers of a position, from the rules in plain Python."""

    number_of: ClassVar[Any] = staticmethod(jax.jit(number_of))

    def __init__(self) -> None:
        env = jaxgames.make(MINICHESS)
        self.rules, self.zoo = make_reference(env), minichess_published.PublishedEnv(env)

    def observation(self, position: Position, viewer: int) -> list[list[int]]:
        """White's pieces are positive; the rows begin with the viewer's last rank, the columns with the file a."""
        board = [[0] * 5 for _ in range(5)]
        for (file, rank), letter in position.board.items():
            board[rank if viewer else 4 - rank][file] = VALUES[letter.lower()] * (1 if letter.isupper() else -1)
        return board

    def legal(self, position: Position) -> dict[int, tuple[int, Any]]:
        """The legal moves by their published numbers, each with the number that it has in jaxgames."""

        def place(square: Square) -> int:
            return padded(5 * (4 - square[1] if position.white else square[1]) + square[0])

        found: dict[int, tuple[int, Any]] = {}
        for own, move in ({} if position.over else self.rules.moves(position)).items():
            origin, target, becomes = move
            if becomes in ("", "q"):
                found[SLOW_MOVES.index((position.board[origin].upper(), place(origin), place(target)))] = own, move
            else:
                assert self.published(own) == -1, "an underpromotion has no number"
        return found

    def own(self, number: int) -> int:
        return self.zoo.own_action(number)

    def published(self, own: int) -> int:
        return int(self.number_of(self.zoo.board, own))


class SlowStar:
    """The same of the star; nothing of `jaxgames` is used."""

    def __init__(self, size: int, max_rounds: int) -> None:
        self.rules = star_reference.Reference(size, 6)
        self.rules.max_rounds = max_rounds
        self.zoo = PublishedEnv(jaxgames.make(STAR.format(size, max_rounds)))
        self.size, self.side = size, 4 * size + 1

    def observation(self, position: star_reference.Position, viewer: int) -> list[int]:
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

    def number(self, position: star_reference.Position, move: star_reference.Move) -> int:
        """The action (q, r, direction, is_jump), written out as one number."""
        if move.origin is None:
            return 12 * self.side**2
        assert move.direction is not None
        q, r = self.rules.seen[position.seat][move.origin]
        place = (r + 2 * self.size) + self.side * (q + 2 * self.size)
        return int(move.hop) + 2 * (move.direction + 6 * place)

    def legal(self, position: star_reference.Position) -> dict[int, tuple[int, Any]]:
        moves = {} if position.over else self.rules.moves(position)
        return {self.number(position, move): (own, move) for own, move in moves.items()}

    def own(self, number: int) -> int:
        return self.zoo.layout.action(self.zoo.board, number)

    def published(self, own: int) -> int:
        return self.zoo.layout.published_action(self.zoo.board, own)


STAR = "chinese_checkers(size={}, num_players=6, max_rounds={})"


def play_published(slow: Any, games: int) -> Counter[str]:
    """Plays random games in published numbers, and compares every position; returns what happened in them."""
    rng, zoo, seen = np.random.default_rng(1), slow.zoo, Counter[str]()

    def compare(position: Any, seat: int) -> None:
        shown = zoo.observe(f"player_{seat}")
        assert zoo.observation_space(f"player_{seat}").contains(shown)
        assert shown["observation"].tolist() == slow.observation(position, seat)
        legal = slow.legal(position) if seat == position.seat else {}
        assert np.flatnonzero(shown["action_mask"]).tolist() == sorted(legal)

    for _ in range(games):
        zoo.reset()
        position: Any = slow.rules.start()
        while not position.over:
            assert zoo.agent_selection == f"player_{position.seat}"
            compare(position, position.seat)
            compare(position, int(rng.integers(slow.rules.num_players)))
            legal = slow.legal(position)
            number = int(rng.choice(list(legal)))
            own, move = legal[number]
            assert (slow.own(number), slow.published(own)) == (own, number)
            illegal = {*range(2), number ^ 1} - legal.keys()  # off the star, and with another `is_jump`
            assert {slow.own(number) for number in illegal}.isdisjoint(own for own, _ in legal.values())
            text = zoo.game.action_to_string(zoo.board, own)
            seen.update(word for word in ("=>", "end", "q") if word in text)
            zoo.step(number)
            position = slow.rules.after(position, move)
            assert list(zoo.rewards.values()) == pytest.approx(list(position.rewards), abs=1e-6)
            assert set(zoo.terminations.values()) == {position.terminated}
            assert set(zoo.truncations.values()) == {position.truncated}
        seen.update(won=position.terminated, truncated=position.truncated)
        for seat in range(slow.rules.num_players):
            compare(position, seat)
            zoo.step(None)  # as PettingZoo asks of every agent once the game is over
    assert seen["won"] + seen["truncated"] == games
    return seen


def test_random_games_of_minichess_have_the_published_numbers() -> None:
    assert play_published(SlowMinichess(), games=3)["q"] > 0, "no pawn became a queen"


@pytest.mark.parametrize(
    ("size", "max_rounds", "games"),
    [
        (1, 200, 1),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in [(1, 200, 40), (2, 40, 6), (3, 12, 3), (4, 6, 2)]),
    ],
)
def test_random_games_of_the_star_have_the_published_numbers(size: int, max_rounds: int, games: int) -> None:
    seen = play_published(SlowStar(size, max_rounds), games)
    assert min(seen["=>"], seen["end"]) > 0
    assert size > 1 or seen["won"] > 0


def test_number_of_a_piece_that_is_elsewhere_is_illegal() -> None:
    """Number 0 is a rook that leaves a5, where Black's rook stands and not White's."""
    assert MOVES[0].origin == 0
    for number in (-1, NUM_ACTIONS, 0):
        zoo = SlowMinichess().zoo
        zoo.reset()
        zoo.step(number)
        assert (zoo.rewards["player_0"], zoo.terminations["player_0"]) == (-1.0, True)


@pytest.mark.parametrize(
    ("module", "game", "box", "actions"),
    [
        (minichess_published, MINICHESS, Box(-60_000, 60_000, (5, 5), np.int32), 942),
        *(
            (star_published, STAR.format(size, 10), Box(0, 1, (entries,), np.int8), actions)
            for size, actions, entries in ((2, 973, 648), (3, 2029, 1352), (4, 3469, 2312))
        ),
    ],
)
def test_spaces_have_the_sizes_of_the_papers(module: Any, game: str, box: Space[Any], actions: int) -> None:
    zoo = module.aec_env(game)
    for agent in zoo.possible_agents:
        assert zoo.action_space(agent) == Discrete(actions)
        mask = Box(0, 1, (actions,), np.int8)
        assert zoo.observation_space(agent) == Dict({"observation": box, "action_mask": mask})
    assert vars(zoo.unwrapped)["state_space"] == box
    with pytest.raises(ValueError, match="the published environment needs"):
        module.aec_env("checkers")


def test_published_observation_rolls_back() -> None:
    env = jaxgames.make(STAR.format(2, 10))
    own = np.random.default_rng(0).random(env.observation_shape) < 0.5
    layout = PublishedLayout(env)
    np.testing.assert_array_equal(layout.own_observation(layout.observation(own)), own)
