"""Words for people: seats, turns, endings, menus of boards, pictures of rules. Stored transcripts have the texts."""

import itertools
import re
from typing import Any
from xml.etree import ElementTree

import pytest

from jaxgames import make
from jaxgames.env import Outcome
from jaxgames.play import Session
from jaxgames.play.words import ending, ending_of, first_game, game_title, offered_games, rules, turn_text, words_of
from jaxgames.render import seat_colours, seat_names
from tests.helpers.sticks import Sticks

BOXES, CHESS = make("dots_and_boxes(rows=1, cols=3)"), make("minichess")


@pytest.mark.parametrize(
    ("env", "names"),
    [
        (make("checkers"), ["Black", "White"]),
        (CHESS, ["White", "Black"]),
        (BOXES, ["Red", "Blue"]),
        (make("chinese_checkers_diamond"), ["Red", "Blue"]),
        (make("chinese_checkers"), ["Red", "Blue", "Yellow", "Green", "Pink", "Light blue"]),
        (Sticks(num_players=3), ["Player 1", "Player 2", "Player 3"]),
    ],
    ids=str,
)
def test_seats_have_the_names_of_their_colours(env: Any, names: list[str]) -> None:
    assert seat_names(env) == names
    assert len(set(seat_colours(env))) == len(names)
    for colour, channel in zip(seat_colours(env), (0, 2), strict=False):
        parts = [int(colour[start : start + 2], 16) for start in (1, 3, 5)]
        assert names[0] != "Red" or parts.index(max(parts)) == channel, "red and blue"


WON, RESIGNED, STUCK = (Outcome("win", (0,), reason) for reason in ("checkmate", "seat 1 resigned", "no legal move"))
FULL = "1111111111 001 0"  # two boxes of seat 0, one of seat 1


@pytest.mark.parametrize(
    ("env", "outcome", "people", "text"),
    [
        (CHESS, WON, [0], "You win: checkmate"),
        (CHESS, WON, [1], "You lost: checkmate"),
        (CHESS, WON, [], "White wins: checkmate"),
        (CHESS, WON, [0, 1], "White wins: checkmate"),
        (CHESS, RESIGNED, [1], "You lost: you resigned"),
        (CHESS, RESIGNED, [0, 1], "White wins: Black resigned"),
        (CHESS, STUCK, [0], "You win: Black has no legal move"),
        (CHESS, STUCK, [1], "You lost: you have no legal move"),
        (CHESS, Outcome("draw", (), "stalemate"), [0], "Draw: stalemate"),
        (CHESS, Outcome("truncated", (), "256 plies without a winner"), [0], "No winner: 256 plies without a winner"),
        (CHESS, Outcome("forfeit", (), "illegal action by seat 1"), [0], "The game is over: illegal action by Black"),
        (BOXES, FULL, [0], "You win 2 : 1"),
        (BOXES, FULL, [1], "You lost 1 : 2"),
        (BOXES, FULL, [], "Red wins 2 : 1"),
        (make("dots_and_boxes(rows=1, cols=2)"), "1111111 01 0", [0], "Draw 1 : 1"),
    ],
)
def test_ending_is_told_to_the_only_person_and_names_all_others(
    env: Any, outcome: Outcome | str, people: list[int], text: str
) -> None:
    state = env.from_string(outcome) if isinstance(outcome, str) else None
    assert ending(env, env.outcome(state) if isinstance(outcome, str) else outcome, state, people) == text


@pytest.mark.parametrize(
    ("mover", "people", "text"),
    [(0, [0], "Your turn (Red)"), (1, [0], "Blue to move"), (0, [0, 1], "Red to move"), (2, [], "Yellow to move")],
)
def test_turn_is_yours_if_you_are_the_only_person(mover: int, people: list[int], text: str) -> None:
    assert turn_text(make("chinese_checkers(size=1, num_players=3)"), mover, people) == text


def test_resignation_has_no_score() -> None:
    session = Session(BOXES, ["human", "greedy"])
    assert ending_of(session) == ""
    session.resign()
    assert ending_of(session) == "You lost: you resigned"


# -- rules and menus -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", offered_games())
def test_every_game_has_a_goal_and_pictures_with_captions(game: str) -> None:
    found = rules(make(first_game(game)), "dark")
    assert found.title
    assert found.goal.endswith(".")
    assert len(found.pictures) >= 2
    assert sum(map(len, found.paragraphs)) < 1_700, "one screen"
    for svg, caption in found.pictures:
        assert ElementTree.fromstring(svg).tag.endswith("svg")
        assert caption.endswith(".")


def test_limits_of_moves_are_those_of_the_env() -> None:
    for game in ("minichess", "minichess(max_plies=60)", "chinese_checkers_diamond", "chinese_checkers(size=2)"):
        env: Any = make(game)
        limit = getattr(env, "max_plies", None) or getattr(env, "max_rounds", None) or env.max_steps
        told = " ".join(rules(env, theme=None).paragraphs)
        assert re.search(rf"After {limit:,} (moves|rounds) without a winner", told), game


def test_game_of_ones_own_has_the_first_words_of_its_docstring() -> None:
    found = rules(Sticks())
    assert (found.title, found.pictures) == ("Sticks", ())
    assert found.paragraphs[0].startswith("Action a takes a + 1 sticks.")


@pytest.mark.parametrize("game", offered_games())
def test_every_choice_of_the_menus_makes_a_board(game: str) -> None:
    menus = words_of(game).menus
    for menu in menus:
        assert menu.default in dict(menu.options)
    for chosen in itertools.product(*(dict(menu.options) for menu in menus)):
        assert make(f"{game}({', '.join(chosen)})").id == game
    assert game_title(game)
    assert game != "chinese_checkers" or make(first_game(game)).num_players in (2, 3)
