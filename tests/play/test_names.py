"""Sentences for people: names of seats, whose turn it is, and how a game ended."""

from collections.abc import Collection

import pytest

from jaxgames import make
from jaxgames.env import Outcome
from jaxgames.play import Session
from jaxgames.play.words import ending, ending_of, turn_text
from jaxgames.render import seat_colours, seat_names
from tests.helpers.sticks import Sticks

BOXES = make("dots_and_boxes(rows=1, cols=3)")
STAR = make("chinese_checkers(size=1, num_players=3)")
CHESS = make("minichess")


@pytest.mark.parametrize(
    ("env", "names"),
    [
        (make("checkers"), ["Black", "White"]),
        (CHESS, ["White", "Black"]),
        (BOXES, ["Red", "Blue"]),
        (make("chinese_checkers_diamond"), ["Red", "Blue"]),
        (make("chinese_checkers"), ["Red", "Blue", "Yellow", "Green", "Pink", "Light blue"]),
    ],
    ids=str,
)
def test_seats_have_the_names_of_their_colours(env: object, names: list[str]) -> None:
    assert seat_names(env) == names  # pyright: ignore[reportArgumentType]  # of any game
    assert len(set(seat_colours(env))) == len(names)  # pyright: ignore[reportArgumentType]


def test_first_colour_of_a_star_is_red_and_the_second_is_blue() -> None:
    for colour, (most, *others) in zip(seat_colours(STAR), [(0, 1, 2), (2, 0, 1)], strict=False):
        parts = [int(colour[start : start + 2], 16) for start in (1, 3, 5)]
        assert all(parts[most] > parts[other] for other in others), colour


@pytest.mark.parametrize(
    ("mover", "people", "text"),
    [(0, [0], "Your turn (Red)"), (1, [0], "Blue to move"), (0, [0, 1], "Red to move"), (2, [], "Yellow to move")],
)
def test_turn_is_yours_if_you_are_the_only_person(mover: int, people: Collection[int], text: str) -> None:
    assert turn_text(STAR, mover, people) == text


@pytest.mark.parametrize(
    ("outcome", "people", "text"),
    [
        (Outcome("win", (0,), "checkmate"), [0], "You win: checkmate"),
        (Outcome("win", (0,), "checkmate"), [1], "You lost: checkmate"),
        (Outcome("win", (0,), "checkmate"), [], "White wins: checkmate"),
        (Outcome("win", (0,), "checkmate"), [0, 1], "White wins: checkmate"),
        (Outcome("win", (1,), "seat 0 resigned"), [0], "You lost: you resigned"),
        (Outcome("win", (1,), "seat 0 resigned"), [0, 1], "Black wins: White resigned"),
        (Outcome("win", (0,), "no legal move"), [0], "You win: Black has no legal move"),
        (Outcome("win", (1,), "no legal move"), [0], "You lost: you have no legal move"),
        (Outcome("draw", (), "stalemate"), [0], "Draw: stalemate"),
        (Outcome("truncated", (), "256 plies without a winner"), [0], "No winner: 256 plies without a winner"),
        (Outcome("forfeit", (), "illegal action by seat 1"), [0], "The game is over: illegal action by Black"),
    ],
)
def test_ending_is_told_to_the_only_person_and_names_all_others(
    outcome: Outcome, people: Collection[int], text: str
) -> None:
    assert ending(CHESS, outcome, people=people) == text


@pytest.mark.parametrize(
    ("position", "people", "text"),
    [
        ("1111111111 001 0", [0], "You win 2 : 1"),
        ("1111111111 001 0", [1], "You lost 1 : 2"),
        ("1111111111 011 1", [], "Blue wins 2 : 1"),
    ],
)
def test_ending_of_dots_and_boxes_has_the_boxes_your_own_first(
    position: str, people: Collection[int], text: str
) -> None:
    state = BOXES.from_string(position)
    assert ending(BOXES, BOXES.outcome(state), state, people) == text


def test_draw_of_dots_and_boxes_has_the_boxes() -> None:
    env = make("dots_and_boxes(rows=1, cols=2)")
    state = env.from_string("1111111 01 0")
    assert ending(env, env.outcome(state), state, [0]) == "Draw 1 : 1"


def test_resignation_has_no_score() -> None:
    session = Session(BOXES, ["human", "greedy"])
    assert ending_of(session) == ""
    session.resign()
    assert ending_of(session) == "You lost: you resigned"


def test_seats_of_a_game_without_pictures_are_players_by_their_numbers() -> None:
    assert seat_names(Sticks(num_players=3)) == ["Player 1", "Player 2", "Player 3"]
