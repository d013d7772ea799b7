"""American checkers, which the British call English draughts, on the 32 dark squares of an 8 x 8 board.

A set of squares is one word of 32 bits, and the rules are shifts of words. The state holds the board in the mover's
frame, with the mover at the bottom. So one network can play both seats. A rotation by 180 degrees reverses the bits. A
turn is a step or a chain of jumps. One `step` of the env is one ply: a step, or one jump.

        indices, mover's frame              PDN numbers, as the board is printed (seat 0 on top)

      0  1  2  3  4  5  6  7 column             0  1  2  3  4  5  6  7
    0 .  0  .  1  .  2  .  3                    .  1  .  2  .  3  .  4
    1 4  .  5  .  6  .  7  .                    5  .  6  .  7  .  8  .
    2 .  8  .  9  . 10  . 11                    .  9  . 10  . 11  . 12
    3 12 . 13  . 14  . 15  .                    13 . 14  . 15  . 16  .
    4 . 16  . 17  . 18  . 19                    . 17  . 18  . 19  . 20
    5 20 . 21  . 22  . 23  .                    21 . 22  . 23  . 24  .
    6 . 24  . 25  . 26  . 27                    . 25  . 26  . 27  . 28
    7 28 . 29  . 30  . 31  .                    29 . 30  . 31  . 32  .

For seat 1, at the bottom of the printed board, index i is PDN i + 1. For seat 0 the board is rotated: index i is PDN
32 - i.

Rules and notation: docs/games/checkers.md.
"""

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._checks import MAX_TURN_LIMIT, check_choice, check_int
from jaxgames.bits import W, union
from jaxgames.bits import reversed_bits as rotated  # the board, by 180 degrees: index i becomes 31 - i
from jaxgames.env import Env, State
from jaxgames.games import _text
from jaxgames.games._text import NOBODY, parse_int
from jaxgames.games._won_or_lost import WonOrLost

QUIET_LIMIT = {"wcdf": 80, "openspiel": 40}  # plies without progress that make a draw
FIRST_TURN, LAST_TURN = 40, 60  # by "adjudicated": the turns from which a lead wins, and after which any lead does
FIRST_LEAD = 3  # pieces: the least lead that wins after FIRST_TURN
EARLIEST_END = {**QUIET_LIMIT, "adjudicated": FIRST_TURN}  # by draw rule, the least `quiet` that can end a game
PROGRESS_WORDS = {"wcdf": "a capture or a man's move", "openspiel": "a capture"}
KING_ROW = np.uint32(0x0000000F)  # row 0, where the mover's men are crowned
DIRECTION_NAMES = ("up-right", "down-right", "down-left", "up-left")  # of directions 0 to 3; men go by 0 and 3 only

# For a step in each direction: (mask, shift) of the even rows, and of the odd rows. A positive shift is to higher bits.
# The masks leave out the squares at the edge, from which the step would leave the board.
_STEPS = (
    ((np.uint32(0x07070707), -3), (np.uint32(0xF0F0F0F0), -4)),
    ((np.uint32(0x07070707), 5), (np.uint32(0xF0F0F0F0), 4)),
    ((np.uint32(0x0F0F0F0F), 4), (np.uint32(0xE0E0E0E0), 3)),
    ((np.uint32(0x0F0F0F0F), -4), (np.uint32(0xE0E0E0E0), -5)),
)


@jax.tree_util.register_dataclass
@dataclass(frozen=True, kw_only=True)
class CheckersState(State):
    """One board: 36 bytes. Bit i of each word is the square of index i in the mover's frame."""

    own: jax.Array  # uint32[], the mover's pieces
    opponents: jax.Array  # uint32[], the opponent's pieces
    kings: jax.Array  # uint32[], the kings of both
    jumper: jax.Array  # uint32[], the square of the piece that must jump again; no bit at the beginning of a turn
    quiet: jax.Array  # int16[], by draw rule: plies without progress, or for "adjudicated" the turns played
    ply: jax.Array  # int32[], plies played


@dataclass(frozen=True)
class Checkers(WonOrLost, Env[CheckersState]):
    """American checkers for two seats.

    Args:
      draw_rule: "wcdf": a draw after 80 plies without a capture or a man's move, unless the last ply wins.
        "openspiel": a draw after 40 plies without a capture, even if the last ply would win. "adjudicated": from 40
        turns on, of both seats together, a lead of three pieces wins; after 60 turns any lead wins, and equal numbers
        are a draw.
      max_plies: plies after which the game is truncated. None: no limit, because the draw rule ends every game.

    Action: 4 * index + direction in the mover's frame, directions 0 up-right, 1 down-right, 2 down-left, 3 up-left.
    It is a jump if the next square in that direction holds an opponent's piece, otherwise a step.
    Observation: bool[8, 4, 5], index i at [i // 4, i % 4] in the frame of the viewer, the seat that observes. Planes:
    the viewer's men, its kings, the opponent's men, its kings, the piece that must jump again.
    Reward: 1 to the winner and -1 to the loser, 0 for a draw.
    Source: World Checkers/Draughts Federation, Rules of Draughts (Checkers), 2012; OpenSpiel's `checkers`; Larson,
    Deep reinforcement learning for checkers, 2016 ("adjudicated": its `status_check`).
    """

    id: ClassVar[str] = "checkers"
    num_players: int = field(default=2, init=False)
    draw_rule: str = "wcdf"
    max_plies: int | None = None

    def __post_init__(self) -> None:
        check_choice("draw_rule", self.draw_rule, EARLIEST_END)
        if self.max_plies is not None:
            check_int("max_plies", self.max_plies, 1, MAX_TURN_LIMIT, " or None")

    # -- plain values ------------------------------------------------------------------------------

    @property
    def num_actions(self) -> int:
        return 128

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return (8, 4, 5)

    @property
    def max_steps(self) -> int:
        if self.draw_rule == "adjudicated":
            longest = LAST_TURN + 23 - 2  # 23 jumps end the game, and two turns at least share them
        else:
            # A run of quiet plies ends in the draw, or earlier by progress. Progress can be made only so often: 22
            # captures leave one piece per side, and there are at most 2 sides x 4 men x (5 + 6 + 7) rows = 144 moves of
            # men.
            progress = 22 if self.draw_rule == "openspiel" else 22 + 144
            longest = QUIET_LIMIT[self.draw_rule] * (progress + 1)
        return longest if self.max_plies is None else min(longest, self.max_plies)

    # -- rules -------------------------------------------------------------------------------------

    def _init(self, key: jax.Array | None) -> CheckersState:
        return CheckersState(
            current_player=jnp.int32(0),
            rewards=jnp.zeros(2, jnp.float32),
            terminated=jnp.bool_(False),
            truncated=jnp.bool_(False),
            own=jnp.uint32(0xFFF00000),
            opponents=jnp.uint32(0x00000FFF),
            kings=jnp.uint32(0),
            jumper=jnp.uint32(0),
            quiet=jnp.int16(0),
            ply=jnp.int32(0),
        )

    def _legal_action_mask(self, state: CheckersState) -> jax.Array:
        return unpack(_legal_origins(state))

    def _is_legal(self, state: CheckersState, action: jax.Array) -> jax.Array:
        origins = _choose(action % 4, _legal_origins(state))
        return (action >= 0) & (action < 128) & (origins & _single(action // 4) != 0)

    def _step(self, state: CheckersState, action: jax.Array, key: jax.Array | None) -> CheckersState:
        direction, square = action % 4, _single(action // 4)
        near = _choose(direction, [shift(square, d) for d in range(4)])
        captured = near & state.opponents
        is_jump = captured != 0
        to = jnp.where(is_jump, _choose(direction, [shift(captured, d) for d in range(4)]), near)

        was_man = square & state.kings == 0
        is_crowned = was_man & (to & KING_ROW != 0)
        own, opponents = (state.own & ~square) | to, state.opponents & ~captured
        kings = state.kings & ~(square | captured) | jnp.where(was_man & ~is_crowned, 0, to)
        _, jumps = _move_sources(own, opponents, kings, to)
        jumps_again = is_jump & ~is_crowned & (union(jumps) != 0)

        own, opponents = (
            jnp.where(jumps_again, own, rotated(opponents)),
            jnp.where(jumps_again, opponents, rotated(own)),
        )
        kings = jnp.where(jumps_again, kings, rotated(kings))
        if self.draw_rule == "adjudicated":
            quiet = jnp.where(jumps_again, state.quiet, state.quiet + 1)
        else:
            progress = is_jump | was_man if self.draw_rule == "wcdf" else is_jump
            quiet = jnp.where(progress, 0, state.quiet + 1)
        ended, result = self._result(own, opponents, kings, quiet, ~jumps_again)
        ply = state.ply + 1
        is_mover = np.arange(2) == state.current_player  # of this ply; a result is for the opponent, who is to move
        return CheckersState(
            current_player=jnp.where(jumps_again, state.current_player, 1 - state.current_player),
            rewards=jnp.where(is_mover, -result, result).astype(jnp.float32),
            terminated=ended,
            truncated=jnp.bool_(False) if self.max_plies is None else ~ended & (ply >= self.max_plies),
            own=own,
            opponents=opponents,
            kings=kings,
            jumper=jnp.where(jumps_again, to, 0).astype(jnp.uint32),
            quiet=quiet.astype(jnp.int16),
            ply=ply,
        )

    def _result(
        self, own: jax.Array, opponents: jax.Array, kings: jax.Array, quiet: jax.Array, is_turn: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Returns whether the rules end the game here, bool[], and the result for the side to move, int32[]: 1, 0, -1.

        `is_turn` is whether a turn begins here; the lead is compared only then.
        """
        no_move = _has_no_move(own, opponents, kings)
        if self.draw_rule != "adjudicated":
            drawn = quiet >= QUIET_LIMIT[self.draw_rule]
            lost = no_move if self.draw_rule == "wcdf" else no_move & ~drawn
            return no_move | drawn, -lost.astype(jnp.int32)
        lead = jax.lax.population_count(own).astype(jnp.int32) - jax.lax.population_count(opponents).astype(jnp.int32)
        drawn = quiet >= LAST_TURN
        decided = is_turn & (drawn & (lead != 0) | (quiet >= FIRST_TURN) & (jnp.abs(lead) >= FIRST_LEAD))
        lost = no_move & ~drawn
        return no_move | drawn | decided, jnp.where(decided, jnp.sign(lead), -lost.astype(jnp.int32))

    def _restart_clock(self, state: CheckersState) -> CheckersState:
        return dataclasses.replace(state, ply=jnp.zeros_like(state.ply))

    # -- outcome -----------------------------------------------------------------------------------

    def _winners(self, state: CheckersState) -> jax.Array:
        _, result = self._result(state.own, state.opponents, state.kings, state.quiet, state.jumper == 0)
        return jnp.where(np.arange(2) == state.current_player, result, -result) == 1

    def _reason(self, state: CheckersState) -> str:
        if state.truncated:
            return f"{self.max_plies} plies without a winner"
        own, opponents, kings = map(np.uint32, (state.own, state.opponents, state.kings))
        no_move, quiet = bool(_has_no_move(own, opponents, kings)), int(state.quiet)
        if self.draw_rule == "adjudicated":
            lead = abs(int(own).bit_count() - int(opponents).bit_count())
            least = FIRST_LEAD if quiet < LAST_TURN else 0
            if own and not state.jumper and quiet >= FIRST_TURN and lead >= least:
                what = f"a lead of {lead} piece{'s' * (lead > 1)}" if lead else "equal numbers of pieces"
                return f"{what} after {quiet} turns"
            return "no legal move" if no_move else ""
        limit = QUIET_LIMIT[self.draw_rule]
        drawn = quiet >= limit
        if no_move and (self.draw_rule == "wcdf" or not drawn):
            return "no legal move"
        return f"{limit} plies without {PROGRESS_WORDS[self.draw_rule]}" if drawn else ""

    # -- observation -------------------------------------------------------------------------------

    def _observe(self, state: CheckersState, player: jax.Array) -> jax.Array:
        is_mover = player == state.current_player
        own = jnp.where(is_mover, state.own, rotated(state.opponents))
        opponents = jnp.where(is_mover, state.opponents, rotated(state.own))
        kings, jumper = (jnp.where(is_mover, word, rotated(word)) for word in (state.kings, state.jumper))
        planes = [own & ~kings, own & kings, opponents & ~kings, opponents & kings, jumper]
        return unpack(planes).reshape(8, 4, 5)

    # -- notation ----------------------------------------------------------------------------------

    def _action_to_string(self, state: CheckersState, action: int) -> str:
        """Returns `11-15` for a step, `15x22` for a jump, in PDN numbers."""
        index, direction = divmod(action, 4)
        near = shift(np.uint32(1 << index), direction)
        is_jump = bool(near & np.uint32(state.opponents))
        to = shift(near, direction) if is_jump else near
        seat = int(state.current_player)
        number = _pdn(index, seat)
        if not to:
            raise ValueError(
                f"action {action} names no move: {DIRECTION_NAMES[direction]} from {number} it leaves the board"
            )
        return f"{number}{'x' if is_jump else '-'}{_pdn(_indices(to)[0], seat)}"

    def _action_from_string(self, state: CheckersState, text: str) -> int:
        """Returns the action that a text names, legal or not."""
        found = re.fullmatch(r"([0-9]{1,9})([-x])([0-9]{1,9})", text)
        if not found:
            raise ValueError(f"expected a step '11-15' or a jump '15x22', not {text!r}")
        seat, is_jump = int(state.current_player), found[2] == "x"
        index, target = (
            _index(parse_int(number, "squares from 1 to 32", 1, 32, shown=f"{number} in {text!r}"), seat)
            for number in (found[1], found[3])
        )
        square = np.uint32(1 << index)
        for direction in range(4):
            near = shift(square, direction)
            to = shift(near, direction) if is_jump else near
            if to == np.uint32(1 << target):
                break
        else:
            distance = "two squares along a diagonal from" if is_jump else "diagonally next to"
            raise ValueError(f"expected a square {distance} {found[1]}, not {found[3]} in {text!r}")
        if bool(near & np.uint32(state.opponents)) != is_jump:
            between = _pdn(_indices(near)[0], seat)
            problem = "there is no opponent on" if is_jump else "only a jump 'x' goes over the opponent on"
            raise ValueError(f"{text!r} names no move here: {problem} {between}")
        return 4 * index + direction

    def pieces_of(self, state: CheckersState) -> dict[int, tuple[int, str]]:
        """Returns the seat and "man" or "king" for each PDN square with a piece, those of seat 0 first; on the host."""
        seat, kings = int(state.current_player), int(state.kings)
        sides = [sorted((_pdn(i, seat), i) for i in _indices(word)) for word in (state.own, state.opponents)]
        return {
            square: (owner, "king" if kings >> index & 1 else "man")
            for owner, side in enumerate(sides if seat == 0 else reversed(sides))
            for square, index in side
        }

    def jumper(self, state: CheckersState) -> int | None:
        """Returns the PDN square of the piece that must go on jumping, None if there is none; on the host."""
        return next((_pdn(index, int(state.current_player)) for index in _indices(state.jumper)), None)

    def _to_string(self, state: CheckersState) -> str:
        """Returns PDN's FEN: the side to move, the squares of White and Black, `:J15` for a jump that must follow."""
        sides: list[list[str]] = [[], []]
        for square, (seat, kind) in self.pieces_of(state).items():
            sides[seat].append(f"{'K' if kind == 'king' else ''}{square}")
        black, white = map(",".join, sides)
        jumper = self.jumper(state)
        return f"{'BW'[int(state.current_player)]}:W{white}:B{black}{'' if jumper is None else f':J{jumper}'}"

    def _to_text(self, state: CheckersState) -> str:
        pieces = self.pieces_of(state)
        letters = {square: ("bw" if kind == "man" else "BW")[seat] for square, (seat, kind) in pieces.items()}
        words = [f"{letters.get(square, NOBODY)}{square}" for square in range(1, 33)]
        board: list[str] = []
        for row in range(8):
            dark = words[4 * row : 4 * row + 4]
            cells = [word for square in dark for word in (("", square) if row % 2 == 0 else (square, ""))]
            board.append(_text.row(cells, 4))
        return _text.lines([*board, "b, B: man and king of seat 0, Black    w, W: of seat 1, White"])

    def _from_string(self, text: str) -> CheckersState:
        """Returns any placement of pieces; see `to_string`. There may be blanks around the squares and the colons.

        `terminated` is set if the side to move cannot move. The text records neither the number of plies nor that of
        plies without progress: both counts start from 0.
        """
        fields = [field.strip() for field in text.split(":")]
        if len(fields) not in (3, 4) or sorted(field[:1] for field in fields[1:3]) != ["B", "W"]:
            raise ValueError(f"expected a position such as 'B:W21,K30:B1,2' or 'B:W18,K30:B2,15:J15', not {text!r}")
        if fields[0] not in ("B", "W"):
            raise ValueError(f"expected the side to move, 'B' or 'W', not {fields[0]!r} in {text!r}")
        seat = "BW".index(fields[0])
        sides, kings = {"B": 0, "W": 0}, 0
        for side in fields[1:3]:
            for piece in map(str.strip, side[1:].split(",")) if side[1:] else ():
                found = re.fullmatch(r"(K?)([0-9]{1,2})", piece)
                if not found or not 1 <= int(found[2]) <= 32:
                    raise ValueError(f"expected squares from 1 to 32, 'K' before a king's, not {piece!r} in {side!r}")
                square = 1 << _index(int(found[2]), seat)
                if (sides["B"] | sides["W"]) & square:
                    raise ValueError(f"expected one piece per square, not two on {int(found[2])} in {text!r}")
                sides[side[0]] |= square
                kings |= square if found[1] else 0
        own, opponents = np.uint32(sides["BW"[seat]]), np.uint32(sides["WB"[seat]])
        jumper = np.uint32(0)
        if len(fields) == 4:
            found = re.fullmatch(r"J([0-9]{1,2})", fields[3])
            if not found or not 1 <= int(found[1]) <= 32:
                raise ValueError(f"expected the piece that must go on, such as 'J15', not {fields[3]!r} in {text!r}")
            jumper = np.uint32(1 << _index(int(found[1]), seat)) & own
            if not union(_move_sources(own, opponents, np.uint32(kings), jumper)[1]):
                raise ValueError(f"expected a piece of the side to move that can jump, not {fields[3]!r} in {text!r}")
        return dataclasses.replace(
            self._init(None),
            current_player=jnp.int32(seat),
            terminated=jnp.bool_(_has_no_move(own, opponents, np.uint32(kings))),
            own=jnp.asarray(own),
            opponents=jnp.asarray(opponents),
            kings=jnp.asarray(np.uint32(kings)),
            jumper=jnp.asarray(jumper),
        )


# -- sets of squares, as words of bits --------------------------------------------------------------


def shift(word: W, direction: int) -> W:
    """Returns the set of squares one step in a direction from those of `word`; a step off the board leads nowhere."""
    (even, to_even), (odd, to_odd) = _STEPS[direction]
    return _shift_bits(word & even, to_even) | _shift_bits(word & odd, to_odd)


def _shift_bits(word: W, by: int) -> W:
    """Returns the word with its bits moved to higher places, or to lower ones where `by` is negative."""
    return word << np.uint32(by) if by > 0 else word >> np.uint32(-by)


def _move_sources(own: W, opponents: W, kings: W, movers: W) -> tuple[list[W], list[W]]:
    """Returns two lists of four sets: by direction, the squares from which `movers` can step, and can jump."""
    empty = ~(own | opponents)
    steps: list[W] = []
    jumps: list[W] = []
    for direction in range(4):
        able = movers & kings if direction in (1, 2) else movers
        back = (direction + 2) % 4
        steps.append(able & shift(empty, back))
        jumps.append(able & shift(opponents & shift(empty, back), back))
    return steps, jumps


def _has_no_move(own: W, opponents: W, kings: W) -> Any:
    """Returns bool[], whether the side to move has neither a step nor a jump."""
    steps, jumps = _move_sources(own, opponents, kings, own)
    return union([*steps, *jumps]) == 0


def _legal_origins(state: CheckersState) -> list[jax.Array]:
    """Returns four sets, by direction the squares from which the mover may move. Captures are compulsory."""
    movers = jnp.where(state.jumper != 0, state.jumper, state.own)
    steps, jumps = _move_sources(state.own, state.opponents, state.kings, movers)
    must_jump = union(jumps) != 0
    return [jnp.where(must_jump, jump, step) for step, jump in zip(steps, jumps, strict=True)]


def _single(index: jax.Array) -> jax.Array:
    """Returns the set of one square, uint32[]."""
    return jnp.uint32(1) << index.astype(jnp.uint32)


def _choose(direction: jax.Array, words: Sequence[jax.Array]) -> jax.Array:
    """Returns `words[direction]` for a traced direction from 0 to 3; selects are cheaper than a gather."""
    return jnp.where(
        direction < 2,
        jnp.where(direction == 0, words[0], words[1]),
        jnp.where(direction == 2, words[2], words[3]),
    )


def unpack(words: Sequence[jax.Array]) -> jax.Array:
    """Returns bool[32 * len(words)], the bits of index 0 in every word, then those of index 1, and so on."""
    square, number = np.divmod(np.arange(32 * len(words), dtype=np.uint32), np.uint32(len(words)))
    # With a union of masked words XLA computes each word once per board, and not once for each of its bits.
    masks = [np.where(number == n, np.uint32(1) << square, np.uint32(0)) for n in range(len(words))]
    return union([word & mask for word, mask in zip(words, masks, strict=True)]) != 0


def _indices(word: jax.Array | np.uint32) -> list[int]:
    return [index for index in range(32) if int(word) >> index & 1]


def _pdn(index: int, seat: int) -> int:
    """Returns the PDN number of an index in a seat's frame."""
    return index + 1 if seat == 1 else 32 - index


def _index(number: int, seat: int) -> int:
    """Returns the index, in a seat's frame, of the square with a PDN number."""
    return number - 1 if seat == 1 else 32 - number
