"""The rules of Chinese Checkers one by one, and the contract of the env that plays them.

Positions are drawn on the board of size 2, whose cells are numbered

                     0
                   1   2
       3   4   5   6   7   8   9
        10  11  12  13  14  15
          16  17  18  19  20
        21  22  23  24  25  26
      27  28  29  30  31  32  33
                  34  35
                    36

Seat 0 starts on the top triangle and wants to fill 34, 35, 36. Whole games beside other engines are in
`test_chinese_checkers_games.py`.
"""

import functools
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxgames
from jaxgames import Env
from tests.games.chinese_checkers_reference import Reference
from tests.helpers.positions import LIVE, TERMINATED, TRUNCATED, compiled, is_over, legal, play

PLAYERS = [2, 3, 4, 6]
REWARDS = ["sparse", "goal", "movement", "positive_sum", "win_loss"]


@functools.cache
def game(**parameters: Any) -> Env[Any]:
    return jaxgames.make("chinese_checkers", **{"size": 2, "num_players": 2} | parameters)


def written(picture: str, seat: int = 0, chain: str = "-", rounds: int = 0) -> str:
    """The text of a drawn position."""
    rows = "/".join("".join(row.split()) for row in picture.strip().splitlines())
    return f"{rows} {seat} {chain} {rounds}"


def read(env: Env[Any], picture: str, seat: int = 0, chain: str = "-", rounds: int = 0) -> Any:
    return env.from_string(written(picture, seat, chain, rounds))


# -- the board and the seats --------------------------------------------------------------------------------

START = {
    2: """
                 0
                0 0
          . . . . . . .
           . . . . . .
            . . . . .
           . . . . . .
          . . . . . . .
                1 1
                 1
    """,
    3: """
                 0
                0 0
          . . . . . . .
           . . . . . .
            . . . . .
           2 . . . . 1
          2 2 . . . 1 1
                . .
                 .
    """,
    4: """
                 0
                0 0
          . . . . . 1 1
           . . . . . 1
            . . . . .
           3 . . . . .
          3 3 . . . . .
                2 2
                 2
    """,
    6: """
                 0
                0 0
          5 5 . . . 1 1
           5 . . . . 1
            . . . . .
           4 . . . . 2
          4 4 . . . 2 2
                3 3
                 3
    """,
}


@pytest.mark.parametrize("num_players", PLAYERS)
def test_seats_start_on_their_triangles_and_seat_0_moves_first(num_players: int) -> None:
    env = game(num_players=num_players)
    assert env.to_string(env.init(jax.random.key(0))) == written(START[num_players])


@pytest.mark.parametrize("num_players", PLAYERS)
def test_seats_move_in_turn_and_a_round_ends_with_the_last_of_them(num_players: int) -> None:
    env = game(num_players=num_players)
    state = env.init(jax.random.key(0))
    for turn in range(2 * num_players + 1):
        *_, seat, _, rounds = env.to_string(state).split()
        assert (int(seat), int(rounds)) == (turn % num_players, turn // num_players)
        assert int(state.current_player) == turn % num_players
        state = play(env, state, min(move for move in legal(env, state) if "->" in move))


@pytest.mark.parametrize(
    ("size", "cells"), [(1, 13), (2, 37), (3, 73), (4, 121), (5, 181), (6, 253), (7, 337), (8, 433)]
)
def test_the_board_has_as_many_cells_as_are_known(size: int, cells: int) -> None:
    """6N² + 6N + 1 cells: six actions for each, and one to end the turn; 727 actions on the traditional board."""
    env = game(size=size)
    assert env.num_actions == 6 * cells + 1
    rows = env.to_string(env.init(jax.random.key(0))).split()[0]
    assert len(rows.replace("/", "")) == cells
    assert rows.count("0") == rows.count("1") == size * (size + 1) // 2


# -- submoves -----------------------------------------------------------------------------------------------


def test_the_opening_submoves() -> None:
    """A peg steps to an empty neighbour or hops over an occupied one to the empty cell behind, and must move."""
    env = game()
    assert legal(env, env.init(jax.random.key(0))) == {"0=>5", "0=>7", "1->5", "1->6", "2->6", "2->7"}


def test_a_step_ends_the_turn() -> None:
    env = game()
    state = play(env, env.init(jax.random.key(0)), "1->6")
    picture = """
                 0
                . 0
          . . . 0 . . .
           . . . . . .
            . . . . .
           . . . . . .
          . . . . . . .
                1 1
                 1
    """
    assert env.to_string(state) == written(picture, seat=1)


def test_a_hop_keeps_the_turn_and_leaves_the_peg_hopped_over() -> None:
    env = game()
    state = play(env, env.init(jax.random.key(0)), "0=>5")
    picture = """
                 .
                0 0
          . . 0 . . . .
           . . . . . .
            . . . . .
           . . . . . .
          . . . . . . .
                1 1
                 1
    """
    assert env.to_string(state) == written(picture, seat=0, chain="0,5")


def test_hops_go_over_any_peg_but_only_one_and_stay_on_the_board() -> None:
    """18 hops over its own peg on 17 and a foreign one on 24, but 12 is backed by 5, 19 by 20, and 34 by nothing."""
    env = game()
    picture = """
                 .
                . .
          . . 1 . . . .
           . . 1 . . .
            . 0 0 1 1
           . . . 1 . .
          . . . 0 . . .
                0 .
                 .
    """
    hops = {move for move in legal(env, read(env, picture)) if "=>" in move}
    assert hops == {"17=>6", "18=>16", "18=>31"}


CHAIN = """
             0
            0 .
      . . . . . . .
       . . . . . .
        1 . 0 . .
       . . 1 . . .
      . . . . . . .
            1 .
             .
"""


def test_a_chain_is_the_same_peg_hopping_on() -> None:
    """After 18=>29 neither the pegs on 0 and 1 may move, nor 29 step, nor go back to 18."""
    env = game()
    state = read(env, CHAIN)
    assert {"18=>29", "18->13", "0=>5", "1->6"} < legal(env, state)
    state = play(env, state, "18=>29")
    assert legal(env, state) == {"29=>36", "end"}
    assert env.to_string(state).split()[1:] == ["0", "18,29", "0"]


def test_a_turn_may_be_ended_after_one_hop_but_not_before() -> None:
    env = game()
    state = read(env, CHAIN)
    assert "end" not in legal(env, state)
    state = play(env, state, "18=>29")
    rows = env.to_string(state).split()[0]
    assert env.to_string(play(env, state, "end")) == f"{rows} 1 - 0"


def test_a_chain_never_enters_a_cell_twice_and_waits_to_be_ended() -> None:
    """The three hops of a triangle: the last would lead home. With no hop left the turn still has to be ended."""
    env = game()
    picture = """
                 .
                . .
          . . . . . . .
           . . . . . .
            . . 0 1 .
           . . . 1 1 .
          . . . . . . .
                . .
                 .
    """
    state = play(env, read(env, picture), "18=>20", "20=>31")
    assert env.to_string(state).split()[1:] == ["0", "18,20,31", "0"]
    assert legal(env, state) == {"end"}
    state = play(env, state, "end")
    assert env.to_string(state).split()[1:] == ["1", "-", "0"]


def test_cells_of_an_earlier_chain_are_free_again() -> None:
    """The bar on cells is this turn's: the next mover hops to where the last one started from."""
    env = game()
    picture = """
                 .
                . .
          . . . . . . .
           . . . . . .
            . . 0 1 .
           . . . 1 1 .
          . . . . 1 . .
                . .
                 .
    """
    state = play(env, read(env, picture), "18=>20", "end")
    assert "31=>18" in legal(env, state)


def test_a_stuck_seat_may_only_end_its_turn() -> None:
    """The peg on the tip is fenced in two deep."""
    env = game(size=1)
    state = read(
        env,
        """
               0
            . 1 1 .
             1 . 1
            . . . .
               .
        """,
    )
    assert legal(env, state) == {"end"}
    after = play(env, state, "end")
    assert env.to_string(after) == env.to_string(state).replace("0 - 0", "1 - 0")
    assert after.rewards.tolist() == [0, 0]
    assert is_over(after) == LIVE


def test_a_seat_without_pegs_may_only_end_its_turn() -> None:
    env = game(size=1)
    assert legal(env, env.from_string("./.1../.../..../. 0 - 0")) == {"end"}


def test_every_triangle_may_be_entered_and_left() -> None:
    """Spoiling is allowed: seat 0 of six goes into, about in and out of any triangle, its own goal too."""
    env = game(num_players=6)
    picture = """
                 .
                . .
          . . . . . . 0
           . . . . 0 .
            0 . . . .
           . . . . . .
          . . . . . . 1
                1 0
                 .
    """
    moves = legal(env, read(env, picture))
    assert "14->15" in moves  # into triangle 1, next to the peg that sits there
    assert {"9->8", "9->15"} < moves  # within it
    assert "16->21" in moves  # into triangle 4
    assert {"35->30", "35->31"} < moves  # out of its own goal


# -- the end of the game -------------------------------------------------------------------------------------

WIN_BY_STEP = """
             1
            1 .
      . . . . . . .
       . . . . . .
        1 . . . .
       . . . . . .
      . . 0 . . . .
            . 0
             0
"""
WIN_BY_HOP = """
             1
            1 .
      . . . . . . .
       . . . . . .
        . . . . .
       . . . 0 . .
      . . 1 1 . . .
            . 0
             0
"""


def test_a_step_that_fills_the_goal_wins() -> None:
    env = game()
    state = play(env, read(env, WIN_BY_STEP), "29->34")
    assert is_over(state) == TERMINATED
    assert legal(env, state) == set()


def test_a_hop_that_fills_the_goal_wins_before_the_turn_is_ended() -> None:
    """34=>22 over 29 could go on, and would leave the goal, but the game is over."""
    env = game()
    state = play(env, read(env, WIN_BY_HOP), "24=>34")
    assert is_over(state) == TERMINATED
    assert legal(env, state) == set()


def test_a_goal_with_a_foreign_peg_in_it_is_not_won() -> None:
    env = game()
    picture = WIN_BY_STEP.replace(". 0\n", "1 0\n")
    assert picture.count("1 0") == 1
    assert is_over(play(env, read(env, picture), "29->28")) == LIVE


def test_only_the_mover_can_win() -> None:
    """Seat 0's goal is full, but the turn before was seat 1's: seat 0 wins with its next submove, whichever it is."""
    env = game()
    picture = """
                 .
                . .
          . . . . . . .
           . . . . . .
            . . 0 . .
           . . . . . .
          1 . . . . . .
                0 0
                 0
    """
    state = read(env, picture, seat=0)
    assert is_over(state) == LIVE
    assert is_over(play(env, state, "18->12")) == TERMINATED


def test_max_rounds_truncate_at_the_end_of_a_round() -> None:
    env = game(num_players=3, max_rounds=2)
    state = env.init(jax.random.key(0))
    for turn in range(6):
        assert is_over(state) == LIVE, turn
        state = play(env, state, min(move for move in legal(env, state) if "->" in move))
    assert is_over(state) == TRUNCATED
    assert legal(env, state) == set()
    assert state.rewards.tolist() == [0, 0, 0]


def test_a_chain_is_not_cut_off_by_the_limit() -> None:
    """The last seat hops in the last round: the game goes on until the turn is ended."""
    env = game(max_rounds=5)
    picture = START[2].replace("0 0", "0 .")
    state = play(env, read(env, picture, seat=1, rounds=4), "36=>29")
    assert is_over(state) == LIVE
    assert is_over(play(env, state, "end")) == TRUNCATED


def test_a_win_in_the_last_round_is_no_truncation() -> None:
    env = game(max_rounds=5)
    upside_down = "\n".join(row[::-1] for row in WIN_BY_STEP.translate(str.maketrans("01", "10")).splitlines()[::-1])
    state = play(env, read(env, upside_down, seat=1, rounds=4), "7->2")
    assert is_over(state) == TERMINATED


@pytest.mark.parametrize(("size", "rounds"), [(1, 200), (2, 200), (3, 500), (4, 1000), (5, 1000), (8, 1000)])
def test_the_default_limit_depends_on_the_size(size: int, rounds: int) -> None:
    env = game(size=size)
    rows = env.to_string(env.init(jax.random.key(0))).split()[0]
    assert is_over(env.from_string(f"{rows} 0 - {rounds - 1}")) == LIVE
    assert is_over(env.from_string(f"{rows} 0 - {rounds}")) == TRUNCATED
    assert env == game(size=size, max_rounds=rounds)


# -- illegal actions and finished boards --------------------------------------------------------------------------


def assert_fined(env: Env[Any], state: Any, action: int, offender: int) -> None:
    """The offender pays 1, the others share it, the position stays, the game is over."""
    step, mask = compiled(env)
    after = step(state, jnp.int32(action))
    expected = np.full(env.num_players, 1 / (env.num_players - 1), np.float32)
    expected[offender] = -1
    np.testing.assert_allclose(after.rewards, expected)
    assert is_over(after) == TERMINATED
    assert env.to_string(after) == env.to_string(state)
    assert not mask(after).any()


@pytest.mark.parametrize("num_players", PLAYERS)
def test_an_illegal_action_ends_the_game_and_is_fined(num_players: int) -> None:
    """Over the edge, onto one's own peg, an empty cell, not one's own peg, an early end, and all that is no action."""
    env = game(num_players=num_players)
    state = play(env, env.init(jax.random.key(0)), "1->6")  # seat 1, in whose own frame actions count
    no_actions = [-1, -7, env.num_actions, 2**31 - 1, -(2**31)]
    for action in [6 * 0 + 1, 6 * 1 + 0, 6 * 18 + 4, 6 * 36 + 1, env.num_actions - 1, *no_actions]:
        assert_fined(env, state, action, offender=1)


def test_a_wrong_hop_in_a_chain_is_illegal() -> None:
    """Back to the origin, a step, another peg: all of them legal if the turn began here."""
    env = game()
    state = play(env, read(env, CHAIN), "18=>29")
    fresh = env.from_string(env.to_string(state).replace("18,29", "-"))
    for submove in ["29=>18", "29->28", "0=>5", "1->6"]:
        action = env.action_from_string(fresh, submove)
        assert submove in legal(env, fresh)
        assert_fined(env, state, action, offender=0)


def finished(how: str) -> Any:
    if how == "won":
        return play(game(), read(game(), WIN_BY_STEP), "29->34")
    if how == "won by a hop":
        return play(game(), read(game(), WIN_BY_HOP), "24=>34")
    if how == "truncated":
        return play(game(), read(game(), START[2], seat=1, rounds=199), "34->30")
    step, _ = compiled(game())
    return step(game().init(jax.random.key(0)), jnp.int32(-1))


@pytest.mark.parametrize("how", ["won", "won by a hop", "truncated", "illegal"])
def test_a_finished_board_is_frozen_and_pays_nothing(how: str) -> None:
    env, state = game(), finished(how)
    step, mask = compiled(env)
    assert state.rewards.any()
    once = step(state, jnp.int32(0))
    assert not once.rewards.any()
    for action in [-1, 7, 6 * 29 + 5, env.num_actions - 1, env.num_actions]:
        chex.assert_trees_all_equal(step(state, jnp.int32(action)), once)
    assert env.to_string(once) == env.to_string(state)
    assert is_over(once) == is_over(state)
    assert int(once.current_player) == int(state.current_player)
    assert not mask(once).any()


# -- rewards ----------------------------------------------------------------------------------------------------

BONUSES = """
             .
            . .
      . . . . . . .
       . . . . . .
        . . 0 1 .
       . . 1 . 1 .
      . . . . 0 . .
            0 .
             .
"""


@pytest.mark.parametrize("reward", REWARDS)
@pytest.mark.parametrize(
    ("submove", "entered", "forward"),
    [
        ("18->24", 0, 1),
        ("18=>29", 0, 1),
        ("18->17", 0, 0),
        ("18=>20", 0, 0),
        ("18->12", 0, -1),
        ("18->13", 0, -1),
        ("31=>20", 0, -1),
        ("31->35", 1, 1),
        ("34->29", -1, -1),
        ("34->35", 0, 0),
        ("34->36", 0, 1),
    ],
)
def test_bonuses(reward: str, submove: str, entered: int, forward: int) -> None:
    """0.1 for a peg that enters the goal and back when it leaves; 0.001 for a submove down and back for one up."""
    env = game(reward=reward)
    goal_bonus = 0.1 if reward in ("goal", "positive_sum") else 0
    movement_bonus = 0.001 if reward in ("movement", "positive_sum") else 0
    state = play(env, read(env, BONUSES), submove)
    np.testing.assert_allclose(state.rewards, [goal_bonus * entered + movement_bonus * forward, 0], atol=1e-7)


def test_ending_a_turn_pays_nothing() -> None:
    env = game()
    assert play(env, play(env, read(env, BONUSES), "18=>29"), "end").rewards.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("seat", "forward", "backward"),
    [
        (0, (23, 24), (12, 13)),
        (1, (17, 23), (13, 19)),
        (2, (12, 17), (19, 24)),
        (3, (12, 13), (23, 24)),
        (4, (13, 19), (17, 23)),
        (5, (19, 24), (12, 17)),
    ],
)
def test_forward_is_away_from_ones_own_home(seat: int, forward: tuple[int, ...], backward: tuple[int, ...]) -> None:
    """A single peg in the centre: two of its neighbours lie towards its goal, two towards its home."""
    env = game(num_players=6, reward="movement")
    state = env.from_string(f"./../......./....../..{seat}../....../......./../. {seat} - 0")
    for neighbour in (12, 13, 17, 19, 23, 24):
        expected = np.zeros(6, np.float32)
        expected[seat] = 0.001 * ((neighbour in forward) - (neighbour in backward))
        np.testing.assert_allclose(play(env, state, f"18->{neighbour}").rewards, expected)


@pytest.mark.parametrize(
    ("reward", "winner", "loser"),
    [
        ("sparse", 10, -2),
        ("goal", 10.1, -2),
        ("movement", 10.001, -2),
        ("positive_sum", 10.101, 0),
        ("win_loss", 2, -1),
    ],
)
def test_the_winning_submove_pays_with_its_bonuses(reward: str, winner: float, loser: float) -> None:
    """Three seats on the board of size 2; the winner enters its goal with a submove down."""
    env = game(num_players=3, reward=reward)
    for picture, submove in [(WIN_BY_STEP, "29->34"), (WIN_BY_HOP, "24=>34")]:
        rewards = play(env, read(env, picture), submove).rewards
        np.testing.assert_allclose(rewards, [winner, loser, loser], rtol=1e-6)
        assert rewards.dtype == np.float32
    assert env.reward_range == pytest.approx((min(loser, -1), winner))


@pytest.mark.parametrize("num_players", PLAYERS)
def test_zero_sum_is_what_the_schemes_pay(num_players: int) -> None:
    """The winner of "sparse" gets 5N from the others at N each: with six seats that is all."""
    zero_sum = {reward for reward in REWARDS if game(num_players=num_players, reward=reward).zero_sum}
    assert zero_sum == ({"win_loss", "sparse"} if num_players == 6 else {"win_loss"})


# -- views --------------------------------------------------------------------------------------------------------


def test_the_view_of_a_chain_from_both_sides() -> None:
    """Own pegs, the others', the cells hopped from, the last landing; [q + 4, r + 4], upside down for seat 1."""
    env = game()
    state = play(env, read(env, CHAIN), "18=>29")
    pegs_0 = {(6, 0), (5, 1), (2, 6)}  # cells 0, 1, 29
    pegs_1 = {(2, 4), (3, 5), (2, 7)}  # cells 16, 23, 34
    left, landed = {(4, 4)}, {(2, 6)}

    def places(plane: np.ndarray) -> set[tuple[int, int]]:
        return {(int(q), int(r)) for q, r in np.argwhere(plane)}

    def upside_down(cells: set[tuple[int, int]]) -> set[tuple[int, int]]:
        return {(8 - q, 8 - r) for q, r in cells}

    look = jax.jit(env.observe)
    for view in (look(state), look(state, 0)):
        assert view.shape == env.observation_shape == (9, 9, 4)
        assert view.dtype == bool
        assert [places(view[:, :, i]) for i in range(4)] == [pegs_0, pegs_1, left, landed]
    view = look(state, 1)
    expected = [upside_down(pegs_1), upside_down(pegs_0), upside_down(left), upside_down(landed)]
    assert [places(view[:, :, i]) for i in range(4)] == expected


@pytest.mark.parametrize("num_players", [2, 3, 6])
def test_every_seat_sees_the_same_start(num_players: int) -> None:
    """The seats are evenly spaced: one network can play all of them. (Four seats are not.)"""
    env = game(num_players=num_players)
    state = env.init(jax.random.key(0))
    look = jax.jit(env.observe)
    for seat in range(num_players):
        np.testing.assert_array_equal(look(state, seat), look(state))


# -- the env as a function --------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_players", PLAYERS)
@pytest.mark.parametrize("size", range(1, 9))
def test_plain_properties_and_a_lean_state(size: int, num_players: int) -> None:
    """Two bytes a cell and 64 more at most."""
    env = game(size=size, num_players=num_players)
    cells = 6 * size * (size + 1) + 1
    assert env.id == "chinese_checkers"
    assert env.num_players == num_players
    assert env.num_actions == 6 * cells + 1
    assert env.observation_shape == (4 * size + 1, 4 * size + 1, num_players + 2)
    state = jax.eval_shape(env.init, jax.eval_shape(lambda: jax.random.key(0)))
    assert env.state_bytes == sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))
    assert env.state_bytes <= 2 * cells + 64
    assert (state.current_player.shape, state.current_player.dtype) == ((), jnp.int32)
    assert (state.rewards.shape, state.rewards.dtype) == ((num_players,), jnp.float32)
    for flag in (state.terminated, state.truncated):
        assert (flag.shape, flag.dtype) == ((), jnp.bool_)


# -- notation ---------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    size=st.integers(1, 4),
    num_players=st.sampled_from(PLAYERS),
    choices=st.lists(st.integers(0, 10_000), max_size=60),
)
def test_what_is_written_reads_back(size: int, num_players: int, choices: list[int]) -> None:
    """Positions and actions of random play-outs."""
    env, reference = game(size=size, num_players=num_players), Reference(size, num_players, "positive_sum", 200)
    position = reference.start()
    for choice in choices:
        moves = reference.legal(position)
        if moves:
            position = reference.step(position, list(moves)[choice % len(moves)], moves)
    text = reference.to_string(position)
    state = env.from_string(text)
    assert env.to_string(state) == text
    assert is_over(state) == (position.terminated, position.truncated)
    for action, move in reference.legal(position).items():
        assert env.action_to_string(state, action) == reference.move_to_string(move)
        assert env.action_from_string(state, reference.move_to_string(move)) == action


@settings(max_examples=40, deadline=None)
@given(data=st.data(), num_players=st.sampled_from(PLAYERS))
def test_any_placement_reads_back(data: st.DataObject, num_players: int) -> None:
    """Reachable or not, with any number of pegs a seat, and with nothing paid."""
    env = game(num_players=num_players)
    cells = data.draw(st.lists(st.sampled_from("." + "012345"[:num_players]), min_size=37, max_size=37))
    rows = "/".join("".join(cells[a:b]) for a, b in [(0, 1), (1, 3), (3, 10), (10, 16), (16, 21), (21, 27), (27, 34)])
    text = f"{rows}/{''.join(cells[34:36])}/{cells[36]} {data.draw(st.integers(0, num_players - 1))} - 17"
    state = env.from_string(text)
    assert env.to_string(state) == text
    assert not state.rewards.any()
    assert not state.truncated


@pytest.mark.parametrize(
    ("seat", "chain", "rounds", "expected"),
    [
        (1, "-", 0, TERMINATED),  # seat 0 has just moved
        (0, "-", 0, LIVE),  # seat 1 has
        (0, "18,31", 0, TERMINATED),  # in mid-chain the seat to move moved last
        (0, "-", 199, LIVE),
        (0, "-", 200, TRUNCATED),
        (0, "-", 201, TRUNCATED),
        (1, "-", 200, TERMINATED),  # never both
    ],
)
def test_from_string_knows_what_is_over(seat: int, chain: str, rounds: int, expected: tuple[bool, bool]) -> None:
    """Seat 0's goal is full: that ended the game if seat 0 moved last."""
    env = game()
    picture = """
                 .
                . .
          . . . . . . .
           . . . . . .
            . . . . .
           . . . 1 . .
          1 . . . 0 . .
                0 0
                 0
    """
    state = read(env, picture, seat, chain, rounds)
    assert is_over(state) == expected
    assert env.to_string(state) == written(picture, seat, chain, rounds)


@pytest.mark.parametrize(
    ("text", "offending", "expected"),
    [
        ("", "''", "four fields"),
        ("0/..../.../..../1 0 -", "'0/..../.../..../1 0 -'", "four fields"),
        ("0/..../.../..../1 0 - 0 0", "'0/..../.../..../1 0 - 0 0'", "four fields"),
        ("0/..../.../.... 0 - 0", "'0/..../.../....'", "5 rows"),
        ("0/..../.../..../1/ 0 - 0", "'0/..../.../..../1/'", "5 rows"),
        ("0/..../../..../1 0 - 0", "'..'", "3 cells"),
        ("0/..../.../...../1 0 - 0", "'.....'", "4 cells"),
        ("0/.2../.../..../1 0 - 0", "'2'", "0 to 1"),
        ("0/.x../.../..../1 0 - 0", "'x'", "0 to 1"),
        ("0/..../.../..../1 2 - 0", "'2'", "0 to 1"),
        ("0/..../.../..../1 -1 - 0", "'-1'", "0 to 1"),
        ("0/..../.../..../1 a - 0", "'a'", "0 to 1"),
        ("0/..../.../..../1 0 - -1", "'-1'", "round"),
        ("0/..../.../..../1 0 - 1.5", "'1.5'", "round"),
        ("0/..../.../..../1 0 - 99999999999", "'99999999999'", "round"),
        ("0/..../.../..../1 0 x 0", "'x'", "chain"),
        ("0/..../.../..../1 0 5 0", "'5'", "chain"),
        ("0/..../.../..../1 0 5,0, 0", "'5,0,'", "chain"),
        ("0/..../.../..../1 0 5,13 0", "13", "0 to 12"),
        ("0/.1../.../..../1 0 5,0,5,0 0", "5,0,5,0", "different cells"),
        ("0/.1../.../..../1 0 6,0 0", "6,0", "two cells along a line"),
        ("0/.1../1../..../1 0 5,0 0", "5,0", "empty cell at 5"),
        ("./.1../.../..../1 0 5,0 0", "5,0", "peg of seat 0 at 0"),
    ],
)
def test_a_wrong_position_is_explained(text: str, offending: str, expected: str) -> None:
    with pytest.raises(ValueError, match="expected") as error:
        game(size=1).from_string(text)
    assert offending in str(error.value)
    assert expected in str(error.value)


@pytest.mark.parametrize(
    ("text", "offending", "expected"),
    [
        ("", "''", "'end'"),
        ("END", "'END'", "'end'"),
        ("1>6", "'1>6'", "'3->14'"),
        ("1->", "'1->'", "'3->14'"),
        ("1 -> 6", "'1 -> 6'", "'3->14'"),
        ("-1->6", "'-1->6'", "'3->14'"),
        ("1->37", "37", "0 to 36"),
        ("37->36", "37", "0 to 36"),
        ("1->1", "'1->1'", "next to 1"),
        ("1->7", "'1->7'", "next to 1"),
        ("0->5", "'0->5'", "next to 0"),
        ("0=>6", "'0=>6'", "along a line from 0"),
        ("0=>1", "'0=>1'", "along a line from 0"),
        ("0->1", "'0->1'", "occupied"),
        ("1=>11", "'1=>11'", "empty"),
    ],
)
def test_a_wrong_action_is_explained(text: str, offending: str, expected: str) -> None:
    env = game()
    with pytest.raises(ValueError, match=r"expected|the cell next to") as error:
        env.action_from_string(env.init(jax.random.key(0)), text)
    assert offending in str(error.value)
    assert expected in str(error.value)


@pytest.mark.parametrize("action", [-1, 6 * 37 + 1, 6 * 0 + 1])
def test_an_action_that_names_no_move_has_no_text(action: int) -> None:
    """Out of range, and over the edge of the board."""
    env = game()
    with pytest.raises(ValueError, match=str(action)):
        env.action_to_string(env.init(jax.random.key(0)), action)
