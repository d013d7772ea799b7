"""Steps, hops, chains of hops and the end of a turn."""

from tests.games.chinese_checkers.pictures import CHAIN, IN_CHAIN, game, read, written
from tests.helpers.positions import LIVE, is_over, legal, play, start


def test_peg_steps_to_an_empty_neighbour_or_hops_over_an_occupied_one() -> None:
    """The opening: the mover must move."""
    env = game()
    assert legal(env, start(env)) == {"0=>5", "0=>7", "1->5", "1->6", "2->6", "2->7"}


def test_step_ends_the_turn() -> None:
    env = game()
    state = play(env, start(env), "1->6")
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


def test_hop_keeps_the_turn_and_leaves_the_peg_hopped_over() -> None:
    env = game()
    state = play(env, start(env), "0=>5")
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


def test_hop_goes_over_any_one_peg_to_an_empty_cell_on_the_board() -> None:
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


def test_only_the_same_peg_may_hop_on_in_a_chain() -> None:
    """After 18=>29 neither the pegs on 0 and 1 may move, nor 29 step, nor go back to 18."""
    env = game()
    state = read(env, CHAIN)
    assert {"18=>29", "18->13", "0=>5", "1->6"} < legal(env, state)
    state = play(env, state, "18=>29")
    assert legal(env, state) == {"29=>36", "end"}
    assert env.to_string(state).split()[1:] == ["0", "18,29", "0"]
    assert {"29=>18", "29->28", "0=>5", "1->6"} < legal(env, read(env, IN_CHAIN))  # if a turn begins here


def test_turn_may_be_ended_after_one_hop_but_not_before() -> None:
    env = game()
    state = read(env, CHAIN)
    assert "end" not in legal(env, state)
    state = play(env, state, "18=>29")
    rows = env.to_string(state).split()[0]
    assert env.to_string(play(env, state, "end")) == f"{rows} 1 - 0"


def test_chain_never_enters_a_cell_twice_and_must_be_ended() -> None:
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


def test_cells_of_a_chain_are_free_again_in_the_next_turn() -> None:
    """The next mover hops to where the last one started from."""
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


def test_seat_that_cannot_move_may_only_end_its_turn() -> None:
    """The peg on the tip has two rows of pegs before it."""
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


def test_seat_without_pegs_may_only_end_its_turn() -> None:
    env = game(size=1)
    assert legal(env, env.from_string("./.1../.../..../. 0 - 0")) == {"end"}


def test_every_triangle_may_be_entered_and_left_by_every_seat() -> None:
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
