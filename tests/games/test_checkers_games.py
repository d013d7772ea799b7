"""Whole games of checkers, ply by ply, beside engines that share no code with ours.

- `checkers_reference`, the rules in slow plain Python: everything that the contract promises, both draw rules.
- OpenSpiel's `checkers`, for the draw rule "openspiel".
- pydraughts, for the sets of whole moves.
- The published numbers of move sequences, and those of eight positions made for their captures and kings.

Games are played at random; beside the reference somebody plays an illegal action now and then, and some games begin
with a few kings, so that draws come up too.
"""

import dataclasses
import functools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest
from draughts.core.game import Game as Draughts

import jaxgames
from jaxgames import Env, State
from tests.games.checkers.reference import (
    DIRECTIONS,
    PDN,
    SQUARES,
    Move,
    Piece,
    Position,
    Reference,
    other_side,
    plus,
    seen,
)

# -- batches ----------------------------------------------------------------------------------------------


@functools.cache
def game(**parameters: Any) -> Env[Any]:
    return jaxgames.make("checkers", **parameters)


@functools.cache
def compiled(env: Env[Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Batched functions of a state: what is seen of it by the mover and both seats, and what follows an action."""

    def look(state: State) -> tuple[jax.Array, jax.Array, jax.Array]:
        from_every_seat = jax.vmap(lambda seat: env.observe(state, seat))(jnp.arange(2))
        return env.legal_action_mask(state), env.observe(state), from_every_seat

    return jax.jit(jax.vmap(look)), jax.jit(jax.vmap(lambda state, action: env.step(state, action)))


def batch(states: Sequence[State]) -> Any:
    """Boards as one batch."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *jax.device_get(list(states)))


def board(states: State, i: int) -> Any:
    """Board number i of a batch."""
    return jax.tree.map(lambda leaf: leaf[i], states)


def scattered(rng: np.random.Generator, men: tuple[int, int], kings: tuple[int, int]) -> str:
    """The text of pieces on random squares, so many men and kings of either seat, somebody to move."""
    squares = rng.permutation(32)[: sum(men) + sum(kings)]
    owners = [
        (seat, king) for king, numbers in enumerate((men, kings)) for seat in (0, 1) for _ in range(numbers[seat])
    ]
    pieces = {SQUARES[square]: Piece(seat, bool(king)) for square, (seat, king) in zip(squares, owners, strict=True)}
    return Reference().to_string(Position(pieces, int(rng.integers(2))))


def endgames(rng: np.random.Generator, number: int) -> list[str]:
    """Kings and hardly a man: games that last until the draw rule ends them."""
    return [
        scattered(rng, men=(int(rng.integers(2)), int(rng.integers(2))), kings=(int(rng.integers(1, 3)), 1))
        for _ in range(number)
    ]


def hunts(rng: np.random.Generator, number: int) -> list[str]:
    """Two kings on even rows, prey on odd ones: long chains of jumps, also back to where they started."""
    texts: list[str] = []
    for _ in range(number):
        lairs = [square for square in SQUARES if square[0] % 2 == 0]
        paths = [square for square in SQUARES if square[0] % 2 == 1 and 0 < square[0] < 7 and 0 < square[1] < 7]
        pieces = {lairs[i]: Piece(0, True) for i in rng.permutation(len(lairs))[:2]}
        pieces |= {paths[i]: Piece(1, False) for i in rng.permutation(len(paths))[: rng.integers(4, 9)]}
        texts.append(Reference().to_string(Position(pieces, 0)))
    return [other_side(text) if rng.random() < 0.5 else text for text in texts]


def crowds(rng: np.random.Generator, number: int) -> list[str]:
    """Any placement: up to 32 pieces, men on their own king row, a bare side, blocked ones."""
    texts: list[str] = []
    for _ in range(number):
        pieces = int(rng.integers(2, 33))
        kings, black = int(rng.binomial(pieces, rng.random())), rng.random()
        black_men = int(rng.binomial(pieces - kings, black))
        black_kings = int(rng.binomial(kings, black))
        texts.append(scattered(rng, (black_men, pieces - kings - black_men), (black_kings, kings - black_kings)))
    return texts


# -- the reference ----------------------------------------------------------------------------------------


class Played:
    """Games played on both sides and compared after every ply."""

    def __init__(
        self, draw_rule: str, max_plies: int | None, seed: int, illegal: float = 0.0005, *, careful: bool = False
    ) -> None:
        self.rng = np.random.default_rng(seed)
        self.env = game(draw_rule=draw_rule, max_plies=max_plies)
        self.reference = Reference(draw_rule, max_plies)
        self.illegal = illegal
        self.careful = careful  # whether the players leave nothing to be captured if they can
        self.ends: Counter[str] = Counter()
        self.plies = 0

    def play(self, texts: Sequence[str], limit: int | None = None) -> "Played":
        """Plays on from the positions in `texts` to all ends, or for `limit` plies; "start" is the start."""
        games = len(texts)
        positions = [self.reference.start() if t == "start" else self.reference.from_string(t) for t in texts]
        begin = self.env.init(jax.random.key(0))
        states = batch([begin if text == "start" else self.env.from_string(text) for text in texts])
        look, step = compiled(self.env)
        plies = 0
        while not all(position.over for position in positions) and plies != limit:
            moves = [self.reference.legal(position) for position in positions]
            self.compare(plies, positions, moves, states, look(states))
            actions = [self.action(positions[i], moves[i]) for i in range(games)]
            states = jax.device_get(step(states, np.array(actions, np.int32)))
            after = [self.reference.step(*played) for played in zip(positions, actions, moves, strict=True)]
            assert states.rewards.dtype == np.float32
            np.testing.assert_array_equal(states.rewards, [position.rewards for position in after])
            self.count(positions, actions, moves, after)
            positions, plies = after, plies + 1
        moves = [self.reference.legal(position) for position in positions]
        self.compare(plies, positions, moves, states, look(states))
        assert self.env.max_steps is not None
        assert plies <= self.env.max_steps
        return self

    def action(self, position: Position, moves: dict[int, Move]) -> int:
        """A finished board gets any action, and so does a live one now and then."""
        if position.over or self.rng.random() < self.illegal:
            return int(self.rng.integers(-1, 129))
        actions = self.rng.permutation(list(moves)).tolist()
        if self.careful:
            safe = (a for a in actions if not self.captures(self.reference.step(position, a, moves)))
            return next(safe, actions[0])
        return actions[0]

    def captures(self, position: Position) -> bool:
        return any(move.captured is not None for move in self.reference.moves(position))

    def count(
        self,
        before: Sequence[Position],
        actions: Sequence[int],
        moves: Sequence[dict[int, Move]],
        after: Sequence[Position],
    ) -> None:
        for old, action, legal, new in zip(before, actions, moves, after, strict=True):
            self.plies += not old.over
            if new.over and not old.over:
                drawn = new.rewards == (0.0, 0.0)
                how = "illegal" if action not in legal else "cut off" if new.truncated else "drawn" if drawn else "won"
                self.ends[how] += 1

    def compare(
        self,
        plies: int,
        positions: Sequence[Position],
        moves: Sequence[dict[int, Move]],
        states: Any,
        views: tuple[jax.Array, jax.Array, jax.Array],
    ) -> None:
        """Everything that can be asked of a state, beside the reference's answer."""
        masks, observations, from_every_seat = jax.device_get(views)
        expected_masks = np.zeros((len(positions), self.env.num_actions), bool)
        for i, legal in enumerate(moves):
            expected_masks[i, list(legal)] = True
        np.testing.assert_array_equal(masks, expected_masks)
        expected = np.stack([self.reference.observation(position) for position in positions])
        np.testing.assert_array_equal(observations, expected)
        np.testing.assert_array_equal(states.terminated, [p.terminated for p in positions])
        np.testing.assert_array_equal(states.truncated, [p.truncated for p in positions])
        np.testing.assert_array_equal(states.current_player, [p.seat for p in positions])

        # what costs more is asked of about ten boards at a time, in turn
        stride = max(16, len(positions) // 10)
        for i in range(plies % stride, len(positions), stride):
            self.compare_texts(board(states, i), positions[i], moves[i])
            for seat in (0, 1):
                np.testing.assert_array_equal(from_every_seat[i, seat], self.reference.observation(positions[i], seat))

    def compare_texts(self, state: Any, position: Position, moves: dict[int, Move]) -> None:
        text = self.reference.to_string(position)
        assert self.env.to_string(state) == text
        for action, move in moves.items():
            assert self.env.action_to_string(state, action) == self.reference.move_to_string(move)
            assert self.env.action_from_string(state, self.reference.move_to_string(move)) == action
        if self.reference.from_string(text).over == position.over:  # text is silent about draws, limits and fouls
            read = self.env.from_string(text)
            forgotten = dataclasses.replace(read, rewards=state.rewards, quiet=state.quiet, ply=state.ply)
            chex.assert_trees_all_equal(forgotten, state)
            chex.assert_trees_all_equal_dtypes(read, state)
            assert (int(read.quiet), int(read.ply)) == (0, 0)


@pytest.mark.parametrize("draw_rule", ["wcdf", "openspiel"])
def test_whole_games_follow_the_reference(draw_rule: str) -> None:
    """Masks, views, rewards, ends and texts are the reference's, in games that end in every way."""
    played = Played(draw_rule, None, seed=1, illegal=0.001).play(["start"] * 210)
    assert played.plies > 10_000
    assert min(played.ends[how] for how in ("won", "illegal")) >= 10
    assert played.ends["drawn"] >= 20 or draw_rule == "wcdf"  # random kings do not live for 80 plies


@pytest.mark.parametrize("draw_rule", ["wcdf", "openspiel"])
def test_games_that_are_cut_off_follow_the_reference(draw_rule: str) -> None:
    """60 plies: about when random games end of themselves."""
    played = Played(draw_rule, 60, seed=2).play(["start"] * 100)
    assert played.ends["cut off"] >= 20
    assert played.ends["won"] >= 5


@pytest.mark.parametrize("draw_rule", ["wcdf", "openspiel"])
def test_king_endgames_follow_the_reference(draw_rule: str) -> None:
    """Careful players draw, careless ones do not."""
    played = Played(draw_rule, None, seed=3, careful=True)
    played.play(endgames(played.rng, 60))
    assert played.ends["drawn"] >= 20
    played.careful = False
    played.play(endgames(played.rng, 60))
    assert played.ends["won"] >= 20


def test_any_placement_follows_the_reference() -> None:
    played = Played("wcdf", None, seed=4)
    played.play([*crowds(played.rng, 300), *hunts(played.rng, 100)], limit=14)
    assert played.ends["won"] >= 100


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("draw_rule", ["wcdf", "openspiel"])
def test_ten_thousand_games_follow_the_reference(draw_rule: str, seed: int) -> None:
    """1,000 games for each draw rule and seed, a tenth of them king endgames of careful players."""
    played = Played(draw_rule, None, seed=10 + seed)
    played.play(["start"] * 900)
    played.play([*crowds(played.rng, 500), *hunts(played.rng, 500)], limit=20)
    played.careful = True
    played.play(endgames(played.rng, 100))


# -- numbers of move sequences ------------------------------------------------------------------------------

CHUNK = 4096  # boards that are expanded at once
POSITION = ("own", "opponents", "kings", "jumper", "current_player")  # what the future depends on, but for draws


@functools.cache
def expansion() -> tuple[Callable[..., Any], Callable[..., Any]]:
    env = game()
    begin = env.init(jax.random.key(0))

    def state(words: Sequence[jax.Array]) -> Any:
        return dataclasses.replace(begin, **dict(zip(POSITION, words, strict=True)))

    def after(words: Sequence[jax.Array], action: jax.Array) -> list[jax.Array]:
        state_after = env.step(state(words), action)
        return [getattr(state_after, name) for name in POSITION]

    return jax.jit(jax.vmap(lambda words: env.legal_action_mask(state(words)))), jax.jit(jax.vmap(after))


def in_chunks(function: Callable[..., Any], *arguments: Any) -> Any:
    """`function` over a first axis of any length, with one shape to compile for."""
    (length, *_) = (len(leaf) for leaf in jax.tree.leaves(arguments))
    parts = []
    for begin in range(0, length, CHUNK):
        size = min(CHUNK, length - begin)
        chunk = jax.tree.map(lambda x, b=begin, s=size: np.pad(x[b : b + s], (0, CHUNK - s)), arguments)
        parts.append(jax.tree.map(lambda x, s=size: np.asarray(x)[:s], function(*chunk)))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


def move_sequences(text: str, depth: int, *, whole: bool) -> list[int]:
    """How many sequences of 1, 2, ... `depth` plies there are, or of whole moves; positions met twice are merged.

    A whole capture is one move, and two ways through the board are two moves, even if they capture the same pieces.
    """
    mask, step = expansion()
    start = game().from_string(text)
    positions, ways = [np.asarray(getattr(start, name))[None] for name in POSITION], np.ones(1, np.int64)
    numbers: list[int] = []
    for _ in range(depth):
        reached: list[tuple[list[np.ndarray], np.ndarray]] = []
        while len(ways):  # once where plies are counted, as long as somebody jumps on where moves are
            boards, actions = np.nonzero(in_chunks(mask, positions))
            if not len(boards):
                break
            positions = in_chunks(step, [word[boards] for word in positions], actions.astype(np.int32))
            ways = ways[boards]
            goes_on = (positions[POSITION.index("jumper")] != 0) & whole
            reached.append(([word[~goes_on] for word in positions], ways[~goes_on]))
            positions, ways = [word[goes_on] for word in positions], ways[goes_on]
        if not reached:
            numbers += [0] * (depth - len(numbers))
            break
        positions = [np.concatenate(words) for words in zip(*(words for words, _ in reached), strict=True)]
        ways = np.concatenate([ways for _, ways in reached])
        numbers.append(int(ways.sum()))
        keys = np.stack([word.astype(np.uint32) for word in positions], 1)
        keys, where = np.unique(keys, axis=0, return_inverse=True)
        ways = np.bincount(where.ravel(), ways, len(keys)).astype(np.int64)
        positions = [keys[:, i].astype(word.dtype) for i, word in enumerate(positions)]
    return numbers


START = "B:W21,22,23,24,25,26,27,28,29,30,31,32:B1,2,3,4,5,6,7,8,9,10,11,12"
WHOLE_MOVES = [7, 49, 302, 1469, 7361, 36768, 179740, 845931, 3963680, 18391564]
PLIES = [7, 49, 302, 1469, 7361, 36768, 179255, 838248]
POSITIONS = {  # sequences of 1 to 5 whole moves, and of 1 to 5 plies
    "B:W9,10,17,18,32:BK6": ([2, 4, 16, 24, 72], [2, 2, 2, 2, 4]),  # a king comes back to where it started
    "B:W9,26,27:B1,22": ([1, 4, 11, 27, 91], [1, 4, 11, 27, 91]),  # crowning ends the turn
    "B:W10,17,18,32:B2,6": ([1, 4, 16, 56, 212], [1, 1, 4, 16, 56]),
    "B:WK22,K30:B25,K29": ([0, 0, 0, 0, 0], [0, 0, 0, 0, 0]),  # blocked
    "B:W7,8,10,15,16,18,23,24,26:B1,K3,K11": ([4, 29, 90, 570, 2081], [4, 23, 71, 366, 1247]),
    "B:WK1,K11,24,26,27,28,30:B8,13,20": ([1, 7, 17, 77, 205], [1, 7, 17, 72, 198]),
    "W:WK16,18,21,25,26,27,28,31,32:B1,9,10,11,13": ([1, 2, 12, 31, 161], [1, 1, 1, 2, 12]),
    "W:W9,21,23,25,26,28:B8,16,24": ([1, 0, 0, 0, 0], [1, 1, 1, 0, 0]),
}


def test_as_many_whole_moves_as_published() -> None:
    """Eight moves deep: 845,931 ways. The tenth is a slow test."""
    assert move_sequences(START, 8, whole=True) == WHOLE_MOVES[:8]


def test_as_many_plies_as_known() -> None:
    """One jump at a time, as our steps are."""
    assert move_sequences(START, 8, whole=False) == PLIES


@pytest.mark.slow
def test_as_many_whole_moves_as_published_ten_deep() -> None:
    assert move_sequences(START, 10, whole=True) == WHOLE_MOVES


@pytest.mark.parametrize("text", POSITIONS)
def test_as_many_moves_from_positions_full_of_captures(text: str) -> None:
    assert move_sequences(text, 5, whole=True) == POSITIONS[text][0]
    assert move_sequences(text, 5, whole=False) == POSITIONS[text][1]


# -- OpenSpiel --------------------------------------------------------------------------------------------

OPEN_SPIEL_DIRECTION = (1, 2, 3, 0)  # of ours: OpenSpiel counts clockwise from up-left
OPEN_SPIEL_PIECES = {"o": "b", "8": "bk", "+": "w", "*": "wk"}


def open_spiel_action(action: int, seat: int) -> tuple[int, int]:
    """OpenSpiel's numbers of the step and of the jump; its board is seat 0's frame, with the light squares."""
    index, direction = divmod(action, 4)
    index, direction = (index, direction) if seat == 0 else (31 - index, (direction + 2) % 4)
    row, column = index // 4, 2 * (index % 4) + (index // 4 + 1) % 2
    step = 2 * (4 * (8 * row + column) + OPEN_SPIEL_DIRECTION[direction])
    return step, step + 1


OPEN_SPIEL_ACTION = np.array([[open_spiel_action(action, seat) for action in range(128)] for seat in (0, 1)])


def open_spiel_sides(state: Any) -> tuple[str, str]:
    """White's and Black's squares as PDN has them, from OpenSpiel's drawing."""
    sides: dict[str, list[tuple[int, str]]] = {"w": [], "b": []}
    for row, line in enumerate(str(state).splitlines()[:8]):
        for column, letter in enumerate(line[1:]):
            if letter != ".":
                colour, *king = OPEN_SPIEL_PIECES[letter]
                number = 32 - (4 * row + column // 2)
                sides[colour].append((number, f"{'K' if king else ''}{number}"))
    white, black = (",".join(text for _, text in sorted(sides[colour])) for colour in ("w", "b"))
    return white, black


def play_beside_open_spiel(games: int, seed: int) -> Counter[str]:
    """Plays random games to their ends, comparing all the way; returns how they ended, and "plies"."""
    rng = np.random.default_rng(seed)
    env = game(draw_rule="openspiel")
    look, step = compiled(env)
    theirs = [pyspiel.load_game("checkers").new_initial_state() for _ in range(games)]
    states = batch([env.init(jax.random.key(0))] * games)
    counted: Counter[str] = Counter()
    live = list(range(games))
    while live:
        masks, _, _ = jax.device_get(look(states))
        actions = np.full(games, -1, np.int32)
        for i in live:
            seat = int(states.current_player[i])
            legal = np.flatnonzero(masks[i])
            either = OPEN_SPIEL_ACTION[seat, legal]
            allowed = theirs[i].legal_actions()
            assert seat == theirs[i].current_player()
            is_jump = allowed[0] % 2  # all of them are jumps, or none is
            assert sorted(either[:, is_jump]) == sorted(allowed)
            choice = int(rng.random() * len(legal))
            actions[i] = legal[choice]
            theirs[i].apply_action(int(either[choice, is_jump]))
        states = jax.device_get(step(states, actions))
        counted["plies"] += len(live)
        for i in live:
            assert theirs[i].is_terminal() == states.terminated[i]
            if counted["plies"] % 7 == i % 7 or theirs[i].is_terminal():
                white, black = open_spiel_sides(theirs[i])
                assert env.to_string(board(states, i)).split(":")[1:3] == [f"W{white}", f"B{black}"]
            if theirs[i].is_terminal():
                assert theirs[i].returns() == states.rewards[i].tolist()
                counted["drawn" if not states.rewards[i].any() else "won"] += 1
        live = [i for i in live if not theirs[i].is_terminal()]
    assert not states.truncated.any()
    return counted


def test_open_spiel_agrees_on_whole_games() -> None:
    """Legal plies, the board, who moves, when it is over and what it pays: nothing differs."""
    counted = play_beside_open_spiel(games=200, seed=0)
    assert counted["plies"] > 10_000
    assert min(counted["won"], counted["drawn"]) >= 20


# The 40th ply without a capture, 8-3, leaves White's five pieces without a move.
BLOCKED_AT_THE_LIMIT = """
    11-15 23-18 9-14 18x9 5x14 27-23 15-19 24x15 10x19 23x16 12x19 22-17 7-11 17x10 6x15 32-27 11-16 25-22
    16-20 30-25 19-24 28x19 19x10 2-7 22-17 7x14 17x10 1-6 10x1 20-24 27x20 3-7 1-6 7-11 6-9 11-16 20x11
    8x15 9-6 15-19 25-22 19-24 22-17 4-8 17-13 8-12 29-25 24-27 31x24 12-16 26-23 16-20 6-9 20x27 21-17
    27-31 23-18 31-27 18-15 27-32 15-10 32-27 9-5 27-32 10-7 32-28 17-14 28-32 13-9 32-28 25-22 28-24 7-2
    24-27 5-1 27-24 9-6 24-19 22-17 19-16 14-10 16-12 17-13 12-8 1-5 8-12 10-7 12-16 13-9 16-12 5-1 12-8 9-5
    8-3
"""


def test_open_spiel_draws_where_the_last_quiet_ply_would_win() -> None:
    """A game found by search: it is drawn for OpenSpiel, and Black's by the federation's rules."""
    theirs = pyspiel.load_game("checkers").new_initial_state()
    states = {draw_rule: game(draw_rule=draw_rule).init(jax.random.key(0)) for draw_rule in ("openspiel", "wcdf")}
    for ply in BLOCKED_AT_THE_LIMIT.split():
        assert not theirs.is_terminal()
        assert not any(state.terminated for state in states.values())
        action = game().action_from_string(states["wcdf"], ply)
        for draw_rule, state in states.items():
            one = jax.tree.map(lambda leaf: leaf[None], state)
            states[draw_rule] = board(compiled(game(draw_rule=draw_rule))[1](one, jnp.array([action])), 0)
        theirs.apply_action(int(OPEN_SPIEL_ACTION[theirs.current_player(), action, int("x" in ply)]))
    assert theirs.is_terminal()
    assert all(state.terminated for state in states.values())
    assert theirs.returns() == states["openspiel"].rewards.tolist() == [0, 0]
    assert states["wcdf"].rewards.tolist() == [1, -1]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
def test_open_spiel_agrees_on_ten_thousand_games(seed: int) -> None:
    """1,000 games a seed."""
    play_beside_open_spiel(games=1000, seed=seed)


# -- pydraughts -------------------------------------------------------------------------------------------


def squares(action: int, seat: int, *, is_jump: bool) -> tuple[int, int]:
    """The PDN numbers of the squares that a ply goes from and to."""
    index, direction = divmod(action, 4)
    origin = SQUARES[index]  # the mover's frame is numbered as the printed board is
    target = plus(origin, DIRECTIONS[direction], 2 if is_jump else 1)
    return PDN[seen(origin, seat)], PDN[seen(target, seat)]


def whole_moves(texts: Sequence[str]) -> list[list[tuple[int, ...]]]:
    """Of every position, our whole moves as the squares that the piece comes through."""
    mask, step = expansion()
    states = batch([game().from_string(text) for text in texts])
    words = [getattr(states, name) for name in POSITION]
    ways = [(i, ()) for i in range(len(texts))]
    found: list[list[tuple[int, ...]]] = [[] for _ in texts]
    while ways:
        boards, actions = np.nonzero(in_chunks(mask, words))
        if not len(boards):
            break
        before = [word[boards] for word in words]
        after = in_chunks(step, before, actions.astype(np.int32))
        seats, jumpers = before[POSITION.index("current_player")], after[POSITION.index("jumper")]
        pieces = [np.bitwise_count(own) + np.bitwise_count(others) for own, others, *_ in (before, after)]
        came: list[tuple[int, tuple[int, ...]]] = []
        for n, (origin, action) in enumerate(zip(boards.tolist(), actions.tolist(), strict=True)):
            i, path = ways[origin]
            leg = squares(action, int(seats[n]), is_jump=pieces[1][n] < pieces[0][n])
            came.append((i, (*path, leg[1]) if path else leg))
            if not jumpers[n]:
                found[i].append(came[-1][1])
        ways = [way for way, jumper in zip(came, jumpers, strict=True) if jumper]
        words = [word[jumpers != 0] for word in after]
    return found


def draughts_moves(text: str) -> list[tuple[int, ...]]:
    """pydraughts gives a move as its legs."""
    moves, _ = Draughts(variant="american", fen=text).legal_moves()
    return [(legs[0][0], *(to for _, to in legs)) for legs in moves]


def positions_of_random_games(games: int, seed: int, share: float) -> list[str]:
    """A random share of the positions in which a turn begins."""
    rng = np.random.default_rng(seed)
    env = game()
    look, step = compiled(env)
    states = batch([env.init(jax.random.key(0))] * games)
    texts: list[str] = []
    while not states.terminated.all():
        masks, _, _ = jax.device_get(look(states))
        texts += [
            env.to_string(board(states, i))
            for i in range(games)
            if not states.terminated[i] and not states.jumper[i] and rng.random() < share
        ]
        states = jax.device_get(step(states, (masks * rng.random(masks.shape)).argmax(-1).astype(np.int32)))
    return texts


def compare_with_draughts(texts: Sequence[str]) -> Counter[int]:
    """How many whole moves of each length there were, having compared them all."""
    lengths: Counter[int] = Counter()
    for text, moves in zip(texts, whole_moves(texts), strict=True):
        assert sorted(moves) == sorted(draughts_moves(text)), text
        lengths += Counter(len(move) - 1 for move in moves)
    return lengths


def test_pydraughts_agrees_on_the_moves_of_random_games() -> None:
    texts = positions_of_random_games(games=200, seed=0, share=0.1)
    assert len(texts) > 800
    assert compare_with_draughts(texts)[2] >= 10


def test_pydraughts_agrees_on_the_moves_of_any_placement() -> None:
    rng = np.random.default_rng(0)
    lengths = compare_with_draughts([*crowds(rng, 300), *hunts(rng, 300)])
    assert sum(number for length, number in lengths.items() if length >= 5) >= 50


@pytest.mark.slow
def test_pydraughts_agrees_on_the_moves_of_many_games() -> None:
    compare_with_draughts(positions_of_random_games(games=400, seed=1, share=0.3))
    rng = np.random.default_rng(1)
    compare_with_draughts([*crowds(rng, 2_000), *hunts(rng, 2_000)])


# -- symmetry ---------------------------------------------------------------------------------------------


def test_both_seats_are_alike() -> None:
    """Turning the board and changing the colours changes nothing for a mover.

    It is the only symmetry of the board: a mirror would send the dark squares to the light ones.
    """
    env = game()
    look, step = compiled(env)
    rng = np.random.default_rng(0)
    texts = [*crowds(rng, 150), *endgames(rng, 50)]
    states = batch([env.from_string(text) for text in texts])
    others = batch([env.from_string(other_side(text)) for text in texts])
    for _ in range(6):
        views, other_views = jax.device_get((look(states), look(others)))
        chex.assert_trees_all_equal(views[:2], other_views[:2])
        np.testing.assert_array_equal(views[2], other_views[2][:, ::-1])  # seen by seats 0 and 1
        actions = (views[0] * rng.random(views[0].shape)).argmax(-1).astype(np.int32)
        states, others = jax.device_get((step(states, actions), step(others, actions)))
        np.testing.assert_array_equal(states.current_player, 1 - others.current_player)
        np.testing.assert_array_equal(states.rewards, others.rewards[:, ::-1])
        np.testing.assert_array_equal(states.terminated, others.terminated)
