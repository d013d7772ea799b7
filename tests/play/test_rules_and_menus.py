"""The rules for people, which follow the parameters of the board, and the menus of boards."""

import itertools
import re
from typing import Any
from xml.etree import ElementTree

import pytest

from jaxgames import make
from jaxgames.play.words import first_game, game_title, offered_games, rules, words_of
from tests.helpers.sticks import Sticks


def text_of(game: str) -> str:
    found = rules(make(game), theme=None)
    assert found.pictures == ()
    return " ".join((found.goal, *found.paragraphs))


@pytest.mark.parametrize("game", offered_games())
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_game_has_a_goal_and_pictures_with_captions(game: str, theme: str) -> None:
    found = rules(make(first_game(game)), theme)
    assert found.title
    assert found.goal.endswith(".")
    assert len(found.pictures) >= 2
    assert all(paragraph.endswith(".") for paragraph in found.paragraphs)
    assert sum(map(len, found.paragraphs)) < 1_700, "one screen"
    for svg, caption in found.pictures:
        assert ElementTree.fromstring(svg).tag.endswith("svg")
        assert caption.endswith(".")


@pytest.mark.parametrize(
    ("game", "present", "absent"),
    [
        ("checkers", "80 moves in a row, of both sides together, without a capture and", "40 moves"),
        ("checkers(draw_rule=adjudicated)", "From the 40th on, a player with at least three pieces more", "80 moves"),
        ("checkers(draw_rule=openspiel)", "40 moves in a row, of both sides together, without a capture", "80 moves"),
        ("checkers(max_plies=300)", "After 300 moves without a winner", "80 plies"),
        ("minichess", "checkmate", "Capture the other king"),
        ("minichess(rules=king_capture)", "Capture the other king", "stalemate"),
        ("minichess(double_step=True)", "from its first square also two", "x:y"),
        ("minichess(promotion=queen)", "it becomes a queen.", "as you choose"),
        ("minichess(reward=material)", "Checkmate the other king", "reward"),
        ("dots_and_boxes(rows=3, cols=3)", "more of the 9 boxes", "draw."),
        ("dots_and_boxes(rows=2, cols=2)", "Equal numbers are a draw", "9 boxes"),
        ("chinese_checkers_diamond", "You must not fill your own corner", "lock"),
        ("chinese_checkers_diamond(tip_lock=True)", "You must not lock your own tip", "x:y"),
        ("chinese_checkers(num_players=2)", "Red and Blue move in this order", "Yellow"),
        ("chinese_checkers(num_players=4)", "Red, Blue, Yellow and Green move in this order", "Pink"),
    ],
)
def test_rules_follow_the_parameters(game: str, present: str, absent: str) -> None:
    assert present in text_of(game)
    assert absent not in text_of(game)


def test_limits_of_moves_are_those_of_the_env() -> None:
    for game in ("minichess", "minichess(max_plies=60)", "chinese_checkers_diamond", "chinese_checkers(size=2)"):
        env: Any = make(game)
        limit = getattr(env, "max_plies", None) or getattr(env, "max_rounds", None) or env.max_steps
        assert re.search(rf"After {limit:,} (moves|rounds) without a winner", text_of(game)), game


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


def test_star_that_is_offered_first_has_two_or_three_seats() -> None:
    assert make(first_game("chinese_checkers")).num_players in (2, 3)


def test_titles_name_the_board() -> None:
    assert game_title("dots_and_boxes") == "Dots and Boxes"
    assert game_title(make("dots_and_boxes(rows=2, cols=3)")) == "Dots and Boxes, 2 by 3 boxes"
    assert game_title(make("chinese_checkers(size=1, num_players=2)")) == "Chinese Checkers, 2 players with 1 peg"
    assert game_title(make("minichess(rules=king_capture)")) == "Minichess, the king is captured"
