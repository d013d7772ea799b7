"""Chess on 5 x 5 cells, for two seats: seat 0 is White and moves first.

The moves of the pieces, and the numbers of the actions: `jaxgames/games/minichess/board.py`. The mask and the
observation: `jaxgames/games/minichess/moves.py`.

The state holds the position in the mover's frame: for Black, ranks are mirrored and colours exchanged. So one network
can play both seats. Under standard rules a state also stores a hash of every position since the last capture or pawn
move; only those can occur again.

Rules, rewards and notation: docs/games/minichess.md.
"""

import dataclasses
import functools
import re
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._checks import MAX_TURN_LIMIT, check_choice, check_int
from jaxgames._platforms import written
from jaxgames.bits import union
from jaxgames.env import Env, State
from jaxgames.games import _text
from jaxgames.games._text import parse_int, split_fields, split_rows
from jaxgames.games._won_or_lost import WonOrLost
from jaxgames.games.minichess import board
from jaxgames.games.minichess.board import MoveMasks, Position
from jaxgames.games.minichess.moves import action_mask, random_action

BOARDS = {
    "gardner": "rnbqk/ppppp/5/PPPPP/RNBQK",
    "baby": "kqbnr/ppppp/5/PPPPP/RNBQK",
    "mallet": "rbkqb/ppppp/5/PPPPP/RNKQN",
}
MAX_PLIES = {"standard": 256, "king_capture": 200}
LETTERS = "PNBRQK"  # of the pieces, in the order of `Position.pieces`
SQUARES = [f"{file}{rank}" for rank in range(5, 0, -1) for file in "abcde"]  # row by row from the top
CELL_AT = np.argsort(board.PLACE).astype(np.uint32)  # uint32[25], the cell at each place of an observation, row by row
QUIET_LIMIT = 100  # plies without a capture or a pawn move that make a draw


@jax.tree_util.register_dataclass
@dataclass(frozen=True, kw_only=True)
class MinichessState(State):
    """One board: 51 bytes, and 800 more under standard rules."""

    position: Position  # in the mover's frame
    ply: jax.Array  # int32[], plies since the start
    quiet: jax.Array  # int32[], plies since the last capture or pawn move
    occurred: jax.Array  # int8[], how often this position occurred before; 0 under "king_capture"
    history: jax.Array | None  # uint32[2, 100], the hash after each quiet ply, 0 beyond; None under "king_capture"


@dataclass(frozen=True)
class Minichess(WonOrLost, Env[MinichessState]):
    """Chess on 5 x 5 cells.

    Args:
      board: the start: "gardner", "baby" or "mallet".
      rules: "standard": check, mate and stalemate; draws after 100 plies without a capture or a pawn move, at the third
        occurrence of a position, and with insufficient material. "king_capture": a move may leave the king in check,
        a player who captures the king wins, and a player without a move draws.
      reward: "win_loss": 1 to the winner, -1 to the loser. "material": after every ply the mover is paid the change
        of (its material minus the opponent's) / 1000, the opponent the negation. The end pays nothing extra.
      double_step: whether a pawn on its second rank may go two cells forward.
      promotion: the pieces that a pawn may become on its last rank: "all" or "queen".
      max_plies: plies after which the game is truncated. None: 256 under standard rules, 200 under "king_capture".

    Action: from * 49 + plane in the mover's frame, 1225 in all; see `board.py`.
    Observation: bool[5, 5, 15] at [5 - rank, file] in the frame of the viewer, the seat that observes. Planes: the
    viewer's P, N, B, R, Q, K; the opponent's; the mover is Black; the position occurred before; it occurred twice.
    Source: the actions are those of Pgx's gardner_chess.
    """

    id: ClassVar[str] = "minichess"
    num_players: int = dataclasses.field(default=2, init=False)
    board: str = "gardner"
    rules: str = "standard"
    reward: str = "win_loss"
    double_step: bool = False
    promotion: str = "all"
    max_plies: int | None = None

    def __post_init__(self) -> None:
        check_choice("board", self.board, BOARDS)
        check_choice("rules", self.rules, MAX_PLIES)
        check_choice("reward", self.reward, ("win_loss", "material"))
        check_choice("double_step", self.double_step, (False, True))
        check_choice("promotion", self.promotion, ("all", "queen"))
        if self.max_plies is None:
            object.__setattr__(self, "max_plies", MAX_PLIES[self.rules])
        check_int("max_plies", self.max_plies, 1, MAX_TURN_LIMIT, " or None")

    # -- plain values ------------------------------------------------------------------------------

    @property
    def num_actions(self) -> int:
        return 25 * board.NUM_PLANES

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return (5, 5, 15)

    @property
    def max_steps(self) -> int:
        assert self.max_plies is not None  # settled in __post_init__
        return self.max_plies

    @property
    def reward_range(self) -> tuple[float, float]:
        if self.reward == "win_loss":
            return -1.0, 1.0
        prize = board.VALUES[board.KING if self._king_capture else board.QUEEN]  # by a pawn that becomes a queen
        most = float(np.float32((prize + board.VALUES[board.QUEEN] - board.VALUES[board.PAWN]) / 1000))
        return -most, most

    @property
    def terminal_rewards(self) -> bool:
        return self.reward == "win_loss"

    @property
    def return_range(self) -> tuple[float, float]:
        promoted = sum(board.VALUES) + 5 * board.VALUES[board.QUEEN]  # all pawns promoted
        most = 1.0 if self.terminal_rewards else promoted / 1000
        return -most, most

    @property
    def _king_capture(self) -> bool:
        return self.rules == "king_capture"

    # -- rules -------------------------------------------------------------------------------------

    def _init(self, key: jax.Array | None) -> MinichessState:
        return self._state(board.pack(_parse_rows(BOARDS[self.board])), jnp.int32(0), jnp.int32(0))

    def _state(self, position: Position, ply: jax.Array, quiet: jax.Array) -> MinichessState:
        """Returns a live board with no earlier positions in its history."""
        history = None
        if not self._king_capture:
            history = jnp.where(np.arange(QUIET_LIMIT) == quiet, board.hashed(position)[:, None], jnp.uint32(0))
        return MinichessState(
            current_player=ply % 2,
            rewards=jnp.zeros(2, jnp.float32),
            terminated=jnp.bool_(False),
            truncated=jnp.bool_(False),
            position=position,
            ply=ply,
            quiet=quiet,
            occurred=jnp.int8(0),
            history=history,
        )

    def _masks(self, position: Position) -> MoveMasks:
        return (board.pseudo_legal_masks if self._king_capture else board.legal_masks)(position)

    def _legal_action_mask(self, state: MinichessState) -> jax.Array:
        return action_mask(written(self._move_words(state.position, jnp.asarray(board.CELL_SET))))

    def _random_legal_action(self, state: MinichessState, key: jax.Array) -> jax.Array:
        return random_action(key, written(self._move_words(state.position, jnp.asarray(board.CELL_SET))))

    def _is_legal(self, state: MinichessState, action: jax.Array) -> jax.Array:
        origin, needed, _ = board.decode(action)
        word = self._move_words(state.position, origin)
        return written((action >= 0) & (action < self.num_actions) & ((word & needed) == needed))

    def _move_words(self, position: Position, cells: jax.Array) -> jax.Array:
        """Returns uint32[...], the word of each of `cells` (uint32[...], sets of one cell): see `moves.py`."""
        words = board.targets(position, self._masks(position), cells, self.double_step)
        if self.promotion == "all":
            words |= jnp.where((position.pawns & cells) != 0, np.uint32(1 << board.PAWN_BIT), 0)
        return words

    def _step(self, state: MinichessState, action: jax.Array, key: jax.Array | None) -> MinichessState:
        before = state.position
        origin, needed, plane = board.decode(action)
        target = needed & board.BOARD
        promotion = jnp.where(plane < 9, 3 - plane // 3, board.QUEEN)
        after = board.after_move(before, origin, target, promotion)
        position = after.mirrored()
        ply = state.ply + 1
        irreversible = ((before.occupied & target) | (before.pawns & origin)) != 0
        quiet = jnp.where(irreversible, 0, state.quiet + 1)
        occurred, history = jnp.zeros_like(state.occurred), state.history
        if history is not None:
            occurred, history = _remember(history, position, quiet)
        won, over = self._end(position, quiet, occurred)

        paid = won.astype(jnp.float32)
        if self.reward == "material":
            paid = board.from_thousandths(board.material(after) - board.material(before))
        return MinichessState(
            current_player=ply % 2,
            rewards=jnp.where(np.arange(2) == state.current_player, paid, -paid),
            terminated=over,
            truncated=~over & (ply >= self.max_steps),
            position=position,
            ply=ply,
            quiet=quiet,
            occurred=occurred,
            history=history,
        )

    def _end(self, position: Position, quiet: jax.Array, occurred: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Returns bool[] twice: whether the last mover has won, and whether the game is over."""
        no_move, attacked = self._no_move_and_king_attacked(position)
        no_move = written(no_move)
        if self._king_capture:
            won = (position.kings & position.own) == 0
            return won, won | no_move
        draw = (quiet >= QUIET_LIMIT) | (occurred >= 2) | board.cannot_mate(position)
        return no_move & attacked, no_move | draw

    def _no_move_and_king_attacked(self, position: Position) -> tuple[jax.Array, jax.Array]:
        """Returns bool[] twice: whether the mover has no move, and whether it is in check; False under king_capture."""
        masks = self._masks(position)
        return board.targets(position, masks, jnp.uint32(board.BOARD), self.double_step) == 0, masks.checkers != 0

    def _restart_clock(self, state: MinichessState) -> MinichessState:
        return dataclasses.replace(state, ply=state.ply % 2)  # its parity is the seat to move

    # -- outcome -----------------------------------------------------------------------------------

    def _winners(self, state: MinichessState) -> jax.Array:
        no_move, attacked, _ = self._facts(state.position)
        has_no_king = (state.position.kings & state.position.own) == 0
        return (np.arange(2) != state.current_player) & (has_no_king if self._king_capture else no_move & attacked)

    def _reason(self, state: MinichessState) -> str:
        if state.truncated:
            return f"{self.max_plies} plies without a winner"
        no_move, attacked, insufficient = self._facts(state.position)
        if self._king_capture:
            has_king = int(state.position.kings) & int(state.position.own)
            return "king captured" if not has_king else "no legal move" if no_move else ""
        if no_move:
            return "checkmate" if attacked else "stalemate"
        if state.quiet >= QUIET_LIMIT:
            return f"{QUIET_LIMIT} plies without a capture or a pawn move"
        if state.occurred >= 2:
            return "third occurrence of the position"
        return "insufficient material" if insufficient else ""

    @functools.partial(jax.jit, static_argnums=0)
    def _facts(self, position: Position) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Returns bool[] three times: whether the mover has no move, is in check, and whether nobody can mate."""
        return *self._no_move_and_king_attacked(position), board.cannot_mate(position)

    # -- observation -------------------------------------------------------------------------------

    def _observe(self, state: MinichessState, player: jax.Array) -> jax.Array:
        position, is_mover = state.position, player == state.current_player
        position = jax.tree.map(lambda a, b: jnp.where(is_mover, a, b), position, position.mirrored())
        own = [cells & position.own for cells in position.pieces]
        sets = [*own, *(cells & ~position.own for cells in position.pieces)]
        flags = [state.current_player == 1, state.occurred >= 1, state.occurred >= 2]
        planes = [*sets, *(jnp.where(flag, jnp.uint32(board.BOARD), 0) for flag in flags)]
        # Of each cell all planes as bits of one word, which a GPU then expands without a branch for each plane.
        of_cells = union([((cells >> CELL_AT) & 1) << np.uint32(plane) for plane, cells in enumerate(planes)])
        of_cells = written(of_cells.astype(jnp.uint16))
        shown = (of_cells[:, None] >> np.arange(len(planes), dtype=np.uint16)[None]) & 1
        return (shown != 0).reshape(self.observation_shape)

    # -- notation ----------------------------------------------------------------------------------

    def _action_to_string(self, state: MinichessState, action: int) -> str:
        """Returns UCI: `a2a3`, and `d4d5q` for a pawn that becomes a queen."""
        cell, plane = divmod(action, board.NUM_PLANES)
        to, black = int(board.TARGET[cell, plane]), int(state.current_player)
        origin = board.name_of(cell, black)
        if to < 0:
            raise ValueError(f"action {action} names no move: plane {plane} leads nowhere from {origin}")
        text = origin + board.name_of(to, black)
        pawn = _is_pawn(state, cell)
        if plane < 9:
            if not pawn:
                raise ValueError(f"action {action} names no move: no pawn of the mover on {origin} promotes")
            return text + "rbn"[plane // 3]
        return text + "q" * (pawn and to % 5 == 4)

    def _action_from_string(self, state: MinichessState, text: str) -> int:
        """Returns the action that a text names, legal or not."""
        found = re.fullmatch(r"([a-e][1-5])([a-e][1-5])([qrbn]?)", text)
        if not found:
            raise ValueError(f"expected a move such as 'a2a3' or 'd4d5q' on a1..e5, not {text!r}")
        black = int(state.current_player)
        cell, to = (board.cell_of(name, black) for name in found.groups()[:2])
        planes = np.flatnonzero(board.TARGET[cell] == to)  # underpromotions first
        if len(planes) == 0:
            raise ValueError(f"expected a line or a knight's jump from {found[1]}, not {found[2]} in {text!r}")
        promotes = _is_pawn(state, cell) and to % 5 == 4
        if promotes and not found[3]:
            raise ValueError(f"expected a letter for what the pawn becomes, as in '{text}q', not {text!r}")
        if found[3] and not promotes:
            raise ValueError(f"expected no promotion {found[3]!r} in {text!r}: no pawn goes to its last rank")
        if found[3] in ("", "q"):
            return board.NUM_PLANES * cell + int(planes[-1])
        if len(planes) == 1:
            raise ValueError(f"expected a promotion one cell ahead, not {text!r}")
        return board.NUM_PLANES * cell + int(planes["rbn".index(found[3])])

    def pieces_of(self, state: MinichessState) -> dict[str, tuple[int, str]]:
        """Returns the seat and one of LETTERS for each square with a piece, in the order of SQUARES; on the host."""
        black, own = int(state.current_player), int(state.position.own)
        found = {
            board.name_of(cell, black): (black if own >> cell & 1 else 1 - black, letter)
            for letter, cells in zip(LETTERS, state.position.pieces, strict=True)
            for cell in np.flatnonzero(int(cells) & board.CELL_SET).tolist()
        }
        return {square: found[square] for square in SQUARES if square in found}

    def _rows(self, state: MinichessState) -> list[str]:
        """Returns the rows from the top: White's pieces are capitals, Black's small letters, empty squares `.`."""
        pieces = {cell: letter.lower() if seat else letter for cell, (seat, letter) in self.pieces_of(state).items()}
        letters = "".join(pieces.get(square, ".") for square in SQUARES)
        return [letters[begin : begin + 5] for begin in range(0, 25, 5)]

    def _to_string(self, state: MinichessState) -> str:
        """Returns FEN: the rows from the top, `w` or `b` to move, `-`, `-`, quiet plies, the number of the move."""
        rows = re.sub(r"\.+", lambda gap: str(len(gap[0])), "/".join(self._rows(state)))
        return f"{rows} {'wb'[int(state.current_player)]} - - {int(state.quiet)} {int(state.ply) // 2 + 1}"

    def _to_text(self, state: MinichessState) -> str:
        rows = [f"{5 - index}  {' '.join(rank)}" for index, rank in enumerate(self._rows(state))]
        legend = "capitals: seat 0, White    small letters: seat 1, Black"
        return _text.lines([*rows, "", "   a b c d e", legend])

    def _from_string(self, text: str) -> MinichessState:
        """Returns any placement of pieces, under standard rules with at most one king per side; see `to_string`.

        The position counts as its first occurrence. `terminated` is set if the last move ended the game (mate, no
        move, a draw, a king captured), `truncated` if `max_plies` plies have been played.
        """
        rows, side, castling, en_passant, quiet, move = split_fields(text, "rows w - - quiet move")
        if side not in ("w", "b"):
            raise ValueError(f"expected 'w' or 'b' to move, not {side!r} in {text!r}")
        if (given := f"{castling} {en_passant}") != "- -":
            raise ValueError(f"expected '- -': no castling and no en passant, not '{given}' in {text!r}")
        quiet_plies = parse_int(quiet, "plies without a capture or a pawn move", shown=f"{quiet!r} in {text!r}")
        move_number = parse_int(move, "the number of the move from 1 on", low=1, shown=f"{move!r} in {text!r}")
        content = _parse_rows(rows)
        for color, king in (("White", 6), ("Black", -6)):
            kings = int((content == king).sum())
            if kings > 1 and not self._king_capture:
                raise ValueError(f"expected at most one king of {color}, not {kings} in {rows!r}")
        if side == "b":
            content = -content.reshape(5, 5)[:, ::-1].ravel()
        ply = 2 * (move_number - 1) + (side == "b")
        return self.placed(board.pack(content), jnp.int32(ply), jnp.int32(quiet_plies))

    @functools.partial(jax.jit, static_argnums=0)
    def placed(self, position: Position, ply: jax.Array, quiet: jax.Array | int = 0) -> MinichessState:
        """Returns the board of a position in the mover's frame, its first occurrence; the last move may have ended it.

        Args:
          position: the pieces.
          ply: int32[], plies since the start; the seat to move is ply % 2.
          quiet: int32[], plies since the last capture or pawn move.
        """
        state = self._state(position, ply, jnp.asarray(quiet, jnp.int32))
        _, over = self._end(position, state.quiet, state.occurred)
        return dataclasses.replace(state, terminated=over, truncated=~over & (ply >= self.max_steps))


# -- positions ---------------------------------------------------------------------------------------------


def _remember(history: jax.Array, position: Position, quiet: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns how often the position occurred before, int8[], and the history with it, uint32[2, 100]."""
    now, plies = board.hashed(position), np.arange(QUIET_LIMIT)
    same = (history[0] == now[0]) & (history[1] == now[1])
    same &= (plies < quiet) & ((quiet - plies) % 2 == 0)  # the same side to move
    new = jnp.where(np.arange(2)[:, None] == 0, now[0], now[1])  # a stack of them would be an array in memory
    history = jnp.where(plies < quiet, history, jnp.where(plies == quiet, new, 0))
    return same.sum(dtype=jnp.int8), history


def _parse_rows(text: str) -> np.ndarray:
    """Returns int[25] by cells from White's side, 1..6 White's P N B R Q K and -1..-6 Black's."""
    letters = LETTERS + LETTERS.lower()
    lengths = dict.fromkeys(range(5, 0, -1), 5)  # of each rank
    rows = split_rows(text, lengths, letters + "12345", f"pieces of {letters} or a gap 1..5", gaps=True)
    content = np.zeros((5, 5), int)
    for rank, row in zip(lengths, rows, strict=True):
        for file, letter in enumerate(row):
            if letter != ".":
                kind = LETTERS.index(letter.upper()) + 1
                content[file, rank - 1] = kind if letter.isupper() else -kind
    return content.ravel()


def _is_pawn(state: MinichessState, cell: int) -> bool:
    """Returns whether a pawn of the mover is on a cell."""
    return bool(int(state.position.own) & int(state.position.pawns) & int(board.CELL_SET[cell]))
