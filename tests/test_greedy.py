"""The scores of the greedy agent: on drawn positions, against rules in plain Python, and in games."""

import functools
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import Env, agents, arena, greedy
from tests.helpers.positions import batched, board, in_chunks, legal, random_actions, repeated, stacked, start
from tests.helpers.sticks import Sticks

analyse: Any = jax.jit(agents.analyse)


def best_moves(env: Env[Any], position: str) -> set[str]:
    """The moves that the greedy agent may play, in notation."""
    state = env.from_string(position)
    probabilities = analyse(agents.make("greedy", env), stacked([state])).probabilities[0]
    return {env.action_to_string(state, int(action)) for action in np.flatnonzero(probabilities)}


# -- drawn positions -------------------------------------------------------------------------------------------------

STAR = "chinese_checkers(size=2, num_players=2)"
DIAMOND = "chinese_checkers_diamond(size=4, pieces=3)"
KING_CAPTURE = "minichess(rules=king_capture)"
BOXES = "dots_and_boxes(rows=1, cols=2)"  # edges 0 1 above, 2 3 below, 4 5 6 upright


@pytest.mark.parametrize(
    ("game", "position", "moves"),
    [
        # A hop of two cells before a step; in a chain another hop, and the end before a hop that gains nothing.
        (STAR, "0/0./......./.0..../...../....../......./11/1 0 - 0", {"0=>5"}),
        (STAR, "./../.0...../..0.../...../....../......./11/1 0 - 0", {"4->10", "4->11", "12->17", "12->18"}),
        (STAR, "./../......./..0.../..0../..1.../......./../. 0 5,18 3", {"18=>29"}),
        (STAR, "./../......./..0.../..01./....../......./../. 0 5,18 3", {"end"}),
        # The goal is open on its other side: the last peg walks around the others.
        (STAR, "./../111..../....../...../....../..0..../0./0 0 - 9", {"29->30"}),
        # A peg of another seat at the far corner keeps its way out: no move gains, so any legal one is played.
        (STAR, "./../111..../....../...../....../..000../../. 0 - 9", {"29->34", "30->34", "30->35", "31->35"}),
        (STAR, "./../11...../....../...../....../..000../../1 0 - 9", None),
        # A chain of any length is one action, and pieces of the other seat in the goal fill it too.
        (DIAMOND, "00../..1./..../.0.1 0 0", {"0>10"}),
        (DIAMOND, "..../.0../.0.1/..11 1 0", {"15>7", "15>13"}),
        # Captures: the queen before the rook; a promotion gains; nothing to capture: any move.
        (KING_CAPTURE, "k4/1q1r1/2P2/5/K4 w - - 0 9", {"c3b4"}),
        (KING_CAPTURE, "2r1k/3P1/5/5/K4 w - - 0 9", {"d4e5q"}),
        ("minichess", "k4/1q1r1/2P2/5/K4 w - - 0 9", {"c3b4"}),
        # A king is worth more than a man; to be crowned is worth something, most of all with a capture.
        ("checkers", "B:W18,K19:B15", {"15x24"}),
        ("checkers", "B:W7:B26,11", {"26-30", "26-31"}),
        ("checkers", "B:W18,26:B15,22", {"22x31"}),
        ("checkers", "B:W32:B1", None),
        # Two boxes before one, one before none.
        (BOXES, "1111101 .. 0", {"v(0,1)"}),
        (BOXES, "0000000 .. 0", None),
    ],
)
def test_greedy_plays_the_move_that_gains_most(game: str, position: str, moves: set[str] | None) -> None:
    """None: all legal moves are equally good."""
    env = jaxgames.make(game)
    assert best_moves(env, position) == (moves or legal(env, env.from_string(position)))


# -- rules in plain Python, on positions of games --------------------------------------------------------------------

Places = dict[int, tuple[int, int]]  # the axial coordinates of the cells


def cells_between(a: tuple[int, int], b: tuple[int, int]) -> int:
    """The distance on a hexagonal board, by the sum of the three coordinates."""
    q, r = a[0] - b[0], a[1] - b[1]
    return (abs(q) + abs(r) + abs(q + r)) // 2


def still_to_go(place: tuple[int, int], tip: tuple[int, int], goal: Places, free: set[int]) -> float:
    far = cells_between(place, tip)
    if place in goal.values() or not free:
        return far
    return far + min(cells_between(place, goal[cell]) for cell in free) / 64


def star_score(env: Any, text: str, after: str, move: str) -> float:
    """Read from the text: rows of cells from the top, the numbers of the cells row by row."""
    if move == "end":
        return 1 / 128
    n, (rows, mover, *_) = env.size, text.split()
    on_star = [
        (q, r)
        for r in range(-2 * n, 2 * n + 1)
        for q in range(-2 * n, 2 * n + 1)
        if max(q, r, -q - r) <= n or min(q, r, -q - r) >= -n
    ]
    places, content = dict(enumerate(on_star)), rows.replace("/", "")
    home = {2: (0, 3), 3: (0, 2, 4), 4: (0, 1, 3, 4), 6: range(6)}[env.num_players][int(mover)]
    tip = (-n, 2 * n)  # of the bottom triangle; each triangle clockwise is one rotation further
    for _ in range(home):
        tip = (-tip[1], tip[0] + tip[1])
    goal = {cell: place for cell, place in places.items() if cells_between(place, tip) < n}
    held = [cells_between(goal[cell], tip) for cell in goal if content[cell] not in f".{mover}"]
    closed = {cell for cell in goal if held and cells_between(goal[cell], tip) > min(held)}
    free = {cell for cell in goal if content[cell] == "." and not closed}

    def left(cell: int) -> float:
        return n if cell in closed else still_to_go(places[cell], tip, goal, free)

    begin, end = map(int, re.split("->|=>", move))
    return max(left(begin) - left(end), 0)


def diamond_score(env: Any, text: str, after: str, move: str) -> float:
    rows, mover, _ = text.split()
    last, content = env.size - 1, rows.replace("/", "")
    places = {cell: divmod(cell, env.size) for cell in range(env.size**2)}
    tip = (last, last) if mover == "0" else (0, 0)
    height = {1: 1, 3: 2, 6: 3, 10: 4}[env.pieces]
    goal = {cell: place for cell, place in places.items() if abs(sum(place) - sum(tip)) < height}
    free = {cell for cell in goal if content[cell] == "."}
    begin, end = (still_to_go(places[int(cell)], tip, goal, free) for cell in move.split(">"))
    return max(begin - end, 0)


def material(text: str, values: dict[str, int]) -> int:
    """The first side's material minus the other's; `values` has letters of both."""
    return sum(values.get(letter, 0) for letter in text)


def minichess_score(env: Any, text: str, after: str, move: str) -> float:
    values = dict(zip("PNBRQK", (100, 280, 320, 479, 929, 60_000), strict=True))
    values |= {letter.lower(): -value for letter, value in values.items()}
    gain = material(after.split()[0], values) - material(text.split()[0], values)
    return gain if " w " in text else -gain


def checkers_score(env: Any, text: str, after: str, move: str) -> float:
    def balance(text: str) -> int:
        white, black = (re.search(rf":{side}([K\d,]*)", text) for side in "WB")
        assert white
        assert black
        of_white, of_black = (2 * len(re.findall(r"\d+", side[1])) + side[1].count("K") for side in (white, black))
        return of_white - of_black

    gain = balance(after) - balance(text)
    return gain if text.startswith("W") else -gain


def boxes_score(env: Any, text: str, after: str, move: str) -> float:
    return text.split()[1].count(".") - after.split()[1].count(".")


BOARDS = 32  # at once, everywhere: one shape to compile for


def boards_of_games(env: Env[Any]) -> Any:
    """The boards of BOARDS games, each after two plies more than the one before.

    Half of the moves are greedy and half random.
    """
    rng, found = np.random.default_rng(0), list[Any]()
    fresh = states = repeated(start(env), BOARDS)
    for ply in range(2 * BOARDS):
        if ply % 2 == 0:
            found.append(board(states, ply // 2))
        masks, scores = np.asarray(batched(env).mask(states)), np.asarray(batched_scores(env, states))
        best = np.where(masks, scores, -np.inf).argmax(-1)
        actions = np.where(rng.random(BOARDS) < 0.5, best, random_actions(rng, masks))
        states = jax.device_get(batched(env).step(states, actions.astype(np.int32)))
        over = states.terminated | states.truncated
        states = jax.tree.map(lambda first, now, over=over: np.where(over, first.T, now.T).T, fresh, states)
    return stacked(found)


@pytest.mark.parametrize(
    ("game", "score"),
    [
        pytest.param("chinese_checkers(size=2, num_players=3)", star_score, marks=pytest.mark.slow),
        ("chinese_checkers_diamond(size=5, pieces=3)", diamond_score),
        ("minichess(rules=king_capture)", minichess_score),
        ("checkers", checkers_score),
        ("dots_and_boxes(rows=2, cols=3)", boxes_score),
    ],
)
def test_scores_of_legal_actions_equal_the_rules_in_words(game: str, score: Callable[..., float]) -> None:
    """The boards are from all parts of games, so that goals are partly full and pieces are lost."""
    env = jaxgames.make(game)
    states = boards_of_games(env)
    masks, scores = np.asarray(batched(env).mask(states)), np.asarray(batched_scores(env, states))
    number, action = np.nonzero(masks)
    after = in_chunks(BOARDS, batched(env).step, board(states, number), action.astype(np.int32))
    expected: list[float] = []
    for i in range(len(action)):
        state = board(states, number[i])
        move = env.action_to_string(state, int(action[i]))
        expected.append(score(env, env.to_string(state), env.to_string(board(after, i)), move))
    assert len(set(expected)) > 1, "something can be gained on these boards"
    np.testing.assert_array_equal(scores[masks], np.array(expected, np.float32))


@functools.partial(jax.jit, static_argnames="env")
def batched_scores(env: Env[Any], states: Any) -> jax.Array:
    return jax.vmap(functools.partial(greedy.action_scores, env))(states)


# -- wrapped games, and games of a user's own ----------------------------------------------------------------------


def test_scores_of_a_wrapped_env_are_those_of_its_live_board() -> None:
    env = jaxgames.auto_reset(jaxgames.make(BOXES))
    scores = jax.jit(functools.partial(greedy.action_scores, env))(env.from_string("1011100 .. 0"))
    assert scores.tolist() == [1, 0, 1, 0, 1, 1, 0]
    assert analyse(agents.make("greedy", env), stacked([env.from_string("1011100 .. 0")])).probabilities[0, 5] == 1


@pytest.mark.parametrize("env", [Sticks(), jaxgames.auto_reset(Sticks())])
def test_game_without_scores_is_refused_with_the_way_to_add_them(env: Env[Any]) -> None:
    message = r"greedy has no scores for sticks\(.*: add them with jaxgames.register\(Game\("
    with pytest.raises(jaxgames.ParameterError, match=message):
        agents.make("greedy", env)
    with pytest.raises(jaxgames.ParameterError, match="greedy has no scores"):
        greedy.action_scores(env, env.init())


class OwnSticks(Sticks):
    id = "own_sticks"


def scores(env: OwnSticks, state: Any) -> jax.Array:
    return jnp.array([1.0, 3.0, 2.0])


def test_scores_of_a_record_are_played() -> None:
    jaxgames.register(jaxgames.Game(OwnSticks.id, OwnSticks, scores=__name__))
    env = OwnSticks()
    player = agents.make("greedy", env)
    states = stacked([env.at(7, 0), env.at(1, 0), env.at(0, 0)])
    actions = jax.jit(lambda player, key, states: player.act(key, states))(player, jax.random.key(0), states)
    assert actions.tolist() == [1, 0, 0]
    assert analyse(player, states).probabilities.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]


# -- games -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "at_least"),  # the win rate of 1,000 games minus five standard deviations of that of 500
    [
        ("chinese_checkers(size=2, num_players=6)", 0.99),
        (DIAMOND, 0.99),
        (KING_CAPTURE, 0.96),
        ("checkers", 0.42),
        ("dots_and_boxes(rows=3, cols=3)", 0.97),
    ],
)
def test_greedy_beats_random(game: str, at_least: float) -> None:
    env = jaxgames.make(game)
    players = agents.make("greedy", env), agents.make("random", env)
    result = jax.jit(lambda a, b, key: arena.evaluate(env, a, b, key, 500))(*players, jax.random.key(0))
    assert result["win_rate"] > at_least


@pytest.mark.slow
@pytest.mark.parametrize("game", ["chinese_checkers(size=2, num_players=6)", DIAMOND])
def test_greedy_agents_finish_their_games(game: str) -> None:
    env = jaxgames.make(game)
    player = agents.make("greedy", env)
    result = jax.jit(lambda player, key: arena.evaluate(env, player, player, key, 500))(player, jax.random.key(0))
    assert result["truncated_rate"] == 0
