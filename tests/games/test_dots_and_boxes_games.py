"""Whole games of Dots and Boxes beside two engines that share no code with ours, and its symmetries.

- `dots_and_boxes_reference`, the rules in slow plain Python: everything that the contract promises.
- OpenSpiel's `dots_and_boxes`.

Games are played at random and recorded on the device, then played again on the other side.
"""

import dataclasses
import functools
import re
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest

import jaxgames
from jaxgames import Env
from tests.games.dots_and_boxes_reference import Reference

REWARDS = ["win_loss", "margin", "boxes"]
SIZES = [(1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 3), (4, 2), (5, 5), (1, 16), (16, 1), (7, 11), (16, 16)]


class Record(NamedTuple):
    """What is seen before a step, and the action; one entry a step on the first axis, a game on the second."""

    state: Any
    mask: jax.Array  # bool[..., num_actions]
    views: jax.Array  # bool[..., 3, *observation_shape]: for the mover, for seat 0, for seat 1
    paid: dict[str, jax.Array]  # float32[..., 2], by the step that led here, in every scheme
    action: jax.Array  # int32[...]


@functools.cache
def recorder(rows: int, cols: int) -> Callable[[jax.Array, jax.Array], Record]:
    """A function of a key a game and a probability, that with which an action need not be legal."""
    envs = {reward: jaxgames.make("dots_and_boxes", rows=rows, cols=cols, reward=reward) for reward in REWARDS}
    env = envs["win_loss"]

    def one_step(carry: Any, key_and_illegal: tuple[jax.Array, jax.Array]) -> tuple[Any, Record]:
        (state, paid), (key, illegal) = carry, key_and_illegal
        mask = env.legal_action_mask(state)
        legal_key, any_key, choice_key = jax.random.split(key, 3)
        anything = jax.random.randint(any_key, (), -2, env.num_actions + 2)
        wild = ~mask.any() | (jax.random.uniform(choice_key) < illegal)
        action = jnp.where(wild, anything, jaxgames.random_action(legal_key, mask))
        views = jnp.stack([env.observe(state), env.observe(state, 0), env.observe(state, jnp.int32(1))])
        record = Record(state, mask, views, paid, action)
        # a scheme changes what is paid and nothing else: all of them follow the same states
        after = {reward: scheme.step(state, action) for reward, scheme in envs.items()}
        return (after["win_loss"], {reward: board.rewards for reward, board in after.items()}), record

    def one_game(key: jax.Array, illegal: jax.Array) -> Record:
        begin = (env.init(key), {reward: jnp.zeros(2) for reward in REWARDS})
        keys = jax.random.split(key, env.num_actions + 3)
        return jax.lax.scan(one_step, begin, (keys, jnp.full(len(keys), illegal)))[1]

    return jax.jit(jax.vmap(one_game, in_axes=(0, None), out_axes=1))


def played(rows: int, cols: int, games: int, illegal: float, seed: int) -> Record:
    """Games at random on three schemes at once, for two steps more than there are edges.

    With probability `illegal` the action is any number about the range of actions; on a finished board always.
    """
    keys = jax.random.split(jax.random.key(seed), games)
    return jax.device_get(recorder(rows, cols)(keys, jnp.float32(illegal)))


def at(tree: Any, *index: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[index], tree)


# -- the reference ----------------------------------------------------------------------------------------


def follow(rows: int, cols: int, record: Record, game: int) -> str:
    """Plays a recorded game again by the reference and compares every step; returns how it ended."""
    env, reference = jaxgames.make("dots_and_boxes", rows=rows, cols=cols), Reference(rows, cols)
    position, end = reference.start(), ""
    for step in range(len(record.action)):
        state, action = at(record.state, step, game), int(record.action[step, game])
        assert env.to_string(state) == reference.to_string(position)
        assert int(state.current_player) == position.seat
        assert (bool(state.terminated), bool(state.truncated)) == (position.over, False)
        assert np.flatnonzero(record.mask[step, game]).tolist() == reference.legal(position)
        for view, seat in zip(record.views[step, game], (position.seat, 0, 1), strict=True):
            np.testing.assert_array_equal(view, reference.observation(position, seat))
        for reward in REWARDS:
            assert record.paid[reward][step, game].tolist() == list(position.rewards[reward]), reward
        was_over, was_legal = position.over, action in reference.legal(position)
        position = reference.step(position, action)
        if position.over and not was_over:
            end = str(position.rewards["win_loss"][0]) if was_legal else "illegal"
    assert position.over
    return end


@pytest.mark.parametrize(("rows", "cols"), SIZES)
def test_whole_games_follow_the_reference(rows: int, cols: int) -> None:
    """Positions, masks, views, rewards in all three schemes and ends, some games with an illegal action in them."""
    games = 4 if rows * cols > 50 else 20
    illegal = 0.2 / (2 * rows * cols + rows + cols)
    record = played(rows, cols, games, illegal, seed=rows)
    ends = Counter(follow(rows, cols, record, game) for game in range(games))
    assert ends.total() == games
    if games == 20:
        assert ends["illegal"]
        assert ends["1.0"] + ends["-1.0"] + ends["0.0"]


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (1, 2), (2, 1), (2, 2), (3, 2), (3, 3), (2, 5), (4, 4), (5, 5)])
def test_many_whole_games_follow_the_reference(rows: int, cols: int) -> None:
    """The same at length."""
    games = 200
    record = played(rows, cols, games, illegal=0.01, seed=100)
    ends = Counter(follow(rows, cols, record, game) for game in range(games))
    assert ends["illegal"]
    assert ends["1.0"] or rows * cols == 1
    assert ends["-1.0"]
    assert bool(ends["0.0"]) == (rows * cols % 2 == 0)


def test_a_scheme_changes_what_is_paid_and_nothing_else() -> None:
    """The states of games are the same in all three."""
    envs = [jaxgames.make("dots_and_boxes", rows=2, cols=2, reward=reward) for reward in REWARDS]
    record = played(2, 2, games=20, illegal=0.02, seed=0)
    for env in envs:
        after = jax.jit(jax.vmap(jax.vmap(env.step)))(record.state, record.action)
        last = jax.tree.map(lambda leaf: leaf[:-1], after)
        following = jax.tree.map(lambda leaf: leaf[1:], record.state)
        chex.assert_trees_all_equal(dataclasses.replace(last, rewards=following.rewards), following)


# -- OpenSpiel --------------------------------------------------------------------------------------------


def follow_open_spiel(rows: int, cols: int, record: Record, game: int, margin: bool) -> float:
    """Plays a recorded game again in OpenSpiel and compares every step; returns what seat 0 got."""
    parameters = {"num_rows": rows, "num_cols": cols, "utility_margin": margin}
    theirs = pyspiel.load_game("dots_and_boxes", parameters).new_initial_state()
    env = jaxgames.make("dots_and_boxes", rows=rows, cols=cols)
    every = max(1, env.num_actions // 16)  # what costs more is looked at in some positions only
    for step in range(env.num_actions):
        assert int(record.state.current_player[step, game]) == theirs.current_player()
        legal = theirs.legal_actions()
        assert np.flatnonzero(record.mask[step, game]).tolist() == legal
        if step % every == 0:
            compare_boards(env, at(record.state, step, game), theirs)
            for action in legal[:: max(1, len(legal) // 8)]:
                kind, row, col = re.findall(r"[hv]|\d+", theirs.action_to_string(0, action)[2:])
                assert env.action_to_string(None, action) == f"{kind}({row},{col})"
        theirs.apply_action(int(record.action[step, game]))
    assert theirs.is_terminal()
    end = at(record.state, env.num_actions, game)
    assert end.terminated
    compare_boards(env, end, theirs)
    paid = record.paid["margin" if margin else "win_loss"][env.num_actions, game].tolist()
    assert paid == theirs.returns()
    return paid[0]


def compare_boards(env: Env[Any], state: Any, theirs: Any) -> None:
    """OpenSpiel's tensor is [content, dot, part]: who drew the edge right of the dot, below it, who owns the box."""
    edges, owners, _ = env.to_string(state).split()
    rows, cols = env.observation_shape[0] // 2, env.observation_shape[1] // 2
    tensor = np.reshape(theirs.observation_tensor(0), (3, rows + 1, cols + 1, 3))
    drawn = np.concatenate([tensor[0, :, :cols, 0].ravel(), tensor[0, :rows, :, 1].ravel()]) == 0
    assert edges == "".join("01"[int(d)] for d in drawn)
    content = tensor[:, :rows, :cols, 2].argmax(0)
    assert owners == "".join(".01"[c] for c in content.ravel())


@pytest.mark.parametrize("margin", [False, True])
@pytest.mark.parametrize(("rows", "cols"), SIZES)
def test_open_spiel_agrees_on_whole_games(rows: int, cols: int, margin: bool) -> None:
    """Legal moves, the board, who moves and what is paid at the end: more than 400 games."""
    games = 4 if rows * cols > 50 else 20
    record = played(rows, cols, games, illegal=0.0, seed=7 + margin)
    for game in range(games):
        follow_open_spiel(rows, cols, record, game, margin)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "cols"),
    [(1, 1), (1, 2), (2, 1), (1, 9), (9, 1), (2, 2), (3, 2), (2, 6), (3, 3), (4, 4), (5, 5), (6, 3), (8, 8)],
)
def test_open_spiel_agrees_on_ten_thousand_games(rows: int, cols: int) -> None:
    """800 games for each of thirteen boards, and all three results on those that can be drawn."""
    record = played(rows, cols, 800, illegal=0.0, seed=rows + cols)
    results = Counter(np.sign(follow_open_spiel(rows, cols, record, game, game % 2 == 0)) for game in range(800))
    assert bool(results[0]) == (rows * cols % 2 == 0)
    assert results[-1]
    assert results[1] or rows * cols == 1


# -- symmetry ---------------------------------------------------------------------------------------------

# The eight symmetries of a square as functions of a picture: those that turn it on its side swap rows and columns.
TURNS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    f"{turn} quarter turns{', mirrored' if mirrored else ''}": functools.partial(
        lambda picture, turn, mirrored: np.rot90(picture[:, ::-1] if mirrored else picture, turn),
        turn=turn,
        mirrored=mirrored,
    )
    for turn in range(4)
    for mirrored in (False, True)
}


def numbers(rows: int, cols: int) -> tuple[np.ndarray, np.ndarray]:
    """The edges' numbers and the boxes' on the grid in which they are drawn, -1 elsewhere."""
    edges, boxes = np.full((2, 2 * rows + 1, 2 * cols + 1), -1)
    horizontal = (rows + 1) * cols
    edges[::2, 1::2] = np.arange(horizontal).reshape(rows + 1, cols)
    edges[1::2, ::2] = horizontal + np.arange(rows * (cols + 1)).reshape(rows, cols + 1)
    boxes[1::2, 1::2] = np.arange(rows * cols).reshape(rows, cols)
    return edges, boxes


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize(("rows", "cols"), [(3, 3), (2, 4)])
def test_a_turned_board_is_played_alike(rows: int, cols: int, turn: str) -> None:
    """The same game on the turned board: positions, masks and views turn with it, what is paid stays."""
    turned_edges, turned_boxes = (TURNS[turn](grid) for grid in numbers(rows, cols))
    height, width = (n // 2 for n in turned_edges.shape)
    edge_order = np.concatenate([turned_edges[::2, 1::2].ravel(), turned_edges[1::2, ::2].ravel()])
    box_order = turned_boxes[1::2, 1::2].ravel()
    env = jaxgames.make("dots_and_boxes", rows=rows, cols=cols)
    other = jaxgames.make("dots_and_boxes", rows=height, cols=width)
    record = played(rows, cols, games=20, illegal=0.0, seed=3)
    new_number = np.argsort(edge_order)

    step = jax.jit(jax.vmap(other.step))
    look = jax.jit(jax.vmap(lambda s: (other.legal_action_mask(s), other.observe(s))))
    state = jax.vmap(other.init)(jax.random.split(jax.random.key(0), 20))
    for number in range(env.num_actions + 1):
        before = jax.tree.map(lambda leaf, number=number: leaf[number], record)
        mask, view = look(state)
        np.testing.assert_array_equal(state.current_player, before.state.current_player)
        np.testing.assert_array_equal(state.rewards, before.state.rewards)
        np.testing.assert_array_equal(state.terminated, before.state.terminated)
        np.testing.assert_array_equal(mask, before.mask[:, edge_order])
        np.testing.assert_array_equal(view, [TURNS[turn](seen) for seen in before.views[:, 0]])
        for game in range(20):
            edges, owners, seat = env.to_string(at(before.state, game)).split()
            text = "".join(edges[e] for e in edge_order), "".join(owners[b] for b in box_order), seat
            assert other.to_string(at(state, game)) == " ".join(text)
        if number < env.num_actions:
            state = step(state, jnp.asarray(new_number[before.action]))


def test_the_two_seats_are_alike() -> None:
    """Seat 1 begins: the same game with the seats' names exchanged, in text, in views and in what is paid."""
    rows, cols = 3, 4
    for reward in REWARDS:
        env = jaxgames.make("dots_and_boxes", rows=rows, cols=cols, reward=reward)
        record = played(rows, cols, games=20, illegal=0.01, seed=4)
        step = jax.jit(jax.vmap(env.step))
        look = jax.jit(jax.vmap(env.observe))
        begin = env.from_string(env.to_string(env.init(jax.random.key(0)))[:-1] + "1")
        state = jax.tree.map(lambda leaf: jnp.stack([leaf] * 20), begin)
        for number in range(env.num_actions + 3):
            before = jax.tree.map(lambda leaf, number=number: leaf[number], record)
            np.testing.assert_array_equal(look(state), before.views[:, 0])
            np.testing.assert_array_equal(state.rewards, before.paid[reward][:, ::-1])
            np.testing.assert_array_equal(state.terminated, before.state.terminated)
            for game in range(20):
                edges, *others = env.to_string(at(before.state, game)).split()
                swapped = " ".join(others).translate(str.maketrans("01", "10"))
                assert env.to_string(at(state, game)) == f"{edges} {swapped}"
            state = step(state, before.action)
