"""The rules "king_capture": the king may be left in check and captured, and few things draw."""

import jax.numpy as jnp

import jaxgames
from tests.games.minichess.pictures import KING_CAPTURE, MATE, STALEMATE, drawn, read
from tests.helpers.positions import LIVE, TERMINATED, compiled, is_over, play, start


def test_player_who_captures_the_king_wins() -> None:
    state = play(KING_CAPTURE, drawn(KING_CAPTURE, MATE), "e1e5", "a5b5")  # along the line of the rook
    assert is_over(state) == LIVE
    state = play(KING_CAPTURE, state, "e5b5")
    assert is_over(state) == TERMINATED
    assert state.rewards.tolist() == [1, -1]
    state = play(KING_CAPTURE, drawn(KING_CAPTURE, MATE), "a3a4", "a5a4")  # next to the other king
    assert state.rewards.tolist() == [-1, 1]


def test_player_without_a_pseudo_legal_move_draws() -> None:
    """The king is hemmed in by pawns that are blocked or on their last rank; a knight on b5 could move."""
    picture = """
        k p . . .
        p p . . .
        p p . . .
        p p . . .
        p p . . K
    """
    state = play(KING_CAPTURE, drawn(KING_CAPTURE, picture), "e1e2")
    assert is_over(state) == TERMINATED
    assert state.rewards.tolist() == [0, 0]
    assert is_over(play(KING_CAPTURE, drawn(KING_CAPTURE, picture.replace("k p", "k n")), "e1e2")) == LIVE


def test_repetition_quiet_plies_and_stalemate_do_not_draw() -> None:
    env = jaxgames.make("minichess", rules="king_capture", max_plies=1000)
    state = play(env, start(env), *["b1a3", "b5c3", "a3b1", "c3b5"] * 3)
    assert is_over(state) == LIVE
    assert not jnp.any(compiled(env).look(state).mover[..., 13:])
    assert is_over(play(env, drawn(env, MATE, quiet=150), "e1e2")) == LIVE
    assert is_over(play(env, drawn(env, STALEMATE), "c2c4")) == LIVE


def test_any_number_of_kings_can_be_read() -> None:
    """The game is won when the last one is captured."""
    state = play(KING_CAPTURE, read(KING_CAPTURE, "kk3/5/5/5/R3K w - - 5 9"), "a1a5")
    assert is_over(state) == LIVE  # one is left
    assert play(KING_CAPTURE, state, "b5b4", "a5a4", "b4a4").rewards.tolist() == [0, 0]
