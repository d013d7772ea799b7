"""The rules of Dots and Boxes one by one, and the contract of the env that plays them.

Positions are drawn as people draw them, a box with its owner's seat in it. The edges of 2 x 3 boxes are numbered

    *- 0-*- 1-*- 2-*
    9   10   11   12
    *- 3-*- 4-*- 5-*
   13   14   15   16
    *- 6-*- 7-*- 8-*

Whole games beside other engines are in `test_dots_and_boxes_games.py`, solved boards in
`test_dots_and_boxes_values.py`.
"""

import functools
import textwrap
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxgames
from jaxgames import Env, ParameterError, ParameterTypeError
from tests.helpers.positions import LIVE, TERMINATED, compiled, is_over, legal, play

REWARDS = ["win_loss", "margin", "boxes"]
SIZES = [(1, 1), (1, 2), (2, 1), (2, 3), (3, 3), (5, 5), (1, 16), (16, 1), (9, 12), (16, 16)]


@functools.cache
def game(rows: int = 2, cols: int = 3, reward: str = "win_loss") -> Env[Any]:
    return jaxgames.make("dots_and_boxes", rows=rows, cols=cols, reward=reward)


def written(picture: str, seat: int = 0) -> str:
    """The text of a drawn position: dots four columns apart, edges between them, owners in the middle of boxes."""
    lines = textwrap.dedent(picture).strip().splitlines()
    lines = [line.ljust(len(lines[0])) for line in lines]
    dots, between = lines[::2], lines[1::2]
    cols = dots[0].count("*") - 1
    horizontal = [line[4 * c + 1 : 4 * c + 4] == "---" for line in dots for c in range(cols)]
    vertical = [line[4 * c] == "|" for line in between for c in range(cols + 1)]
    owners = "".join(line[4 * c + 2] for line in between for c in range(cols)).replace(" ", ".")
    return f"{''.join('01'[drawn] for drawn in horizontal + vertical)} {owners} {seat}"


def read(env: Env[Any], picture: str, seat: int = 0) -> Any:
    return env.from_string(written(picture, seat))


# -- the board ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "cols"), SIZES)
def test_the_board_is_empty_at_the_start_and_seat_0_moves_first(rows: int, cols: int) -> None:
    env = game(rows, cols)
    edges = (rows + 1) * cols + rows * (cols + 1)
    state = env.init(jax.random.key(0))
    assert env.to_string(state) == f"{'0' * edges} {'.' * (rows * cols)} 0"
    assert is_over(state) == LIVE
    assert len(legal(env, state)) == edges


def test_edges_are_numbered_horizontal_ones_first() -> None:
    env = game()
    state = env.init(jax.random.key(0))
    names = ["h(0,0)", "h(0,1)", "h(0,2)", "h(1,0)", "h(1,1)", "h(1,2)", "h(2,0)", "h(2,1)", "h(2,2)"]
    names += ["v(0,0)", "v(0,1)", "v(0,2)", "v(0,3)", "v(1,0)", "v(1,1)", "v(1,2)", "v(1,3)"]
    assert [env.action_to_string(state, action) for action in range(env.num_actions)] == names
    assert [env.action_from_string(state, name) for name in names] == list(range(17))


# -- drawing edges ------------------------------------------------------------------------------------------

MIDDLE = """
    *---*---*   *
    | 0 |       |
    *---*---*   *
    |       |   |
    *---*   *---*
"""


def test_an_edge_without_a_box_passes_the_turn() -> None:
    env = game()
    state = play(env, env.init(jax.random.key(0)), "h(1,1)")
    assert env.to_string(state) == "00001000000000000 ...... 1"
    state = play(env, state, "v(1,2)")
    assert env.to_string(state) == "00001000000000010 ...... 0"


def test_an_edge_is_drawn_once() -> None:
    env = game()
    assert legal(env, read(env, MIDDLE)) == {"h(0,2)", "h(1,2)", "h(2,1)", "v(0,2)", "v(1,1)"}


@pytest.mark.parametrize("seat", [0, 1])
def test_the_fourth_edge_of_a_box_takes_it_and_the_same_seat_moves_again(seat: int) -> None:
    env = game()
    picture = """
        *---*---*   *
        |           |
        *---*---*   *
        |       |   |
        *---*   *---*
    """
    state = play(env, read(env, picture, seat), "v(0,1)")
    expected = """
        *---*---*   *
        | # |       |
        *---*---*   *
        |       |   |
        *---*   *---*
    """
    assert env.to_string(state) == written(expected.replace("#", str(seat)), seat)


@pytest.mark.parametrize("edge", ["h(1,1)", "h(2,1)", "v(1,1)", "v(1,2)"])
def test_each_side_can_be_the_fourth(edge: str) -> None:
    """A box in the middle of the lowest row, by its top, bottom, left and right edge."""
    env = game(3, 3)
    state = env.init(jax.random.key(0))
    others = [other for other in ("h(1,1)", "h(2,1)", "v(1,1)", "v(1,2)") if other != edge]
    state = play(env, state, *others)
    assert int(state.current_player) == 1
    state = play(env, state, edge)
    assert env.to_string(state).split()[1:] == ["....1....", "1"]


@pytest.mark.parametrize(
    ("picture", "edge", "expected"),
    [
        (
            """
            *---*---*
            |       |
            *---*---*
            """,
            "v(0,1)",
            """
            *---*---*
            | 1 | 1 |
            *---*---*
            """,
        ),
        (
            """
            *---*
            |   |
            *   *
            |   |
            *---*
            """,
            "h(1,0)",
            """
            *---*
            | 1 |
            *---*
            | 1 |
            *---*
            """,
        ),
    ],
    ids=["side by side", "one above the other"],
)
def test_one_edge_can_take_two_boxes(picture: str, edge: str, expected: str) -> None:
    rows, cols = (1, 2) if edge[0] == "v" else (2, 1)
    env = game(rows, cols, "boxes")
    state = play(env, read(env, picture, seat=1), edge)
    assert env.to_string(state) == written(expected, seat=1)
    assert state.rewards.tolist() == [-2, 2]


def test_boxes_keep_their_owner() -> None:
    """A box next to a box of the other seat: the edge between them belongs to both."""
    env = game()
    state = play(env, read(env, MIDDLE, seat=1), "v(1,1)", "h(2,1)", "h(0,2)", "v(0,2)")
    expected = """
        *---*---*---*
        | 0 | 0 |   |
        *---*---*   *
        | 1 | 1 |   |
        *---*---*---*
    """
    assert env.to_string(state) == written(expected, seat=0)


# -- the end of the game ------------------------------------------------------------------------------------

LAST_EDGE = """
    *---*---*---*
    | 1 | 0 | 1 |
    *---*---*---*
    | 0 | 0 |   |
    *---*---*   *
"""


def test_the_game_ends_with_the_last_edge() -> None:
    env = game()
    state = read(env, LAST_EDGE)
    assert legal(env, state) == {"h(2,2)"}
    assert is_over(state) == LIVE
    state = play(env, state, "h(2,2)")
    assert is_over(state) == TERMINATED
    assert legal(env, state) == set()
    assert int(state.current_player) == 0
    assert env.to_string(state) == "1" * 17 + " 101000 0"


@pytest.mark.parametrize(
    ("owners", "seat", "margin"),
    [("10100.", 0, 2), ("10100.", 1, 0), ("11111.", 1, -6), ("00000.", 0, 6), ("00000.", 1, 4), ("11100.", 0, 0)],
)
@pytest.mark.parametrize("reward", REWARDS)
def test_what_the_last_edge_pays(reward: str, owners: str, seat: int, margin: int) -> None:
    """The last box falls to who draws the last edge; then all boxes count."""
    env = game(reward=reward)
    state = play(env, env.from_string(f"11111111011111111 {owners} {seat}"), "h(2,2)")
    expected = {"win_loss": np.sign(margin), "margin": margin, "boxes": 1 - 2 * seat}[reward]
    assert state.rewards.tolist() == [expected, -expected]
    assert state.rewards.dtype == jnp.float32


def test_a_win_is_nothing_before_the_end() -> None:
    """Seat 0 has five boxes of six: only "boxes" pays for them as they are taken."""
    for reward in REWARDS:
        env = game(reward=reward)
        picture = """
            *---*---*---*
            | 0 | 0 | 0 |
            *---*---*---*
            | 0 |       |
            *---*---*   *
        """
        state = play(env, read(env, picture), "v(1,2)")
        assert is_over(state) == LIVE
        assert state.rewards.tolist() == ([1, -1] if reward == "boxes" else [0, 0])


def test_an_edge_that_takes_nothing_pays_nothing() -> None:
    for reward in REWARDS:
        env = game(reward=reward)
        assert play(env, read(env, MIDDLE), "h(0,2)").rewards.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("rows", "cols", "expected"),
    [
        (1, 1, {"win_loss": 1, "margin": 1, "boxes": 1}),
        (1, 2, {"win_loss": 1, "margin": 2, "boxes": 2}),
        (5, 5, {"win_loss": 1, "margin": 25, "boxes": 2}),
        (16, 16, {"win_loss": 1, "margin": 256, "boxes": 2}),
    ],
)
def test_the_range_of_rewards(rows: int, cols: int, expected: dict[str, int]) -> None:
    """An edge completes two boxes at most; the fine of -1 lies within every range."""
    for reward, highest in expected.items():
        assert game(rows, cols, reward).reward_range == (-highest, highest)
        assert game(rows, cols, reward).zero_sum


# -- illegal actions and finished boards --------------------------------------------------------------------


@pytest.mark.parametrize("reward", REWARDS)
@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("action", [0, 16, -1, -17, 17, 18, 2**31 - 1, -(2**31)])
def test_an_illegal_action_ends_the_game_and_is_fined(reward: str, seat: int, action: int) -> None:
    """Edges that are drawn, and numbers that are no edges; the fine is the same whatever the margin is."""
    env = game(reward=reward)
    state = read(env, MIDDLE, seat)
    step, mask = compiled(env)
    after = step(state, jnp.int32(action))
    assert after.rewards.tolist() == ([-1, 1] if seat == 0 else [1, -1])
    assert is_over(after) == TERMINATED
    assert env.to_string(after) == env.to_string(state)
    assert not mask(after).any()


@pytest.mark.parametrize("how", ["all edges", "illegal", "from text"])
def test_a_finished_board_is_frozen_and_pays_nothing(how: str) -> None:
    env = game(reward="margin")
    step, mask = compiled(env)
    if how == "from text":
        state = env.from_string("1" * 17 + " 100010 0")
    else:
        state = step(read(env, LAST_EDGE), jnp.int32(8 if how == "all edges" else 7))
        assert state.rewards.any()
    assert is_over(state) == TERMINATED
    once = step(state, jnp.int32(8))
    assert not once.rewards.any()
    for action in [-1, 0, 8, 16, 17]:
        chex.assert_trees_all_equal(step(state, jnp.int32(action)), once)
        chex.assert_trees_all_equal(step(once, jnp.int32(action)), once)
    assert env.to_string(once) == env.to_string(state)
    assert is_over(once) == TERMINATED
    assert not mask(once).any()


# -- views --------------------------------------------------------------------------------------------------


def test_the_view_of_both_seats() -> None:
    """Drawn edges, own boxes, the other's, on the grid on which they are drawn; # is True."""
    env = game()
    picture = """
        *---*---*---*
        | 0 |   | 1 |
        *---*   *---*
        |       | 1 |
        *   *   *---*
    """
    edges = """
        .#.#.#.
        #.#.#.#
        .#...#.
        #...#.#
        .....#.
    """
    zero = """
        .......
        .#.....
        .......
        .......
        .......
    """
    one = """
        .......
        .....#.
        .......
        .....#.
        .......
    """

    def plane(drawn: str) -> np.ndarray:
        return np.array([[c == "#" for c in row] for row in drawn.split()])

    look = jax.jit(env.observe)
    for mover in (0, 1):
        state = read(env, picture, mover)
        for seat in (None, 0, 1, jnp.int32(0), jnp.int32(1)):
            view = look(state, seat)
            assert view.shape == env.observation_shape == (5, 7, 3)
            assert view.dtype == bool
            own_and_other = (zero, one) if (mover if seat is None else int(seat)) == 0 else (one, zero)
            np.testing.assert_array_equal(view, np.stack([plane(p) for p in (edges, *own_and_other)], axis=-1))


@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (2, 3), (5, 5)])
def test_the_support_of_the_view_is_what_a_full_board_shows(rows: int, cols: int) -> None:
    env = game(rows, cols)
    seen = np.zeros(env.observation_shape, bool)
    for owner in "01":
        seen |= np.asarray(env.observe(env.from_string("1" * env.num_actions + f" {owner * rows * cols} 0")))
    np.testing.assert_array_equal(env.observation_support, seen)


# -- the env as a function ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "cols"), SIZES)
def test_plain_properties_and_a_lean_state(rows: int, cols: int) -> None:
    """One byte an edge, one a box and 32 more at most."""
    env = game(rows, cols)
    edges = 2 * rows * cols + rows + cols
    assert (env.id, env.num_players, env.needs_key) == ("dots_and_boxes", 2, False)
    assert env.num_actions == env.max_steps == edges
    assert env.observation_shape == (2 * rows + 1, 2 * cols + 1, 3)
    state = jax.eval_shape(env.init, jax.eval_shape(lambda: jax.random.key(0)))
    assert env.state_bytes == edges + rows * cols + 14
    assert (state.current_player.shape, state.current_player.dtype) == ((), jnp.int32)
    assert (state.rewards.shape, state.rewards.dtype) == ((2,), jnp.float32)
    for flag in (state.terminated, state.truncated):
        assert (flag.shape, flag.dtype) == ((), jnp.bool_)


def test_defaults_and_the_text_of_an_env() -> None:
    env = jaxgames.make("dots_and_boxes")
    assert env == game(5, 5, "win_loss")
    assert hash(env) == hash(game(5, 5, "win_loss"))
    assert str(env) == "dots_and_boxes(rows=5, cols=5, reward='win_loss')"
    assert jaxgames.make(str(env)) == env


@pytest.mark.parametrize("parameter", ["rows", "cols"])
@pytest.mark.parametrize("value", [0, -1, 17, 2.0, "3", None, True])
def test_sizes_that_are_refused(parameter: str, value: Any) -> None:
    with pytest.raises(ParameterError, match=f"{parameter} must be an integer from 1 to 16, not {value!r}") as error:
        jaxgames.make("dots_and_boxes", **{parameter: value})
    assert isinstance(error.value, ParameterTypeError) == (type(value) is not int)


@pytest.mark.parametrize("value", ["sparse", "", 1, None])
def test_rewards_that_are_refused(value: Any) -> None:
    with pytest.raises(ParameterError, match=f"reward must be one of 'win_loss', 'margin', 'boxes', not {value!r}"):
        jaxgames.make("dots_and_boxes", reward=value)
    with pytest.raises(ParameterError, match="no parameter 'num_players'"):
        jaxgames.make("dots_and_boxes", num_players=2)


# -- notation -----------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(size=st.sampled_from([(1, 1), (2, 3), (3, 2), (1, 16), (5, 5)]), choices=st.lists(st.integers(0, 10_000)))
def test_what_is_written_reads_back(size: tuple[int, int], choices: list[int]) -> None:
    """Positions and edges of random play-outs."""
    env = game(*size)
    step, mask = compiled(env)
    state = env.init(jax.random.key(0))
    for choice in choices:
        actions = np.flatnonzero(mask(state))
        if len(actions) == 0:
            break
        action = int(actions[choice % len(actions)])
        assert env.action_from_string(state, env.action_to_string(state, action)) == action
        state = step(state, jnp.int32(action))
    back = env.from_string(env.to_string(state))
    assert not back.rewards.any()
    chex.assert_trees_all_equal(step(back, jnp.int32(-1)), step(state, jnp.int32(-1)))
    chex.assert_trees_all_equal_shapes_and_dtypes(back, state)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_any_placement_reads_back(data: st.DataObject) -> None:
    """Any edges with any owners of the complete boxes, reachable or not, with nothing paid."""
    env = game(3, 4)
    bits = data.draw(st.lists(st.sampled_from("01111"), min_size=31, max_size=31))
    drawn = {env.action_to_string(None, edge) for edge in range(31) if bits[edge] == "1"}
    boxes = [(r, c) for r in range(3) for c in range(4)]
    owners = [
        data.draw(st.sampled_from("01"))
        if drawn >= {f"h({r},{c})", f"h({r + 1},{c})", f"v({r},{c})", f"v({r},{c + 1})"}
        else "."
        for r, c in boxes
    ]
    text = f"{''.join(bits)} {''.join(owners)} {data.draw(st.integers(0, 1))}"
    state = env.from_string(text)
    assert env.to_string(state) == text
    assert is_over(state) == (TERMINATED if len(drawn) == 31 else LIVE)
    assert not state.rewards.any()


@pytest.mark.parametrize(
    ("text", "offending", "expected"),
    [
        ("", "''", "three fields"),
        ("0000000 ..", "'0000000 ..'", "three fields"),
        ("0000000 .. 0 0", "'0000000 .. 0 0'", "three fields"),
        ("000000 .. 0", "'000000'", "7 characters, one for each edge, not 6"),
        ("00000000 .. 0", "'00000000'", "7 characters, one for each edge, not 8"),
        ("0000002 .. 0", "'2'", "one of '0', '1' for each edge"),
        ("000000. .. 0", "'.'", "one of '0', '1' for each edge"),
        ("0000000 . 0", "'.'", "2 characters, one for each box, not 1"),
        ("0000000 ./. 0", "'./.'", "2 characters, one for each box, not 3"),
        ("0000000 .2 0", "'2'", "one of '.', '0', '1' for each box"),
        ("0000000 .. 2", "'2'", "seat to move from 0 to 1"),
        ("0000000 .. -1", "'-1'", "seat to move from 0 to 1"),
        ("0000000 .. a", "'a'", "seat to move from 0 to 1"),
        ("0000000 .1 0", "'1'", "box (0,1) lacks an edge and must have no owner"),
        ("1010110 .. 0", "'.'", "box (0,0) is complete and must have an owner"),
        ("1010110 11 0", "'11'", "box (0,1) lacks an edge and must have no owner"),
        (None, "None", "a text"),
        (7, "7", "a text"),
    ],
)
def test_a_wrong_position_is_explained(text: Any, offending: str, expected: str) -> None:
    """On 1 x 2 boxes: seven edges."""
    with pytest.raises(ValueError, match="expected") as error:
        game(1, 2).from_string(text)
    assert offending in str(error.value)
    assert expected in str(error.value)


@pytest.mark.parametrize(
    ("text", "offending", "expected"),
    [
        ("", "''", "'h(0,1)'"),
        ("H(0,0)", "'H(0,0)'", "'h(0,1)'"),
        ("h0,0", "'h0,0'", "'h(0,1)'"),
        ("h(0, 0)", "'h(0, 0)'", "'h(0,1)'"),
        ("h(0,0) ", "'h(0,0) '", "'h(0,1)'"),
        ("h(-1,0)", "'h(-1,0)'", "'h(0,1)'"),
        ("h(3,0)", "3", "row from 0 to 2 of h(r,c)"),
        ("h(0,3)", "3", "column from 0 to 2 of h(r,c)"),
        ("v(2,0)", "2", "row from 0 to 1 of v(r,c)"),
        ("v(0,4)", "4", "column from 0 to 3 of v(r,c)"),
        (None, "None", "a text"),
    ],
)
def test_a_wrong_action_is_explained(text: Any, offending: str, expected: str) -> None:
    env = game()
    with pytest.raises(ValueError, match="expected") as error:
        env.action_from_string(env.init(jax.random.key(0)), text)
    assert offending in str(error.value)
    assert expected in str(error.value)


@pytest.mark.parametrize("action", [-1, 17])
def test_an_action_out_of_range_has_no_text(action: int) -> None:
    env = game()
    with pytest.raises(ValueError, match=f"from 0 to 16, not {action}"):
        env.action_to_string(env.init(jax.random.key(0)), action)
