"""Whole games beside engines that share no code with ours: OpenSpiel, pyffish (Fairy-Stockfish) and Pgx.

Chinese Checkers and checkers are also compared move by move with their slow references, and checkers with pydraughts.
"""

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import pgx
import pyffish
import pyspiel
import pytest

import jaxgames
from jaxgames import Env
from tests.games.chinese_checkers.cases import PLAYERS, choose_eagerly
from tests.games.chinese_checkers.reference import DIRECTIONS, Reference, rotated
from tests.games.minichess.cases import START
from tests.helpers.positions import batched, board, random_actions, repeated, start


class Engine(Protocol):
    """A game in another engine, in the numbers of our actions. `state` is our board at the same time."""

    def legal(self, state: Any) -> list[int]: ...

    def apply(self, state: Any, action: int) -> None: ...

    def check_board(self, state: Any) -> None: ...

    def is_over(self, over: bool) -> bool: ...  # by the rules; `over` is what ours says

    def returns(self) -> list[float]: ...


def play_beside(
    env: Env[Any],
    new: Callable[[], Engine],
    games: int,
    seed: int,
    *,
    share: float = 1.0,
    choose: Callable[[np.random.Generator, str], int] | None = None,
) -> Counter[str]:
    """Plays games to their ends, and asks the engine about a share of the boards and about every end.

    `choose` picks an action by the text of a board, at random by default. Returns how the games ended, and "plies".
    """
    rng, counted = np.random.default_rng(seed), Counter[str]()
    engines, states = [new() for _ in range(games)], repeated(start(env), games)
    live, returns = list(range(games)), np.zeros((games, env.num_players))
    while live:
        masks = np.asarray(batched(env).mask(states))
        actions = random_actions(rng, masks)
        for i in live:
            state = board(states, i)
            if rng.random() < share:
                assert not engines[i].is_over(False)
                assert sorted(engines[i].legal(state)) == np.flatnonzero(masks[i]).tolist()
                engines[i].check_board(state)
            if choose:
                actions[i] = choose(rng, env.to_string(state))
            engines[i].apply(state, int(actions[i]))
        states = jax.device_get(batched(env).step(states, actions))
        returns[live] += states.rewards[live]
        counted["plies"] += len(live)
        for i in live:
            over = bool(states.terminated[i])
            if over:
                assert engines[i].is_over(over)
                engines[i].check_board(board(states, i))
                np.testing.assert_allclose(engines[i].returns(), returns[i])
            if over or states.truncated[i]:
                outcome = env.outcome(board(states, i))
                counted[f"won by {outcome.winners[0]}" if outcome.winners else outcome.kind] += 1
        live = [i for i in live if not (states.terminated[i] or states.truncated[i])]
    return counted


class OfOpenSpiel:
    """A game of OpenSpiel. `theirs` has its numbers for ours, by seat; by default they are ours."""

    def __init__(self, env: Env[Any], game: str, **parameters: Any) -> None:
        self.env, self.state = env, pyspiel.load_game(game, parameters).new_initial_state()

    def legal(self, state: Any) -> list[int]:
        assert self.state.current_player() == state.current_player
        return self.state.legal_actions()

    def apply(self, state: Any, action: int) -> None:
        self.state.apply_action(action)

    def check_board(self, state: Any) -> None: ...

    def is_over(self, over: bool) -> bool:
        return self.state.is_terminal()

    def returns(self) -> list[float]:
        return self.state.returns()


# -- checkers ----------------------------------------------------------------------------------------------------------

OPEN_SPIEL_DIRECTION = (1, 2, 3, 0)  # of ours: OpenSpiel counts clockwise from up-left
OPEN_SPIEL_PIECES = {"o": ("b", ""), "8": ("b", "K"), "+": ("w", ""), "*": ("w", "K")}


def open_spiel_action(action: int, seat: int) -> tuple[int, int]:
    """OpenSpiel's numbers of the step and of the jump; its board is seat 0's frame, with the light squares."""
    index, direction = divmod(action, 4)
    index, direction = (index, direction) if seat == 0 else (31 - index, (direction + 2) % 4)
    row, column = index // 4, 2 * (index % 4) + (index // 4 + 1) % 2
    step = 2 * (4 * (8 * row + column) + OPEN_SPIEL_DIRECTION[direction])
    return step, step + 1


OPEN_SPIEL_ACTION = np.array([[open_spiel_action(action, seat) for action in range(128)] for seat in (0, 1)])


class CheckersOfOpenSpiel(OfOpenSpiel):
    def legal(self, state: Any) -> list[int]:
        allowed = super().legal(state)
        ours = {
            theirs: action
            for action, both in enumerate(OPEN_SPIEL_ACTION[state.current_player].tolist())
            for theirs in both
        }
        return [ours[theirs] for theirs in allowed]

    def apply(self, state: Any, action: int) -> None:
        is_jump = self.state.legal_actions()[0] % 2  # all of them are jumps, or none is
        self.state.apply_action(int(OPEN_SPIEL_ACTION[state.current_player, action, is_jump]))

    def check_board(self, state: Any) -> None:
        """OpenSpiel's drawing has the squares of PDN from the last to the first."""
        sides: dict[str, dict[int, str]] = {"w": {}, "b": {}}
        for row, line in enumerate(str(self.state).splitlines()[:8]):
            for column, letter in enumerate(line[1:]):
                if letter != ".":
                    side, king = OPEN_SPIEL_PIECES[letter]
                    number = 32 - (4 * row + column // 2)
                    sides[side][number] = f"{king}{number}"
        white, black = (",".join(text for _, text in sorted(sides[side].items())) for side in "wb")
        assert self.env.to_string(state).split(":")[1:3] == [f"W{white}", f"B{black}"]


@pytest.mark.parametrize(
    ("games", "seed"), [(120, 0), *(pytest.param(1000, seed, marks=pytest.mark.slow) for seed in (1, 2))]
)
def test_open_spiel_agrees_on_games_of_checkers(games: int, seed: int) -> None:
    """Legal plies, the board, the seat to move, the end and its rewards."""
    env = jaxgames.make("checkers", draw_rule="openspiel")
    ends = play_beside(env, lambda: CheckersOfOpenSpiel(env, "checkers"), games, seed)
    assert ends["plies"] > 50 * games
    assert min(ends["won by 0"] + ends["won by 1"], ends["draw"]) >= games // 10


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
    """A game found by search, which Black wins under the federation's rules."""
    env, plies = jaxgames.make("checkers", draw_rule="openspiel"), iter(BLOCKED_AT_THE_LIMIT.split())

    def choose(rng: np.random.Generator, text: str) -> int:
        return env.action_from_string(jax.device_get(env.from_string(text)), next(plies))

    assert play_beside(env, lambda: CheckersOfOpenSpiel(env, "checkers"), 1, seed=0, choose=choose)["draw"] == 1
    assert not [*plies]


# -- Chinese Checkers --------------------------------------------------------------------------------------------------

THEIR_DIRECTION = [3, 1, 0, 2, 4, 5]  # of each of ours: OpenSpiel counts up-left, up-right, left, right, down-left, ...
THEIR_PASS = 726


@functools.cache
def their_actions(num_players: int) -> list[dict[int, int]]:
    """OpenSpiel's number for each of our actions, by seat: in absolute cells and directions."""
    reference = Reference(4, num_players)
    numbers = [{reference.end_turn: THEIR_PASS} for _ in range(num_players)]
    for seat, triangle in enumerate(reference.triangle):
        for i, cell in enumerate(reference.cells):
            for direction, step in enumerate(DIRECTIONS):
                absolute = DIRECTIONS.index(rotated(step, triangle))
                origin = reference.index[rotated(cell, triangle)]
                numbers[seat][6 * i + direction] = 6 * origin + THEIR_DIRECTION[absolute]
    return numbers


class StarOfOpenSpiel(OfOpenSpiel):
    """OpenSpiel differs in two ways. It ends a chain by itself when no hop is left, where we wait for `end`.

    And it looks for a win when the turn ends, where we do after each hop.
    """

    def legal(self, state: Any) -> list[int]:
        if self.state.is_terminal() or self.state.current_player() != state.current_player:
            return [self.env.num_actions - 1]  # the chain has been ended
        ours = {theirs: action for action, theirs in their_actions(self.env.num_players)[state.current_player].items()}
        return [ours[theirs] for theirs in self.state.legal_actions()]

    def apply(self, state: Any, action: int) -> None:
        if self.state.current_player() == state.current_player:
            self.state.apply_action(their_actions(self.env.num_players)[state.current_player][action])

    def check_board(self, state: Any) -> None:
        """OpenSpiel draws rows from the top and numbers the players from 1."""
        rows = [row.replace(" ", "") for row in str(self.state).splitlines()[:17]]
        drawn = "/".join("".join("." if c == "." else str(int(c) - 1) for c in row) for row in rows)
        assert self.env.to_string(state).split()[0] == drawn

    def is_over(self, over: bool) -> bool:
        if over and not self.state.is_terminal():
            self.state.apply_action(THEIR_PASS)
        return self.state.is_terminal()


@pytest.mark.parametrize(
    ("num_players", "games"),
    [(2, 2), *(pytest.param(players, games, marks=pytest.mark.slow) for players in PLAYERS for games in (3, 160))],
)
def test_open_spiel_agrees_on_games_of_chinese_checkers(num_players: int, games: int) -> None:
    """Legal submoves, the board, who moves and who wins, among eager players."""
    parameters = {"size": 4, "num_players": num_players, "reward": "win_loss", "max_rounds": 100_000}
    env, reference = jaxgames.make("chinese_checkers", **parameters), Reference(4, num_players, "win_loss", 100_000)

    def choose(rng: np.random.Generator, text: str) -> int:
        position = reference.from_string(text)
        return choose_eagerly(reference, rng, position, reference.legal(position))

    def new() -> Engine:
        return StarOfOpenSpiel(env, "chinese_checkers", players=num_players, max_moves=1_000_000)

    ends = play_beside(env, new, games, seed=num_players, choose=choose)
    assert ends["plies"] >= 100 * games
    assert sum(ends[f"won by {seat}"] for seat in range(num_players)) == games


# -- Dots and Boxes ----------------------------------------------------------------------------------------------------


class BoxesOfOpenSpiel(OfOpenSpiel):
    def check_board(self, state: Any) -> None:
        """OpenSpiel's tensor is [content, dot, part]: the edge right of a dot, that below it, the owner of the box."""
        env: Any = self.env
        tensor = np.reshape(self.state.observation_tensor(0), (3, env.rows + 1, env.cols + 1, 3))
        nobody = tensor[0] == 1
        drawn = ~np.concatenate([nobody[:, : env.cols, 0].ravel(), nobody[: env.rows, :, 1].ravel()])
        owners = tensor[:, : env.rows, : env.cols, 2].argmax(0).ravel()
        edges = "".join("01"[int(edge)] for edge in drawn)
        assert env.to_string(state).split()[:2] == [edges, "".join(".01"[owner] for owner in owners)]


@pytest.mark.parametrize(
    ("rows", "cols", "games"),
    [(1, 1, 4), (2, 1, 8), (3, 3, 16), (7, 11, 2)]
    + [pytest.param(*each, 200, marks=pytest.mark.slow) for each in [(1, 2), (1, 9), (9, 1), (3, 2), (4, 4), (5, 5)]]
    + [pytest.param(*each, 4, marks=pytest.mark.slow) for each in [(1, 16), (16, 1), (16, 16)]],
)
def test_open_spiel_agrees_on_games_of_dots_and_boxes(rows: int, cols: int, games: int) -> None:
    """Legal moves, which are numbered alike, the board, who moves and what is paid at the end."""
    env = jaxgames.make("dots_and_boxes", rows=rows, cols=cols, reward="margin")

    def new() -> Engine:
        return BoxesOfOpenSpiel(env, "dots_and_boxes", num_rows=rows, num_cols=cols, utility_margin=True)

    ends = play_beside(env, new, games, seed=1, share=min(1.0, 16 / env.num_actions))
    assert ends["won by 0"] + ends["won by 1"] + ends["draw"] == games
    assert bool(ends["draw"]) == (rows * cols % 2 == 0) or games < 200


# -- 5 x 5 chess -------------------------------------------------------------------------------------------------------

# Fairy-Stockfish has no rule of this name, but pieces whose loss loses: a king that is a common piece of that kind.
pyffish.load_variant_config("""
[kingcapture:gardner]
king = -
commoner = k
extinctionValue = loss
extinctionPieceTypes = k
stalemateValue = draw
nMoveRule = 0
nFoldRule = 0
""")


class OfPyffish:
    """A game of Fairy-Stockfish, as the list of its moves."""

    def __init__(self, env: Any) -> None:
        self.env, self.moves = env, list[str]()
        self.variant = "kingcapture" if env.rules == "king_capture" else "gardner"

    def legal(self, state: Any) -> list[int]:
        return [
            self.env.action_from_string(state, move) for move in pyffish.legal_moves(self.variant, START, self.moves)
        ]

    def apply(self, state: Any, action: int) -> None:
        self.moves.append(self.env.action_to_string(state, action))

    def check_board(self, state: Any) -> None:
        assert self.env.to_string(state) == pyffish.get_fen(self.variant, START, self.moves)

    def is_over(self, over: bool) -> bool:
        """Repetitions and quiet plies end a game that a player may claim to be drawn."""
        stuck = not pyffish.legal_moves(self.variant, START, self.moves)
        if stuck or self.variant == "kingcapture":
            return stuck
        dead = pyffish.has_insufficient_material(self.variant, START, self.moves) == (True, True)
        return dead or pyffish.is_optional_game_end(self.variant, START, self.moves) == (True, 0)

    def returns(self) -> list[float]:
        """The side to move is mated, has lost its king, or nobody has won."""
        if self.variant == "kingcapture":
            lost = pyffish.is_immediate_game_end(self.variant, START, self.moves)[0]
        else:
            stuck = not pyffish.legal_moves(self.variant, START, self.moves)
            lost = stuck and pyffish.gives_check(self.variant, START, self.moves)
        winner = 1 - len(self.moves) % 2
        return [(1.0 if seat == winner else -1.0) if lost else 0.0 for seat in (0, 1)]


@pytest.mark.parametrize(
    ("rules", "games", "share"),
    [
        ("standard", 25, 0.05),
        ("king_capture", 25, 0.1),
        pytest.param("standard", 100, 1.0, marks=pytest.mark.slow),
        pytest.param("king_capture", 2000, 0.05, marks=pytest.mark.slow),
    ],
)
def test_pyffish_agrees_on_games_of_chess(rules: str, games: int, share: float) -> None:
    env = jaxgames.make("minichess", rules=rules)
    ends = play_beside(env, lambda: OfPyffish(env), games, seed=0, share=share)
    won = ends["won by 0"] + ends["won by 1"]
    assert won >= (0.9 * games if rules == "king_capture" else 5)
    assert won + ends["draw"] + ends["truncated"] == games
    assert ends["draw"] >= games // 2 or rules == "king_capture"


PLANES_OF_PGX = [*range(12), 112, 13]  # those that ours has too


@functools.cache
def programs_of_pgx() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Init and step, which is long to run if it is not optimised."""
    env: Any = pgx.make("gardner_chess")
    return env.init, jax.jit(env.step, compiler_options={"xla_backend_optimization_level": 3})


class OfPgx:
    def __init__(self, env: Env[Any]) -> None:
        init, self.step = programs_of_pgx()
        self.env, self.state = (
            env,
            init(jax.random.key(0)).replace(current_player=jnp.int32(0)),
        )  # White, which is drawn

    def legal(self, state: Any) -> list[int]:
        return np.flatnonzero(self.state.legal_action_mask).tolist()

    def apply(self, state: Any, action: int) -> None:
        self.state = self.step(self.state, action)

    def check_board(self, state: Any) -> None:
        if not state.terminated:  # Pgx shows a finished board from the other side
            planes = np.asarray(self.state.observation)[..., PLANES_OF_PGX] > 0
            np.testing.assert_array_equal(self.env.observe(state)[..., :14], planes)

    def is_over(self, over: bool) -> bool:
        return bool(self.state.terminated)

    def returns(self) -> list[float]:
        return self.state.rewards.tolist()


@pytest.mark.slow  # Pgx takes long to compile; pyffish and the reference play whole games too
def test_pgx_agrees_on_games_of_chess() -> None:
    """Actions, legal moves, observations, rewards and ends."""
    env = jaxgames.make("minichess")
    ends = play_beside(env, lambda: OfPgx(env), games=50, seed=0)
    assert ends["won by 0"] + ends["won by 1"] >= 5
    assert ends["draw"] >= 25
