"""Dots and Boxes of a study: its agent, values and hand-outs beside solved games, and games counted by hand."""

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import jaxgames
from examples.papers.dots_and_boxes import board_sizes, depths
from examples.papers.dots_and_boxes.agent import Arguments, OpenSpielMCTS, opponent_of, report
from examples.papers.dots_and_boxes.board_sizes import board_of, plays, was_trained_on
from examples.papers.dots_and_boxes.by_value import by_value
from examples.papers.dots_and_boxes.depths import handouts_of_a_game
from examples.papers.dots_and_boxes.first_moves import edge_classes, value_by_windows
from examples.papers.dots_and_boxes.study_agent import player_of
from jaxgames import ParameterError, agents, arena
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.games.dots_and_boxes.search import ExactSearch
from tests.games.dots_and_boxes.cases import written
from tests.helpers.positions import compiled
from tests.helpers.registrations import temporary_registrations
from tests.helpers.solved import solved_boxes
from train.alphazero import AlphaZero, Config
from train.driver.run_folder import RunFolder

FIRST = Arguments(board=(1, 2), agent="first", games=4, simulations=2)


def one(state: Any) -> Any:
    """A batch of one board."""
    return jax.tree.map(lambda leaf: np.asarray(leaf)[None], state)


def test_row_counts_games_and_moves_of_both_seats(tmp_path: Path) -> None:
    """With 7 edges and 2 boxes, `first` against itself takes both boxes from the same seat, which alternates."""
    own, mcts = report(replace(FIRST, output=tmp_path, opponents=("self", "mcts"))).result["rows"]
    assert (own["opponent"], own["games"], own["wins"], own["losses"], own["ties"]) == ("self", 4, 2, 2, 0)
    assert own["moves"] == 4 * 7 / 2
    assert own["lost_to_the_clock"] == 0
    assert mcts["wins"] + mcts["losses"] + mcts["ties"] == 4


def test_bot_follows_captures_and_new_games_and_refuses_another_game() -> None:
    env = jaxgames.make("dots_and_boxes(rows=1, cols=2)")
    bot = opponent_of("mcts", env, FIRST)
    assert isinstance(bot, OpenSpielMCTS)
    key = jax.random.key(0)
    state = env.init()
    for _ in range(2):  # two games
        board = state
        while not board.terminated:
            bots_turn = int(board.current_player) == 1
            legal = np.flatnonzero(compiled(env).mask(board))
            action = int(bot.act(key, one(board))[0]) if bots_turn else int(legal[0])
            assert action in legal
            board = compiled(env).step(board, action)
    with pytest.raises(ParameterError, match="mcts follows one game from its start"):
        OpenSpielMCTS(env, 2, 0).act(key, one(env.from_string("1000000 .. 0")))


SMALL: dict[str, Any] = {"num_envs": 2, "rollout_length": 4, "replay_size": 8, "simulations": 2, "minibatch_size": 8}
ONE_ROW, TWO_ROWS = (f"dots_and_boxes(rows={rows}, cols=2, reward=boxes)" for rows in (1, 2))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """Folders of runs without a checkpoint: one for any board, and one for a single board."""
    parent = tmp_path_factory.mktemp("runs")
    configs = {
        "any": Config(env=ONE_ROW, other_envs=(TWO_ROWS,), network="tests.helpers.networks:patch(width=4)", **SMALL),
        "flat": Config(env=ONE_ROW, network="mlp", hidden_sizes=(4,), **SMALL),
    }
    with temporary_registrations():
        for name, config in configs.items():
            RunFolder.create(parent / name, AlphaZero(config)).close()
        yield {name: parent / name for name in configs}


def test_run_plays_its_own_board_and_with_a_network_for_any_board_all_others(runs: dict[str, Path]) -> None:
    boards = [board_of(board) for board in ("1x2", "2x2", "3x2")]
    assert [plays(str(runs["flat"]), env) for env in boards] == [True, False, False]
    assert [plays(str(runs["any"]), env) for env in boards] == [True, True, True]
    assert [was_trained_on(str(runs["any"]), env) for env in boards] == [True, True, False]
    assert [plays("greedy", env) for env in boards] == [True] * 3
    assert was_trained_on("greedy", boards[0]) is None


@pytest.mark.slow
def test_both_agents_play_every_opening_from_both_sides() -> None:
    """So an agent that plays the same as its opponent has the margin 0."""
    key = {"board": "2x2", "agent": "first", "opponent": "first", "games": 20, "seed": 0}
    result = board_sizes.measure(board_of("2x2"), key)
    assert result["mean_reward"] == 0
    assert result["mean_length"] == 10  # of 12 edges, two are the opening


def test_moves_by_exact_values_are_best_ones(tmp_path: Path) -> None:
    solution = solved_boxes(2, 2)
    path = tmp_path / "22.npz"
    solution.save(path)
    agent = by_value(solution.env, f"solver({path})", reward="margin")
    states = solution.states_at(np.arange(0, solution.num_states - 1, 3, dtype=np.uint32))
    moves = np.asarray(jax.jit(agent.act)(jax.random.key(0), states))
    best = solution.best_actions(states)
    assert best[np.arange(len(moves)), moves].all()
    assert not best[:, 0].all()


def test_safe_edges_are_drawn_where_there_are_some(tmp_path: Path) -> None:
    solution = solved_boxes(2, 2)
    path = tmp_path / "22.npz"
    solution.save(path)
    states = solution.states_at(np.arange(0, solution.num_states - 1, 3, dtype=np.uint32))
    drawn = np.asarray(states.edges)
    across, down = [(0, 2), (1, 3), (2, 4), (3, 5)], [(6, 7), (7, 8), (9, 10), (10, 11)]
    boxes = np.array([above + beside for above, beside in zip(across, down, strict=True)])

    def gives(edge: np.ndarray) -> np.ndarray:
        """Returns bool[B]: whether the opponent can take a box once the edge, int[B], is drawn on each board."""
        after = drawn | (np.arange(12) == edge[:, None])
        return (after[:, boxes].sum(2) == 3).any(1)

    some = np.zeros(len(drawn), bool)  # whether there is a safe edge
    for edge in range(12):
        some |= ~drawn[:, edge] & ~gives(np.full(len(drawn), edge))
    given = {}
    for rule in (False, True):
        agent = by_value(solution.env, f"solver({path})", reward="margin", safe_edges=rule)
        given[rule] = gives(np.asarray(jax.jit(agent.act)(jax.random.key(0), states)))[some]
    assert given[False].any()
    assert not given[True].any()


@pytest.mark.parametrize(
    ("agent", "message"),
    [("random", "has no values"), ("greedy", "has no values"), ("alphabeta(depth=1)", "on the host")],
)
def test_agent_without_values_is_refused(agent: str, message: str) -> None:
    env = jaxgames.make("dots_and_boxes(rows=1, cols=1)")
    with pytest.raises(jaxgames.ParameterError, match=message):
        by_value(env, agent)


def test_best_move_of_a_handout_is_that_of_the_solved_game() -> None:
    """And the other one of taking and leaving is not."""
    env, solution, generator = DotsAndBoxes(2, 3), solved_boxes(2, 3), random.Random(0)
    search, start, kinds = ExactSearch(env, compiled=False), jax.device_get(env.init()), set[str]()
    for _ in range(40):
        for kind, state, best in handouts_of_a_game(env, search, start, generator):
            worth = solution.worth(solution.index(jax.tree.map(lambda leaf: np.asarray(leaf)[None], state)))[0]
            assert worth[best] == worth[~state.edges].max()
            kinds.add(kind)
    assert kinds <= {*depths.KINDS}
    assert {"2 boxes, leave", "2 boxes, take"} <= kinds


@pytest.mark.parametrize(("name", "classes"), [("2x2", 2), ("3x5", 11), ("4x4", 6)])
def test_symmetries_and_corners_leave_few_first_edges(name: str, classes: int) -> None:
    """On 2 x 2, an edge is outer or inner. On 3 x 5 the edges of a corner are one class, and ten others are left."""
    rows, cols = map(int, name.split("x"))
    board = DotsAndBoxes(rows, cols)
    found = edge_classes(board)
    assert len(found) == classes
    assert sum(number for _, number in found) == board.num_actions


@pytest.mark.parametrize("guess", [-4, 2])
def test_value_does_not_depend_on_the_guess(guess: int) -> None:
    env = DotsAndBoxes(2, 2)
    search = ExactSearch(env, compiled=False)
    for drawn in (0, 0b1, 0b100):
        state = solved_boxes(2, 2).states_at(np.array([drawn]))
        state = type(state)(**{name: leaf[0] for name, leaf in vars(state).items()})
        assert value_by_windows(search, state, guess)["value"] == solved_boxes(2, 2).table[drawn]


AGENTS = "examples.papers.dots_and_boxes.study_agent"
LONG = 60_000  # milliseconds: no test waits for them, the work of a move is limited otherwise

ONE_TAKEN = """
    *---*---*---*
    | 0 |
    *---*---*---*

    *---*---*---*
"""
# A chain of one box, on the left, and one of four. The mover opens the shorter one.
TWO_CHAINS = """
    *---*---*---*---*---*
        |
    *   *   *---*---*---*
"""


@pytest.mark.parametrize(("depth", "edge"), [(1, "v(0,2)"), (9, "v(0,3)")])
def test_search_takes_the_box_that_it_sees(depth: int, edge: str) -> None:
    """With depth 1 two boxes now; the chain behind is out of sight."""
    env, state = DotsAndBoxes(2, 3), jax.device_get(DotsAndBoxes(2, 3).from_string(written(ONE_TAKEN)))
    assert env.action_to_string(state, player_of(env, depth, LONG).choose(state, 0)) == edge


def test_search_is_limited_to_random_edges() -> None:
    """With one move, chance chooses among all open edges; the other edge of the corner is the same."""
    env, state = DotsAndBoxes(1, 5), jax.device_get(DotsAndBoxes(1, 5).from_string(written(TWO_CHAINS)))
    players = [player_of(env, 9, LONG, limit) for limit in (1, 7, None)]
    chosen = [{player.choose(state, seed) for seed in range(40)} for player in players]
    assert [{env.action_to_string(state, edge) for edge in edges} for edges in chosen[1:]] == [{"h(1,0)"}] * 2
    assert chosen[0] == {*np.flatnonzero(~state.edges).tolist()} - {env.action_from_string(state, "v(0,0)")}


@pytest.mark.slow
@pytest.mark.parametrize(("opponent", "wins"), [("study", 25), ("random_safe_edges", 15)])
def test_our_agent_beats_it(opponent: str, wins: int) -> None:
    env = DotsAndBoxes(5, 5)
    players = [agents.make(text, env) for text in ("alphabeta", f"{AGENTS}:{opponent}")]
    agent_of_seat = arena.seating((1, 1), "alternating", 30)
    games = arena.play(env, players, agent_of_seat, jax.random.key(0))
    assert arena.results(env, games, agent_of_seat)["wins"] >= wins
