"""Chess on 5 x 5 cells, for two seats: seat 0 is White and moves first.

How the pieces move, and the numbers of the actions: `jaxgames/games/minichess_board.py`.

The position is kept as the mover sees it, ranks mirrored and colours swapped for Black: one network plays both
seats. Under standard rules a board also remembers 64 bits of every position since the last capture or pawn move;
only those can come again.

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
from jaxgames.env import Env, State
from jaxgames.games.minichess_board import (
    BOARD,
    CELL_SET,
    KING,
    NUM_PLANES,
    PAWN,
    QUEEN,
    TARGET,
    TARGET_SET,
    VALUES,
    Freedom,
    Position,
    cannot_mate,
    hashed,
    in_thousands,
    legal,
    material,
    moved,
    pseudo_legal,
    reach,
)

BOARDS = {
    "gardner": "rnbqk/ppppp/5/PPPPP/RNBQK",
    "baby": "kqbnr/ppppp/5/PPPPP/RNBQK",
    "mallet": "rbkqb/ppppp/5/PPPPP/RNKQN",
}
MAX_PLIES = {"standard": 256, "king_capture": 200}
LETTERS = "PNBRQK"  # of the pieces, in the order of `Position.pieces`
QUIET_LIMIT = 100  # plies without a capture or a pawn's move that make a draw


@jax.tree_util.register_dataclass
@dataclass(frozen=True, kw_only=True)
class MinichessState(State):
    """One board: 51 bytes, and 800 more under standard rules."""

    position: Position  # seen by the mover
    ply: jax.Array  # int32[], plies since the start
    quiet: jax.Array  # int32[], plies since the last capture or pawn's move
    occurred: jax.Array  # int8[], how often this position occurred before; 0 under "king_capture"
    history: jax.Array  # uint32[2, 100], the hash after each quiet ply, 0 beyond; [2, 0] under "king_capture"


@dataclass(frozen=True)
class Minichess(Env[MinichessState]):
    """Chess on 5 x 5 cells.

    Args:
      board: the start: "gardner", "baby" or "mallet".
      rules: "standard": check, mate and stalemate; draws at 100 plies without a capture or a pawn's move, at the third
        occurrence of a position and when nobody has enough to mate. "king_capture": a move may leave the king in
        check, who captures the king wins, and a player without a move draws.
      reward: "win_loss": 1 to the winner, -1 to the loser. "material": after every ply the mover gets the change
        of its material less the opponent's, in thousands, and the opponent as much less; an end pays nothing more.
      double_step: whether a pawn on its second rank may go two cells forward.
      promotion: what a pawn may become on its last rank: "all" or "queen".
      max_plies: plies after which the game is truncated; 256 under standard rules and 200 under "king_capture" if None.

    Action: from * 49 + plane in the mover's view, see `minichess_board`; 1225 of them.
    Observation: bool[5, 5, 15] at [5 - rank, file] in the viewer's view: the viewer's P, N, B, R, Q, K, the
    opponent's, the mover is Black, the position occurred before, and twice before.
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
        return 25 * NUM_PLANES

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
        prize = VALUES[KING] if self._king_capture else VALUES[QUEEN]  # taken by a pawn that becomes a queen
        most = float(np.float32((prize + VALUES[QUEEN] - VALUES[PAWN]) / 1000))
        return -most, most

    @property
    def zero_sum(self) -> bool:
        return True

    @property
    def _king_capture(self) -> bool:
        return self.rules == "king_capture"

    # -- rules -------------------------------------------------------------------------------------

    def _init(self, key: jax.Array | None) -> MinichessState:
        """The start; nothing is random, `key` is ignored."""
        return self._state(_position(_parse_rows(BOARDS[self.board])), jnp.int32(0), jnp.int32(0))

    def _state(self, position: Position, ply: jax.Array, quiet: jax.Array) -> MinichessState:
        """A live board of whose past nothing is known."""
        plies = np.arange(0 if self._king_capture else QUIET_LIMIT)
        return MinichessState(
            current_player=ply % 2,
            rewards=jnp.zeros(2, jnp.float32),
            terminated=jnp.bool_(False),
            truncated=jnp.bool_(False),
            position=position,
            ply=ply,
            quiet=quiet,
            occurred=jnp.int8(0),
            history=jnp.where(plies == quiet, hashed(position)[:, None], jnp.uint32(0)),
        )

    def _freedom(self, position: Position) -> Freedom:
        return pseudo_legal(position) if self._king_capture else legal(position)

    def _legal_action_mask(self, state: MinichessState) -> jax.Array:
        position = state.position
        cells = reach(position, self._freedom(position), jnp.asarray(CELL_SET), self.double_step)[:, None]
        from_pawns = jnp.where(((CELL_SET & position.pawns) != 0)[:, None], cells, 0)
        if self.promotion == "queen":
            from_pawns = jnp.zeros_like(from_pawns)
        under, others = (from_pawns & TARGET_SET[:, :9]) != 0, (cells & TARGET_SET[:, 9:]) != 0
        return jnp.concatenate([under, others], axis=1).reshape(-1)

    def _is_legal(self, state: MinichessState, action: jax.Array) -> jax.Array:
        position = state.position
        origin, target, plane = _decoded(action)
        cells = reach(position, self._freedom(position), origin, self.double_step)
        fits = plane >= 9
        if self.promotion == "all":
            fits |= (position.pawns & origin) != 0
        return _computed_once((action >= 0) & (action < self.num_actions) & fits & ((cells & target) != 0))

    def _step(self, state: MinichessState, action: jax.Array, key: jax.Array | None) -> MinichessState:
        before = state.position
        origin, target, plane = _decoded(action)
        promotion = jnp.where(plane < 9, 3 - plane // 3, QUEEN)
        moved_on = moved(before, origin, target, promotion)
        after = moved_on.turned()
        ply = state.ply + 1
        loud = ((before.occupied & target) | (before.pawns & origin)) != 0
        quiet = jnp.where(loud, 0, state.quiet + 1)
        occurred, history = state.occurred, state.history
        if not self._king_capture:
            occurred, history = _remembered(history, after, quiet)
        won, over = self._ended(after, quiet, occurred)

        in_material = self.reward == "material"
        paid = material(moved_on) - material(before) if in_material else won.astype(jnp.int32)
        paid = in_thousands(paid) if in_material else paid.astype(jnp.float32)
        return MinichessState(
            current_player=ply % 2,
            rewards=jnp.where(np.arange(2) == state.current_player, paid, -paid),
            terminated=over,
            truncated=~over & (ply >= self.max_steps),
            position=after,
            ply=ply,
            quiet=quiet,
            occurred=occurred,
            history=history,
        )

    def _ended(self, position: Position, quiet: jax.Array, occurred: jax.Array) -> tuple[jax.Array, jax.Array]:
        """bool[], bool[]: whether the last mover has won, and whether the game is over."""
        freedom = self._freedom(position)
        stuck = _computed_once(reach(position, freedom, jnp.uint32(BOARD), self.double_step) == 0)
        if self._king_capture:
            won = (position.kings & position.own) == 0
            return won, won | stuck
        draw = (quiet >= QUIET_LIMIT) | (occurred >= 2) | cannot_mate(position)
        return stuck & (freedom.checkers != 0), stuck | draw

    # -- observation -------------------------------------------------------------------------------

    def _observe(self, state: MinichessState, player: jax.Array | None) -> jax.Array:
        position = state.position
        if player is not None:
            mover = player == state.current_player
            position = jax.tree.map(lambda seen, turned: jnp.where(mover, seen, turned), position, position.turned())
        own = [cells & position.own for cells in position.pieces]
        sets = jnp.stack([*own, *(cells & ~position.own for cells in position.pieces)])
        whole = jnp.stack([state.current_player == 1, state.occurred >= 1, state.occurred >= 2])
        pieces = (SEEN[..., None] & sets) != 0
        return jnp.concatenate([pieces, jnp.broadcast_to(whole, (5, 5, 3))], axis=-1)

    # -- notation ----------------------------------------------------------------------------------

    def _action_to_string(self, state: MinichessState, action: int) -> str:
        """UCI: `a2a3`, and `d4d5q` for a pawn that becomes a queen."""
        cell, plane = divmod(action, NUM_PLANES)
        to, black = int(TARGET[cell, plane]), int(state.current_player)
        if to < 0:
            raise ValueError(f"action {action} names no move: plane {plane} leads nowhere from {_name(cell, black)}")
        text = _name(cell, black) + _name(to, black)
        pawn = _is_pawn(state, cell)
        if plane < 9:
            if not pawn:
                raise ValueError(
                    f"action {action} names no move: no pawn of the mover on {_name(cell, black)} promotes"
                )
            return text + "rbn"[plane // 3]
        return text + "q" * (pawn and to % 5 == 4)

    def _action_from_string(self, state: MinichessState, text: str) -> int:
        """The action that a text names, legal or not. Raises ValueError for a text that names none here."""
        found = re.fullmatch(r"([a-e][1-5])([a-e][1-5])([qrbn]?)", text)
        if not found:
            raise ValueError(f"expected a move such as 'a2a3' or 'd4d5q' on a1..e5, not {text!r}")
        black = int(state.current_player)
        cell, to = (_cell(name, black) for name in found.groups()[:2])
        planes = np.flatnonzero(TARGET[cell] == to)  # underpromotions first
        if len(planes) == 0:
            raise ValueError(f"expected a line or a knight's jump from {found[1]}, not {found[2]} in {text!r}")
        promotes = _is_pawn(state, cell) and to % 5 == 4
        if promotes and not found[3]:
            raise ValueError(f"expected what the pawn becomes, as in '{text}q', not {text!r}")
        if found[3] and not promotes:
            raise ValueError(f"expected no promotion {found[3]!r} in {text!r}: no pawn goes to its last rank")
        if found[3] in ("", "q"):
            return NUM_PLANES * cell + int(planes[-1])
        if len(planes) == 1:
            raise ValueError(f"expected a promotion one cell ahead, not {text!r}")
        return NUM_PLANES * cell + int(planes["rbn".index(found[3])])

    def _to_string(self, state: MinichessState) -> str:
        """FEN: the rows from the top, `w` or `b` to move, `-`, `-`, quiet plies, the number of the move."""
        ply = int(state.ply)
        board = np.array([["."] * 5 for _ in range(5)])
        for letter, cells in zip(LETTERS, state.position.pieces, strict=True):
            for cell in np.flatnonzero(int(cells) & CELL_SET):
                own = bool(int(state.position.own) >> int(cell) & 1)
                file, rank = divmod(int(cell), 5)
                row = rank if ply % 2 else 4 - rank
                board[row, file] = letter if own == (ply % 2 == 0) else letter.lower()
        rows = "/".join(re.sub(r"\.+", lambda gap: str(len(gap[0])), "".join(row)) for row in board)
        return f"{rows} {'wb'[ply % 2]} - - {int(state.quiet)} {ply // 2 + 1}"

    def _from_string(self, text: str) -> MinichessState:
        """Any placement of pieces, under standard rules with at most one king a side; see `to_string`.

        The position is taken as its first occurrence. `terminated` says whether the last move ended the game (mate, no
        move, a draw, a king captured), `truncated` whether `max_plies` plies have been played.
        """
        fields = text.split()
        if len(fields) != 6:
            raise ValueError(f"expected 'rows w - - quiet move', six fields, not {len(fields)} in {text!r}")
        rows, side, castling, en_passant, quiet, move = fields
        if side not in ("w", "b"):
            raise ValueError(f"expected 'w' or 'b' to move, not {side!r} in {text!r}")
        if (castling, en_passant) != ("-", "-"):
            raise ValueError(
                f"expected '- -': no castling and no en passant, not '{castling} {en_passant}' in {text!r}"
            )
        if not re.fullmatch(r"[0-9]{1,9}", quiet):
            raise ValueError(f"expected plies without a capture or a pawn's move, not {quiet!r} in {text!r}")
        if not re.fullmatch(r"[0-9]{1,9}", move) or int(move) == 0:
            raise ValueError(f"expected the number of the move from 1 on, not {move!r} in {text!r}")
        content = _parse_rows(rows)
        for color, king in (("White", 6), ("Black", -6)):
            kings = int((content == king).sum())
            if kings > 1 and not self._king_capture:
                raise ValueError(f"expected at most one king of {color}, not {kings} in {rows!r}")
        if side == "b":
            content = -content.reshape(5, 5)[:, ::-1].ravel()
        ply = 2 * (int(move) - 1) + (side == "b")
        return self._read(_position(content), jnp.int32(ply), jnp.int32(int(quiet)))

    @functools.partial(jax.jit, static_argnums=0)
    def _read(self, position: Position, ply: jax.Array, quiet: jax.Array) -> MinichessState:
        """The state of a position that was read, with what the last move ended."""
        state = self._state(position, ply, quiet)
        _, over = self._ended(position, quiet, state.occurred)
        return dataclasses.replace(state, terminated=over, truncated=~over & (ply >= self.max_steps))


# -- positions ---------------------------------------------------------------------------------------------

SEEN = CELL_SET.reshape(5, 5).T[::-1]  # uint32[5, 5], [5 - rank, file]


def _decoded(action: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """uint32[], uint32[], int32[]: the cell that an action leaves, where it leads (0 off the board), its plane."""
    action = jnp.clip(action, 0, 25 * NUM_PLANES - 1)
    target = jnp.asarray(TARGET_SET.ravel()).at[action].get(mode="promise_in_bounds")
    return jnp.uint32(1) << (action // NUM_PLANES).astype(jnp.uint32), target, action % NUM_PLANES


def _computed_once(value: jax.Array) -> jax.Array:
    """The same bool. XLA would work it out again for every leaf of the state that it decides on, but no root twice."""
    return jnp.sqrt(value.astype(jnp.float32)) > 0.5


def _remembered(history: jax.Array, position: Position, quiet: jax.Array) -> tuple[jax.Array, jax.Array]:
    """int8[], uint32[2, 100]: how often the position occurred before, and the history with it."""
    now, plies = hashed(position), np.arange(QUIET_LIMIT)
    same = (history[0] == now[0]) & (history[1] == now[1])
    same &= (plies < quiet) & ((quiet - plies) % 2 == 0)  # the same side to move
    history = jnp.where(plies < quiet, history, jnp.where(plies == quiet, now[:, None], 0))
    return same.sum(dtype=jnp.int8), history


def _position(content: np.ndarray) -> Position:
    """The sets of cells of int[25], 1..6 own P N B R Q K and -1..-6 the opponent's."""

    def cells(where: np.ndarray) -> jax.Array:
        return jnp.uint32(int(CELL_SET[where].sum()))

    return Position(cells(content > 0), *(cells(abs(content) == kind) for kind in range(1, 7)))


def _parse_rows(text: str) -> np.ndarray:
    """int[25] by cells as White sees them, 1..6 White's P N B R Q K and -1..-6 Black's."""
    rows = text.split("/")
    if len(rows) != 5:
        raise ValueError(f"expected 5 rows joined by '/', not {len(rows)} in {text!r}")
    content = np.zeros((5, 5), int)
    for number, row in enumerate(rows):
        for letter in row:
            if letter not in "12345" and letter.upper() not in LETTERS:
                raise ValueError(
                    f"expected pieces of {LETTERS}{LETTERS.lower()} or a gap 1..5, not {letter!r} in {row!r}"
                )
        cells = re.sub("[1-5]", lambda gap: "." * int(gap[0]), row)
        if len(cells) != 5:
            raise ValueError(f"expected 5 cells in row {5 - number}, not {len(cells)} in {row!r}")
        for file, letter in enumerate(cells):
            if letter != ".":
                kind = LETTERS.index(letter.upper()) + 1
                content[file, 4 - number] = kind if letter.isupper() else -kind
    return content.ravel()


def _is_pawn(state: MinichessState, cell: int) -> bool:
    """Whether a pawn of the mover stands there."""
    return bool(int(state.position.own) & int(state.position.pawns) & int(CELL_SET[cell]))


def _name(cell: int, black: int) -> str:
    file, rank = divmod(cell, 5)
    return f"{'abcde'[file]}{5 - rank if black else rank + 1}"


def _cell(name: str, black: int) -> int:
    rank = int(name[1])
    return 5 * "abcde".index(name[0]) + (5 - rank if black else rank - 1)
