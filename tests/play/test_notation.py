"""Moves as people type them."""

from typing import Any

import pytest

from jaxgames import make
from jaxgames.play import HUMAN, Session
from jaxgames.play.notation import legal_texts, parse_turn

BOXES, CHECKERS = make("dots_and_boxes(rows=1, cols=2)"), make("checkers")


def at(env: Any, position: str) -> Session:
    return Session(env, [HUMAN] * env.num_players, state=env.from_string(position))


def after(session: Session, text: str) -> str:
    """The position after a typed turn."""
    for action in parse_turn(session, text):
        session.play(action)
    return session.env.to_string(session.state)


def test_beginning_of_one_move_is_enough() -> None:
    session = at(BOXES, "1101000 .. 0")
    assert after(session, "h") == "1111000 .. 1"
    with pytest.raises(ValueError, match=r"'v' begins several moves: v\(0,0\), v\(0,1\), v\(0,2\)"):
        parse_turn(session, "v")


def test_several_submoves_can_be_typed_at_once() -> None:
    """The first one completes a box, so the same seat goes on."""
    assert after(at(BOXES, "1010100 .. 0"), "V(0,1) h(0,1)") == "1110110 0. 1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("h(0,0)", r"h\(0,0\) is illegal here; legal: h\(0,1\), h\(1,0\)"),
        ("h(7,0)", r"expected a row from 0 to 1 of h\(r,c\), not 7 in 'h\(7,0\)'; legal: h\(0,1\)"),
        ("", r"expected a move; the legal ones are h\(0,1\)"),
    ],
)
def test_wrong_move_is_refused_with_the_legal_ones(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_turn(at(BOXES, "1000000 .. 1"), text)


@pytest.mark.slow
def test_later_submove_is_checked_in_its_own_position() -> None:
    session = at(BOXES, "1010100 .. 0")
    with pytest.raises(ValueError, match=r"v\(0,1\) is illegal here"):
        parse_turn(session, "v(0,1) v(0,1)")
    assert session.ply == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "jumps"),
    [
        ("22-15", "22x15"),
        ("22x15x11", None),
        ("22x13x6", None),
    ],
)
def test_whole_captures_of_checkers_are_read_like_their_jumps(text: str, jumps: str | None) -> None:
    session = at(CHECKERS, "W:W22:B17,18,11,9")
    paths = legal_texts(CHECKERS, session.state)
    assert paths == ["22x13x6", "22x15x8"]
    if jumps is None and text not in paths:
        with pytest.raises(ValueError, match="legal: 22x13x6, 22x15x8"):
            parse_turn(session, text)
        return
    expected = jumps.split() if jumps else ["22x13", "13x6"]
    for action in parse_turn(session, text):
        session.play(action)
    assert session.moves() == expected


@pytest.mark.slow
def test_squares_between_the_ends_of_a_capture_may_be_left_out() -> None:
    session = at(CHECKERS, "W:W22:B17,18,11,9")
    assert len(parse_turn(session, "22x8")) == 2
    with pytest.raises(ValueError, match="'22x6' can be 22x13x6, 22x15x6: name the squares on the way"):
        parse_turn(at(CHECKERS, "W:W22:B17,18,10,9"), "22x6")


@pytest.mark.slow
def test_chain_of_hops_can_be_one_word() -> None:
    env = make("chinese_checkers(size=2, num_players=2)")
    session = Session(env, [HUMAN, HUMAN])
    first = next(text for text in legal_texts(env, session.state) if "=>" in text)
    session.play(env.action_from_string(session.state, first))
    again = Session(env, [HUMAN, HUMAN])
    assert after(again, f"{first} end") == after(session, "end")


@pytest.mark.slow
def test_number_is_not_the_beginning_of_a_longer_one() -> None:
    """9->17 and 9->18 are the legal steps of 9; one of them is blocked here."""
    env = make("chinese_checkers(size=4, num_players=2)")
    session = Session(env, [HUMAN, HUMAN])
    assert [text for text in legal_texts(env, session.state) if text.startswith("9->1")] == ["9->17", "9->18"]
    blocked = at(env, env.to_string(session.state).replace("/.............", "/.......0.....", 1))
    assert [text for text in legal_texts(env, blocked.state) if text.startswith("9->1")] == ["9->18"]
    with pytest.raises(ValueError, match="legal: "):
        parse_turn(blocked, "9->1")
