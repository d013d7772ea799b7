"""Chinese Checkers on the star board, for 2, 3, 4 or 6 seats.

The board, its cells and directions: `jaxgames/games/chinese_checkers/board.py`.

The state holds the board in the mover's frame, rotated so that the mover's home is on top and the goal at the bottom.
So one network can play every seat. The rotation at the end of a turn is one permutation, known when the program is
built. One `step` of the env is one submove: a step to an empty neighbour, a hop over a peg, or the end of the turn.

Rules, rewards and notation: docs/games/chinese_checkers.md.
"""

import dataclasses
import re
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._checks import MAX_TURN_LIMIT, check_choice, check_int
from jaxgames._platforms import at, take
from jaxgames.env import Env, State
from jaxgames.games._hexagons import HexagonalBoard
from jaxgames.games._text import hexagonal, parse_int, parse_seat, split_fields, split_rows, written_rows
from jaxgames.games.chinese_checkers.board import longest_chain, parse_chain, tables
from jaxgames.games.chinese_checkers.moves import EMPTY, VISITED, ahead, is_legal, legal_actions

# The triangles of the seats, clockwise, by the number of players.
TRIANGLES: dict[int, tuple[int, ...]] = {2: (0, 3), 3: (0, 2, 4), 4: (0, 1, 3, 4), 6: (0, 1, 2, 3, 4, 5)}
REWARDS = ("sparse", "goal", "movement", "positive_sum", "win_loss")


@jax.tree_util.register_dataclass
@dataclass(frozen=True, kw_only=True)
class ChineseCheckersState(State):
    """One board: one byte per cell and at most 37 more."""

    board: jax.Array  # int8[cells], mover's frame: EMPTY, VISITED - k, or the owner, counted clockwise from the mover
    peg: jax.Array  # int16[], the cell of the moving peg, -1 before the first hop of a turn
    hops: jax.Array  # int8[], hops in this turn
    round: jax.Array  # int32[], full rounds played


@dataclass(frozen=True)
class ChineseCheckers(HexagonalBoard, Env[ChineseCheckersState]):
    """Chinese Checkers on the star board.

    Args:
      size: N = 1..8; 4 is the traditional board. A seat has N(N+1)/2 pegs.
      num_players: 2, 3, 4 or 6.
      reward: paid per submove. "sparse": +5N to the winner, -N to the others. "goal": sparse, and +0.1 to the
        mover for a peg that enters the goal, -0.1 for one that leaves it. "movement": sparse, and +0.001 to the
        mover for a submove down (directions 4, 5), -0.001 up (1, 2). "positive_sum": +5N to the winner, 0 to the
        others, and both bonuses. "win_loss": num_players - 1 to the winner, -1 to the others.
      max_rounds: rounds after which the game is truncated. None: 200 for N <= 2, 500 for 3, 1000 for larger boards.

    Action: 6 * cell + direction in the mover's frame; a step if the neighbour is empty, a hop if it is occupied.
    The last action ends the turn: after a hop, or to pass where no other action is legal.
    Observation: bool[4N+1, 4N+1, num_players + 2], cell (q, r) at [q + 2N, r + 2N] in the frame of the viewer, the
    seat that observes. Planes: the viewer's pegs, those of the other seats clockwise, the cells that the moving peg
    has left in this turn, the cell where it landed last.
    Source: Gu & Adhikari, arXiv:2405.18733; docs/games/chinese_checkers.md lists the differences.
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
    def _axial(self) -> np.ndarray:
        return tables(self.size).axial

    @property
    def max_steps(self) -> int:
        return self._round_limit * self.num_players * (longest_chain(self.size) + 1)

    @property
    def reward_range(self) -> tuple[float, float]:
        lose, win = self._loss_and_win
        goal, movement = np.array(self._bonuses, np.float32)  # added in the same order as on the device
        return min(-1.0, lose), float(np.float32(win) + (goal + movement))

    @property
    def zero_sum(self) -> bool:
        lose, win = self._loss_and_win
        return self.terminal_rewards and win + (self.num_players - 1) * lose == 0

    @property
    def terminal_rewards(self) -> bool:
        return self._bonuses == (0.0, 0.0)

    @property
    def return_range(self) -> tuple[float, float]:
        goal, movement = map(float, np.array(self._bonuses, np.float32))
        moved = movement * self.max_steps
        return self._loss_and_win[0] - moved, self.reward_range[1] + goal * (self.num_pegs - 1) + moved

    @property
    def _round_limit(self) -> int:
        assert self.max_rounds is not None  # settled in __post_init__
        return self.max_rounds

    @property
    def _loss_and_win(self) -> tuple[float, float]:
        """Rewards of every loser and of the winner, without bonuses."""
        if self.reward == "win_loss":
            return -1.0, self.num_players - 1.0
        return 0.0 if self.reward == "positive_sum" else float(-self.size), 5.0 * self.size

    @property
    def _bonuses(self) -> tuple[float, float]:
        """Rewards of the mover for a peg that enters the goal, and for a submove down."""
        goal = 0.1 if self.reward in ("goal", "positive_sum") else 0.0
        return goal, 0.001 if self.reward in ("movement", "positive_sum") else 0.0

    # -- rules -------------------------------------------------------------------------------------

    def _init(self, key: jax.Array | None) -> ChineseCheckersState:
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
        return legal_actions(self.size, state.board, state.peg)

    def _is_legal(self, state: ChineseCheckersState, action: jax.Array) -> jax.Array:
        return is_legal(self.size, state.board, state.peg, action)

    def _step(self, state: ChineseCheckersState, action: jax.Array, key: jax.Array | None) -> ChineseCheckersState:
        cell, direction = action // 6, action % 6  # the end of a turn has cell num_cells
        near, beyond = ahead(self.size, action)
        is_hop = (near < self.num_cells) & (at(state.board, near) >= 0)
        to = jnp.where(is_hop, beyond, near)

        cells = np.arange(self.num_cells)
        vacated = jnp.where(is_hop, VISITED - state.hops, EMPTY).astype(jnp.int8)
        moved = jnp.where(cells == to, 0, jnp.where(cells == cell, vacated, state.board)).astype(jnp.int8)
        goal_begin = self.num_cells - self.num_pegs  # the goal is the last rows
        won = (moved[goal_begin:] == 0).all()

        into_goal = (to >= goal_begin).astype(jnp.float32) - (cell >= goal_begin).astype(jnp.float32)
        down = jnp.where(direction >= 4, 1.0, jnp.where((direction == 1) | (direction == 2), -1.0, 0.0))
        goal_bonus, movement_bonus = self._bonuses
        bonus = jnp.where(cell < self.num_cells, goal_bonus * into_goal + movement_bonus * down, 0.0)

        (lose, win), is_mover = self._loss_and_win, np.arange(self.num_players) == state.current_player
        rewards = jnp.where(won, jnp.where(is_mover, win, lose), 0.0) + jnp.where(is_mover, bonus, 0.0)

        next_player = (state.current_player + 1) % self.num_players
        next_round = jnp.where(next_player == 0, state.round + 1, state.round)
        return ChineseCheckersState(
            current_player=jnp.where(is_hop, state.current_player, next_player),
            rewards=rewards.astype(jnp.float32),
            terminated=won,
            truncated=~is_hop & ~won & (next_round >= self._round_limit),
            board=jnp.where(is_hop, moved, self._in_next_frame(moved, state.current_player)),
            peg=jnp.where(is_hop, to, -1).astype(jnp.int16),
            hops=jnp.where(is_hop, state.hops + 1, 0).astype(jnp.int8),
            round=jnp.where(is_hop, state.round, next_round),
        )

    def _in_next_frame(self, board: jax.Array, mover: jax.Array) -> jax.Array:
        """Returns the board in the frame of the seat after the mover, without the cells visited in this turn."""
        owner = jnp.where(board > 0, board - 1, jnp.where(board == 0, self.num_players - 1, EMPTY)).astype(jnp.int8)
        rotated, triangles = tables(self.size).rotated, TRIANGLES[self.num_players]
        rotations = np.diff((*triangles, triangles[0] + 6))
        if self.num_players == 4:  # the seats are 1, 2, 1, 2 triangles apart
            return jnp.where(mover % 2 == 0, take(owner, rotated[rotations[0]]), take(owner, rotated[rotations[1]]))
        return take(owner, rotated[rotations[0]])

    def _restart_clock(self, state: ChineseCheckersState) -> ChineseCheckersState:
        return dataclasses.replace(state, round=jnp.zeros_like(state.round))

    # -- outcome -----------------------------------------------------------------------------------

    def _winners(self, state: ChineseCheckersState) -> jax.Array:
        last_mover = jnp.where(state.peg >= 0, state.current_player, (state.current_player - 1) % self.num_players)
        return (np.arange(self.num_players) == last_mover) & self._is_won(state)

    def _reason(self, state: ChineseCheckersState) -> str:
        if state.truncated:
            return f"{self.max_rounds} rounds without a winner"
        return "goal filled" if self._is_won(jax.device_get(state)) else ""

    def _is_won(self, state: ChineseCheckersState) -> jax.Array:
        """Returns bool[], whether the last mover's goal is full: the mover's in a chain, else the previous seat's."""
        triangle, triangles = tables(self.size).triangle, TRIANGLES[self.num_players]

        def has_filled(owner: int, goal: int) -> jax.Array:
            return ((state.board == owner) | (triangle != goal)).all()

        # The goals of the last seat and of seat 0 in the next seat's frame. Other seats repeat these two.
        even, odd = ((triangles[seat - 1] - triangles[seat] + 3) % 6 for seat in (0, 1))
        by_step = has_filled(self.num_players - 1, even)
        if odd != even:
            is_odd = state.current_player % 2 == 1
            by_step = by_step & ~is_odd | has_filled(self.num_players - 1, odd) & is_odd
        return jnp.where(state.peg >= 0, has_filled(0, 3), by_step)

    # -- observation -------------------------------------------------------------------------------

    def _observe(self, state: ChineseCheckersState, player: jax.Array) -> jax.Array:
        board, peg = state.board, state.peg
        if player is not state.current_player:  # the mover's frame needs no gather
            board, peg = self._in_frame_of(state, player)
        visited, landed, none = np.arange(self.num_players, self.num_players + 3, dtype=np.int8)  # planes, and no plane
        plane = jnp.where(board >= 0, board, jnp.where(board == EMPTY, none, visited))
        is_landing = np.arange(self.num_cells) == peg.astype(jnp.int32)
        planes = np.arange(none, dtype=np.int8)[None]
        of_cells = (plane[:, None] == planes) | (jnp.where(is_landing, landed, none)[:, None] == planes)
        off_star = jnp.zeros((1, none), jnp.bool_)
        return jnp.concatenate([of_cells, off_star]).at[tables(self.size).grid].get(mode="promise_in_bounds")

    def _in_frame_of(self, state: ChineseCheckersState, player: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Returns the board, int8[cells], and the cell of the moving peg in the frame of a seat."""
        rotated = jnp.asarray(tables(self.size).rotated)
        triangles = jnp.asarray(TRIANGLES[self.num_players])
        rotations = (triangles[player] - triangles[state.current_player]) % 6
        ahead = ((player - state.current_player) % self.num_players).astype(jnp.int8)
        board = state.board[rotated[rotations]]
        board = jnp.where(board >= 0, (board - ahead) % self.num_players, board)
        peg = jnp.where(state.peg >= 0, rotated[(6 - rotations) % 6][state.peg], -1)
        return board, peg.astype(jnp.int16)

    # -- notation ----------------------------------------------------------------------------------

    def _action_to_string(self, state: ChineseCheckersState, action: int) -> str:
        """Returns `3->14` for a step, `3=>16` for a hop, `end`, in absolute cells."""
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
        """Returns the action that a text names, legal or not."""
        t = tables(self.size)
        if text == "end":
            return self.end_turn
        found = re.fullmatch(r"([0-9]{1,9})(->|=>)([0-9]{1,9})", text)
        if not found:
            raise ValueError(f"expected a step '3->14', a hop '3=>16' or 'end', not {text!r}")
        relative, last = t.rotated[-self._triangle(state) % 6], self.num_cells - 1
        cell, to = (
            relative[parse_int(number, f"cells from 0 to {last}", high=last, shown=f"{number} in {text!r}")]
            for number in (found[1], found[3])
        )
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

    def pieces_of(self, state: ChineseCheckersState) -> dict[int, tuple[int, str]]:
        """Returns the seat and "peg" for each cell with a peg, in the order of the cells; on the host."""
        mover = int(state.current_player)
        content = np.asarray(state.board)[tables(self.size).rotated[-self._triangle(state) % 6]]
        found = enumerate(content.tolist())
        return {cell: ((owner + mover) % self.num_players, "peg") for cell, owner in found if owner >= 0}

    def chain(self, state: ChineseCheckersState) -> list[int]:
        """Returns the cells of the hops in this turn, from the first one to where the peg stands; on the host."""
        board, hops = np.asarray(state.board), int(state.hops)
        visited = [int(np.flatnonzero(board == VISITED - k)[0]) for k in range(hops)]
        absolute = tables(self.size).rotated[self._triangle(state)]
        return [int(absolute[cell]) for cell in [*visited, int(state.peg)]] if hops else []

    def _to_string(self, state: ChineseCheckersState) -> str:
        """Returns the rows from the top joined by `/`, the seat to move, the chain, the number of full rounds."""
        rows = written_rows(self.pieces_of(state), tables(self.size).lengths.tolist())
        chain = ",".join(map(str, self.chain(state))) or "-"
        return f"{rows} {int(state.current_player)} {chain} {int(state.round)}"

    def _to_text(self, state: ChineseCheckersState) -> str:
        places = [(r, 2 * q + r) for q, r in tables(self.size).axial.tolist()]
        return hexagonal(self.pieces_of(state), places, self.num_players)

    def _from_string(self, text: str) -> ChineseCheckersState:
        """Returns any placement of pegs on the star; see `to_string`.

        `terminated` is set if the last mover has filled its goal. The last mover is the seat to move in the middle of a
        chain, else the seat before it. `truncated` is set if `max_rounds` rounds have been played.
        """
        rows, seat, chain, rounds = split_fields(text, "rows seat chain round")
        mover = parse_seat(seat, self.num_players)
        rounds_played = parse_int(rounds, "the number of full rounds played")
        letters, lengths = ".012345"[: self.num_players + 1], dict(enumerate(tables(self.size).lengths.tolist()))
        cells = split_rows(rows, lengths, letters, f"'.' or a seat from 0 to {self.num_players - 1}")
        content = np.array([letters.index(letter) - 1 for letter in "".join(cells)])
        path = parse_chain(self.size, chain, content, mover)

        rotated, triangle = tables(self.size).rotated, TRIANGLES[self.num_players][mover]
        board = np.where(content < 0, EMPTY, (content - mover) % self.num_players)[rotated[triangle]].astype(np.int8)
        relative = rotated[-triangle % 6][path]
        board[relative[:-1]] = VISITED - np.arange(max(len(path) - 1, 0))
        state = dataclasses.replace(
            self._init(None),
            current_player=jnp.int32(mover),
            board=jnp.asarray(board),
            peg=jnp.int16(relative[-1] if path else -1),
            hops=jnp.int8(max(len(path) - 1, 0)),
            round=jnp.int32(rounds_played),
        )
        won = bool(self._is_won(jax.device_get(state)))
        truncated = not won and rounds_played >= self._round_limit
        return dataclasses.replace(state, terminated=jnp.bool_(won), truncated=jnp.bool_(truncated))

    def _triangle(self, state: ChineseCheckersState) -> int:
        """Returns the absolute triangle that is the mover's home."""
        return TRIANGLES[self.num_players][int(state.current_player)]
