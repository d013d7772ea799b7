"""The scores of the greedy agent: against rules in plain Python on positions of games, and in games."""

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
from tests.games.checkers.reference import Reference as Checkers
from tests.games.chinese_checkers.reference import Reference as Star
from tests.games.chinese_checkers_diamond.reference import Reference as Diamond
from tests.games.minichess.reference import balance, from_fen
from tests.helpers.positions import batched, board, in_chunks, random_actions, repeated, stacked, start
from tests.helpers.sticks import Sticks

analyse: Any = jax.jit(agents.analyse)
BOXES = "dots_and_boxes(rows=1, cols=2)"  # edges 0 1 above, 2 3 below, 4 5 6 upright

# -- rules in plain Python, on positions of games --------------------------------------------------------------------


def cells_between(a: tuple[int, int], b: tuple[int, int] = (0, 0)) -> int:
    """The distance on a hexagonal board, by the sum of the three coordinates."""
    q, r = a[0] - b[0], a[1] - b[1]
    return (abs(q) + abs(r) + abs(q + r)) // 2


def still_to_go(place: tuple[int, int], tip: tuple[int, int], goal: set[Any], free: set[Any]) -> float:
    far = cells_between(place, tip)
    return far if place in goal or not free else far + min(cells_between(place, cell) for cell in free) / 64


def star_score(env: Any, text: str, after: str, move: str) -> float:
    if move == "end":
        return 1 / 128
    rules = Star(env.size, env.num_players)
    position = rules.from_string(text)
    goal = rules.goal[position.seat]
    tip = max(goal, key=cells_between)
    held = [cells_between(place, tip) for place in goal if position.pegs[place] not in (None, position.seat)]
    closed = {place for place in goal if held and cells_between(place, tip) > min(held)}
    free = {place for place in goal if position.pegs[place] is None} - closed
    begin, end = (
        env.size if place in closed else still_to_go(place, tip, goal, free)
        for place in (rules.cells[int(cell)] for cell in re.split("->|=>", move))
    )
    return max(begin - end, 0)


def diamond_score(env: Any, text: str, after: str, move: str) -> float:
    rules = Diamond(env.size, env.pieces)
    position = rules.from_string(text)
    goal = rules.home[1 - position.seat]
    tip = rules.seen_by(position.seat, (env.size - 1, env.size - 1))
    begin, end = (still_to_go(rules.cells[int(cell)], tip, goal, goal - {*position.pieces}) for cell in move.split(">"))
    return max(begin - end, 0)


def minichess_score(env: Any, text: str, after: str, move: str) -> float:
    gain = balance(from_fen(after).board) - balance(from_fen(text).board)
    return gain if " w " in text else -gain


def checkers_score(env: Any, text: str, after: str, move: str) -> float:
    def lead(text: str) -> int:
        pieces = Checkers().from_string(text).pieces.values()
        return sum((2 + piece.king) * (1 if piece.seat == 0 else -1) for piece in pieces)

    gain = lead(after) - lead(text)
    return gain if text.startswith("B") else -gain


def boxes_score(env: Any, text: str, after: str, move: str) -> float:
    return text.split()[1].count(".") - after.split()[1].count(".")


BOARDS = 32  # at once, everywhere: one shape to compile for
RARE = {  # a peg of another seat at the far corner of the goal; a king is captured by a man that is crowned
    "chinese_checkers": "./../11...../....../...../....../..000../../1 0 - 9",
    "checkers": "B:WK26,30:B22",
}


def boards_of_games(env: Env[Any]) -> Any:
    """Boards after 0, 2, 4, ... plies, half of them greedy and half random; or a rare one for the first."""
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
    if env.id in RARE:
        found[0] = env.from_string(RARE[env.id])
    return stacked(found)


@pytest.mark.parametrize(
    ("game", "score"),
    [
        ("chinese_checkers(size=2, num_players=2)", star_score),
        pytest.param("chinese_checkers(size=2, num_players=3)", star_score, marks=pytest.mark.slow),
        ("chinese_checkers_diamond(size=5, pieces=3)", diamond_score),
        ("minichess(rules=king_capture)", minichess_score),
        ("checkers", checkers_score),
        ("dots_and_boxes(rows=2, cols=3)", boxes_score),
    ],
)
def test_scores_are_those_of_the_rules_and_the_best_are_played(game: str, score: Callable[..., float]) -> None:
    """The boards are from all parts of games, so that goals are partly full or closed, and pieces are lost."""
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
    best = masks & (scores == np.where(masks, scores, -np.inf).max(-1, keepdims=True))
    probabilities = analyse(agents.make("greedy", env), states).probabilities
    np.testing.assert_allclose(probabilities, best / best.sum(-1, keepdims=True), rtol=1e-6)


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
@pytest.mark.parametrize("game", ["chinese_checkers(size=2)", "chinese_checkers_diamond(size=4, pieces=3)"])
def test_greedy_agents_finish_their_games(game: str) -> None:
    env = jaxgames.make(game)
    player = agents.make("greedy", env)
    result = jax.jit(lambda player, key: arena.evaluate(env, player, player, key, 500))(player, jax.random.key(0))
    assert result["truncated_rate"] == 0
