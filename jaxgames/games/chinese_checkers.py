"""Chinese Checkers on the star board, for 2, 3, 4 or 6 seats.

The board, its cells and directions: `jaxgames/games/chinese_checkers_board.py`.

The board is kept in the mover's frame, turned so that the mover's home is on top and the goal at the
bottom: one network plays every seat, and turning the board at the end of a turn is one permutation that is
known when the program is built. A turn is a step to an empty neighbour or a chain of hops over single
pegs, one hop per `step` of the env.

Rules, rewards and notation: sections "Rules" and "Notation" of docs/games/chinese_checkers.md.
"""

import dataclasses
import functools
import itertools
import re
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._checks import MAX_TURN_LIMIT, check_choice, check_int
from jaxgames.env import Env, State
from jaxgames.games.chinese_checkers_board import cell_sets, facing, members, tables

TRIANGLES = {2: (0, 3), 3: (0, 2, 4), 4: (0, 1, 3, 4), 6: (0, 1, 2, 3, 4, 5)}  # of each seat, clockwise
REWARDS = ("sparse", "goal", "movement", "positive_sum", "win_loss")
EMPTY = -1  # on the board; -2 - k is an empty cell that this turn's hop number k left


@jax.tree_util.register_dataclass
@dataclass(frozen=True, kw_only=True)
class ChineseCheckersState(State):
    """One board: a byte a cell and at most 37 more."""

    board: jax.Array  # int8[cells], mover's frame: the owner's seat, counted clockwise from the mover, EMPTY, or -2 - k
    peg: jax.Array  # int16[], the cell of the peg that hops in this turn, -1 before the first hop
    hops: jax.Array  # int8[], hops in this turn
    round: jax.Array  # int32[], full rounds played


@dataclass(frozen=True)
class ChineseCheckers(Env[ChineseCheckersState]):
    """Chinese Checkers on the star board.

    Args:
      size: N = 1..8; 4 is the traditional board. A seat has N(N+1)/2 pegs.
      num_players: 2, 3, 4 or 6.
      reward: paid per submove. "sparse": +5N to the winner, -N to the others. "goal": sparse, and +-0.1 to the
        mover for a peg that enters or leaves the goal. "movement": sparse, and +-0.001 to the mover for a submove
        down (directions 4, 5) or up (1, 2). "positive_sum": +5N to the winner, 0 to the others, and both
        bonuses. "win_loss": num_players - 1 to the winner, -1 to the others.
      max_rounds: rounds after which the game is truncated; 200 for N <= 2, 500 for 3, 1000 beyond if None.

    Action: 6 * cell + direction in the mover's frame, a step where the neighbour is empty and a hop where it
    is occupied; the last action ends the turn.
    Observation: bool[4N+1, 4N+1, num_players + 2] at [q + 2N, r + 2N] in the viewer's frame: own pegs, the others'
    clockwise, cells hopped from in this turn, where the last hop landed.
    Source: Adhikari & Gu, arXiv:2405.18733, and its public environment.
    """

    id: ClassVar[str] = "chinese_checkers"
    size: int = 4
    num_players: int = 6
    reward: str = "positive_sum"
    max_rounds: int | None = None

    def __post_init__(self) -> None:
        check_int("size", self.size, 1, 8)
        check_choice("num_players", self.num_players, TRIANGLES)
        check_choice("reward", self.reward, REWARDS)
        if self.max_rounds is None:
            object.__setattr__(self, "max_rounds", {1: 200, 2: 200, 3: 500}.get(self.size, 1000))
        check_int("max_rounds", self.max_rounds, 1, MAX_TURN_LIMIT, " or None")

    # -- plain values ------------------------------------------------------------------------------

    @property
    def num_cells(self) -> int:
        return 6 * self.size * (self.size + 1) + 1

    @property
    def num_pegs(self) -> int:
        return self.size * (self.size + 1) // 2

    @property
    def num_actions(self) -> int:
        return 6 * self.num_cells + 1

    @property
    def end_turn(self) -> int:
        """The action that ends the turn."""
        return 6 * self.num_cells

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        side = 4 * self.size + 1
        return (side, side, self.num_players + 2)

    @property
    def observation_support(self) -> np.ndarray:
        on_star = tables(self.size).grid < self.num_cells
        return np.broadcast_to(on_star[..., None], self.observation_shape)

    @property
    def max_steps(self) -> int:
        # A hop moves by two cells, so a chain stays among the cells of its origin's parity, each once.
        parity = tables(self.size).axial % 2
        longest_chain = int(np.bincount(2 * parity[:, 0] + parity[:, 1]).max()) - 1
        return self._round_limit * self.num_players * (longest_chain + 1)

    @property
    def reward_range(self) -> tuple[float, float]:
        lose, win = self._loss_and_win
        goal, movement = np.array(self._bonuses, np.float32)  # as they are added up on the device
        return min(-1.0, lose), float(np.float32(win) + (goal + movement))

    @property
    def zero_sum(self) -> bool:
        lose, win = self._loss_and_win
        return self._bonuses == (0.0, 0.0) and win + (self.num_players - 1) * lose == 0

    @property
    def _round_limit(self) -> int:
        assert self.max_rounds is not None  # settled in __post_init__
        return self.max_rounds

    @property
    def _loss_and_win(self) -> tuple[float, float]:
        if self.reward == "win_loss":
            return -1.0, self.num_players - 1.0
        return 0.0 if self.reward == "positive_sum" else float(-self.size), 5.0 * self.size

    @property
    def _bonuses(self) -> tuple[float, float]:
        """What the mover gets for a peg that enters the goal, and for a submove down."""
        return (
            0.1 if self.reward in ("goal", "positive_sum") else 0.0,
            0.001 if self.reward in ("movement", "positive_sum") else 0.0,
        )

    # -- rules -------------------------------------------------------------------------------------

    def _init(self, key: jax.Array | None) -> ChineseCheckersState:
        """The start; nothing is random, `key` is ignored."""
        triangles = np.array(TRIANGLES[self.num_players])
        home = tables(self.size).triangle
        board = np.where(np.isin(home, triangles), np.searchsorted(triangles, home), EMPTY)
        return ChineseCheckersState(
            current_player=jnp.int32(0),
            rewards=jnp.zeros(self.num_players, jnp.float32),
            terminated=jnp.bool_(False),
            truncated=jnp.bool_(False),
            board=jnp.asarray(board, jnp.int8),
            peg=jnp.int16(-1),
            hops=jnp.int8(0),
            round=jnp.int32(0),
        )

    def _legal_action_mask(self, state: ChineseCheckersState) -> jax.Array:
        words = self._moves(state)
        return jnp.append(members(self.size, words), _may_end(state, words))

    def _is_legal(self, state: ChineseCheckersState, action: jax.Array) -> jax.Array:
        t = tables(self.size)
        words = self._moves(state)
        cell, direction = jnp.clip(action, 0, self.end_turn - 1) // 6, action % 6
        word, place = words[direction, jnp.asarray(t.row)[cell]], jnp.asarray(t.place, jnp.uint32)[cell]
        legal = jnp.where(action == self.end_turn, _may_end(state, words), ((word >> place) & 1) != 0)
        return (action >= 0) & (action <= self.end_turn) & legal

    def _moves(self, state: ChineseCheckersState) -> jax.Array:
        """uint32[6, rows], for each direction the cells whose peg may go there."""
        chain = state.peg >= 0
        mine = jnp.where(chain, np.arange(self.num_cells) == state.peg, state.board == 0)
        mine, pegs, empty = cell_sets(self.size, (mine, state.board >= 0, state.board == EMPTY))
        free = jnp.where(chain, jnp.uint32(0), empty)  # for a step
        beside, beyond = (functools.partial(facing, self.size, distance=distance) for distance in (1, 2))
        return jnp.stack([mine & (beside(free, d) | (beside(pegs, d) & beyond(empty, d))) for d in range(6)])

    def _step(self, state: ChineseCheckersState, action: jax.Array, key: jax.Array | None) -> ChineseCheckersState:
        t = tables(self.size)
        cell, direction = jnp.clip(action, 0, self.end_turn) // 6, action % 6  # cell is outside to end the turn
        near = jnp.asarray(t.neighbour)[cell, direction]
        is_hop = (near < self.num_cells) & (state.board[near] >= 0)
        to = jnp.where(is_hop, jnp.asarray(t.beyond)[cell, direction], near)

        cells = np.arange(self.num_cells)
        left = jnp.where(is_hop, -2 - state.hops, EMPTY).astype(jnp.int8)
        moved = jnp.where(cells == to, 0, jnp.where(cells == cell, left, state.board)).astype(jnp.int8)
        goal_begin = self.num_cells - self.num_pegs  # the goal is the last rows
        won = (moved[goal_begin:] == 0).all()

        into_goal = (to >= goal_begin).astype(jnp.float32) - (cell >= goal_begin).astype(jnp.float32)
        down = jnp.asarray(np.array([0, -1, -1, 0, 1, 1], np.float32))[direction]
        goal_bonus, movement_bonus = self._bonuses
        bonus = jnp.where(cell < self.num_cells, goal_bonus * into_goal + movement_bonus * down, 0.0)

        (lose, win), is_mover = self._loss_and_win, np.arange(self.num_players) == state.current_player
        rewards = jnp.where(won, jnp.where(is_mover, win, lose), 0.0) + jnp.where(is_mover, bonus, 0.0)

        next_player = (state.current_player + 1) % self.num_players
        next_round = state.round + (next_player == 0)
        return ChineseCheckersState(
            current_player=jnp.where(is_hop, state.current_player, next_player),
            rewards=rewards.astype(jnp.float32),
            terminated=won,
            truncated=~is_hop & ~won & (next_round >= self._round_limit),
            board=jnp.where(is_hop, moved, self._turned(moved, state.current_player)),
            peg=jnp.where(is_hop, to, -1).astype(jnp.int16),
            hops=jnp.where(is_hop, state.hops + 1, 0).astype(jnp.int8),
            round=jnp.where(is_hop, state.round, next_round),
        )

    def _turned(self, board: jax.Array, mover: jax.Array) -> jax.Array:
        """The board in the next seat's frame, the marks of the mover's chain wiped."""
        rotated, triangles = tables(self.size).rotated, TRIANGLES[self.num_players]
        turns = np.diff((*triangles, triangles[0] + 6))
        owner = jnp.where(board > 0, board - 1, jnp.where(board == 0, self.num_players - 1, EMPTY)).astype(jnp.int8)
        if self.num_players == 4:  # the seats are not spaced evenly: 60, 120, 60, 120 degrees apart
            return jnp.where(mover % 2 == 0, _take(owner, rotated[turns[0]]), _take(owner, rotated[turns[1]]))
        return _take(owner, rotated[turns[0]])

    # -- observation -------------------------------------------------------------------------------

    def _observe(self, state: ChineseCheckersState, player: jax.Array | None) -> jax.Array:
        board, peg = state.board, state.peg
        if player is not None:
            board, peg = self._seen_by(state, player)
        pegs = board[:, None] == np.arange(self.num_players, dtype=np.int8)
        left = (board < EMPTY)[:, None]
        landed = (np.arange(self.num_cells) == peg)[:, None]
        of_cells = jnp.concatenate([pegs, left, landed], axis=-1)
        off_star = jnp.zeros((1, self.num_players + 2), jnp.bool_)
        # rows of planes, gathered after they are made: the other way round XLA gathers for every plane anew
        return _take(jnp.concatenate([of_cells, off_star]), tables(self.size).grid)

    def _seen_by(self, state: ChineseCheckersState, player: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The board and the hopping peg's cell in a seat's own frame."""
        rotated = jnp.asarray(tables(self.size).rotated)
        triangles = jnp.asarray(TRIANGLES[self.num_players])
        turns = (triangles[player] - triangles[state.current_player]) % 6
        ahead = (player - state.current_player) % self.num_players
        board = state.board[rotated[turns]]
        board = jnp.where(board >= 0, (board - ahead) % self.num_players, board).astype(jnp.int8)
        peg = jnp.where(state.peg >= 0, rotated[(6 - turns) % 6][state.peg], -1)
        return board, peg

    # -- notation ----------------------------------------------------------------------------------

    def _action_to_string(self, state: ChineseCheckersState, action: int) -> str:
        """`3->14` a step, `3=>16` a hop, `end`, in absolute cells."""
        t = tables(self.size)
        if action == self.end_turn:
            return "end"
        cell, direction = divmod(action, 6)
        near = t.neighbour[cell, direction]
        is_hop = near < self.num_cells and int(state.board[near]) >= 0
        to = t.beyond[cell, direction] if is_hop else near
        if to == self.num_cells:
            raise ValueError(
                f"action {action} names no move: it leaves the board from cell {cell} of the mover's frame"
            )
        absolute = t.rotated[self._triangle(state)]
        return f"{absolute[cell]}{'=>' if is_hop else '->'}{absolute[to]}"

    def _action_from_string(self, state: ChineseCheckersState, text: str) -> int:
        """The action that a text names, legal or not. Raises ValueError for a text that names none here."""
        t = tables(self.size)
        if text == "end":
            return self.end_turn
        found = re.fullmatch(r"([0-9]{1,9})(->|=>)([0-9]{1,9})", text)
        if not found:
            raise ValueError(f"expected a step '3->14', a hop '3=>16' or 'end', not {text!r}")
        for number in (found[1], found[3]):
            if int(number) >= self.num_cells:
                raise ValueError(f"expected cells from 0 to {self.num_cells - 1}, not {number} in {text!r}")
        relative = t.rotated[-self._triangle(state) % 6]
        cell, to = relative[int(found[1])], relative[int(found[3])]
        is_hop = found[2] == "=>"
        directions = np.flatnonzero((t.beyond if is_hop else t.neighbour)[cell] == to)
        if len(directions) == 0:
            distance = "two cells along a line from" if is_hop else "next to"
            raise ValueError(f"expected a cell {distance} {found[1]}, not {found[3]} in {text!r}")
        occupied = int(state.board[t.neighbour[cell, directions[0]]]) >= 0
        if occupied != is_hop:
            blocked = "is empty: nothing to hop over" if is_hop else "is occupied: only a hop '=>' goes that way"
            raise ValueError(f"the cell next to {found[1]} towards {found[3]} in {text!r} {blocked}")
        return int(6 * cell + directions[0])

    def _to_string(self, state: ChineseCheckersState) -> str:
        """Rows from the top joined by `/`, the seat to move, the chain, the number of full rounds played."""
        t = tables(self.size)
        triangle, mover, board = self._triangle(state), int(state.current_player), np.asarray(state.board)
        content = board[t.rotated[-triangle % 6]]
        letters = "".join("." if v < 0 else str((v + mover) % self.num_players) for v in content.tolist())
        rows = "/".join(letters[begin:end] for begin, end in self._rows)
        chain = "-"
        if state.hops > 0:
            left = [int(np.flatnonzero(board == -2 - k)[0]) for k in range(int(state.hops))]
            chain = ",".join(str(t.rotated[triangle][cell]) for cell in [*left, int(state.peg)])
        return f"{rows} {mover} {chain} {int(state.round)}"

    def _from_string(self, text: str) -> ChineseCheckersState:
        """Any placement of pegs on the star; see `to_string`.

        `terminated` says whether the last mover (the seat to move in mid-chain, else the seat before it) has
        filled its goal, `truncated` whether `max_rounds` rounds have been played.
        """
        t = tables(self.size)
        fields = text.split()
        if len(fields) != 4:
            raise ValueError(f"expected 'rows seat chain round', four fields, not {len(fields)} in {text!r}")
        rows, seat, chain, rounds = fields
        if seat not in list("012345"[: self.num_players]):
            raise ValueError(f"expected a seat to move from 0 to {self.num_players - 1}, not {seat!r}")
        if not re.fullmatch(r"[0-9]{1,9}", rounds):
            raise ValueError(f"expected the number of full rounds played, not {rounds!r}")
        mover = int(seat)
        content = self._parse_rows(rows)
        path = self._parse_chain(chain, content, mover)

        triangle = TRIANGLES[self.num_players][mover]
        board = np.where(content < 0, EMPTY, (content - mover) % self.num_players)
        board = board[t.rotated[triangle]]
        relative = t.rotated[-triangle % 6][path]
        board[relative[:-1]] = -2 - np.arange(max(len(path) - 1, 0))

        last_mover = mover if path else (mover - 1) % self.num_players
        goal = (TRIANGLES[self.num_players][last_mover] + 3) % 6
        won = bool((content[t.triangle == goal] == last_mover).all())
        return dataclasses.replace(
            self.init(),
            current_player=jnp.int32(mover),
            terminated=jnp.bool_(won),
            truncated=jnp.bool_(not won and int(rounds) >= self._round_limit),
            board=jnp.asarray(board, jnp.int8),
            peg=jnp.int16(relative[-1] if path else -1),
            hops=jnp.int8(max(len(path) - 1, 0)),
            round=jnp.int32(int(rounds)),
        )

    def _triangle(self, state: ChineseCheckersState) -> int:
        return TRIANGLES[self.num_players][int(state.current_player)]

    @property
    def _rows(self) -> list[tuple[int, int]]:
        """First cell of every row and the one behind its last."""
        ends = np.cumsum(tables(self.size).lengths).tolist()
        return list(zip([0, *ends[:-1]], ends, strict=True))

    def _parse_rows(self, text: str) -> np.ndarray:
        """int[cells], the seat on every absolute cell, -1 for none."""
        rows = text.split("/")
        if len(rows) != len(self._rows):
            raise ValueError(f"expected {len(self._rows)} rows joined by '/', not {len(rows)} in {text!r}")
        for number, (row, (begin, end)) in enumerate(zip(rows, self._rows, strict=True)):
            if len(row) != end - begin:
                raise ValueError(f"expected {end - begin} cells in row {number}, not {len(row)} in {row!r}")
        letters = "".join(rows)
        allowed = "." + "".join(map(str, range(self.num_players)))
        for letter in letters:
            if letter not in allowed:
                raise ValueError(f"expected '.' or a seat from 0 to {self.num_players - 1}, not {letter!r} in {text!r}")
        return np.array([allowed.index(letter) - 1 for letter in letters])

    def _parse_chain(self, text: str, content: np.ndarray, mover: int) -> list[int]:
        """The absolute cells of a chain from its origin to where the peg stands; none for `-`."""
        if text == "-":
            return []
        if not re.fullmatch(r"[0-9]{1,9}(,[0-9]{1,9})+", text):
            raise ValueError(f"expected a chain '-' or two or more cells joined by ',', not {text!r}")
        path = [int(number) for number in text.split(",")]
        for cell in path:
            if cell >= self.num_cells or path.count(cell) > 1:
                raise ValueError(
                    f"expected different cells from 0 to {self.num_cells - 1}, not {cell} in the chain {text!r}"
                )
        for cell, to in itertools.pairwise(path):
            if to not in tables(self.size).beyond[cell]:
                raise ValueError(f"expected a cell two cells along a line from {cell}, not {to} in the chain {text!r}")
            if content[cell] >= 0:
                raise ValueError(f"expected an empty cell at {cell}, which the chain {text!r} left")
        if content[path[-1]] != mover:
            raise ValueError(f"expected a peg of seat {mover} at {path[-1]}, where the chain {text!r} stands")
        return path


def _may_end(state: ChineseCheckersState, words: jax.Array) -> jax.Array:
    """bool[], whether the mover may end the turn: in a chain, or without a move."""
    return (state.peg >= 0) | (words == 0).all()


def _take(board: jax.Array, cells: np.ndarray) -> jax.Array:
    """The board at known cells. A flat gather without bounds checks is what compiles to a tight loop."""
    return board.at[cells].get(mode="promise_in_bounds")
