"""Saved games: they replay, or are refused. `tests/play/test_session.py` saves and loads games at random."""

import json
import re
import time
from typing import Any

import pytest

from jaxgames import make
from jaxgames.play import HUMAN, Session, from_json, to_html, to_json
from jaxgames.play.static_page import game_of

BOXES = make("dots_and_boxes(rows=1, cols=2)")


def session_of(*actions: int) -> Session:
    session = Session(BOXES, [HUMAN, "random"])
    for action in actions:
        session.play(action)
    return session


def changed(**fields: Any) -> str:
    return json.dumps(json.loads(to_json(session_of(0, 2))) | fields)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must be a JSON object"),
        ("[" * 100_000, "must be a JSON object"),
        ("[]", "must be a JSON object"),
        ("{}", '"format": "jaxgames game"'),
        ({"format": "pgn"}, '"format": "jaxgames game"'),
        ({"version": 2}, "reads 1"),
        ({"version": None}, "'version'"),
        ({"game_version": 99}, "version 99 of the rules"),
        ({"game": "no_game"}, "unknown game 'no_game'"),
        ({"game": "os:system(size=2)"}, "'os' must call jaxgames.register"),
        ({"game": "no_module_of_files:game"}, "names the module 'no_module_of_files', and a file imports none"),
        ({"game": 3}, "'game' of the saved game must be a text, not 3"),
        ({"seats": "human"}, "'seats' of the saved game must be a list of texts, not 'human'"),
        ({"seats": ["human"]}, "2 seats"),
        ({"seed": -1}, "'seed' of the saved game must be an integer from 0"),
        ({"seed": True}, "'seed'"),
        ({"start": "000 . 0"}, "expected 7 characters"),
        ({"moves": ["h(0,0)", "h(0,0)"]}, "move 2 of the saved game, 'h(0,0)', cannot be played"),
        ({"moves": ["h(9,0)"]}, "move 1 of the saved game, 'h(9,0)', cannot be played: expected a row"),
        ({"moves": [0]}, "'moves' of the saved game must be a list of texts"),
        ({"ply": 3}, "ply must be from 0 to 2"),
        ({"resigned": 5}, "expected a seat from 0 to 1"),
        ({"resigned": 0, "agreed": True}, "'agreed' of the saved game is true"),
        ({"agreed": 1}, "'agreed' of the saved game must be true or false"),
    ],
)
def test_file_that_does_not_replay_is_refused(text: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        from_json(text if isinstance(text, str) else changed(**text))


@pytest.mark.parametrize(
    "changes",
    [
        {"game": "-" * 100_000},
        {"game": f"checkers(a={'-' * 5000}1)"},
        {"game": f"checkers({'(a,' * 7000})"},
        {"game": f"checkers{'(' * 20_000})"},
        {"game": f"checkers(max_plies='{'x' * 470}')"},
        {"game": f"checkers({'x' * 470}=1)"},
        {"game": f"{'x' * 490}(a=1)"},
        {"game": f"checkers(a={'1' * 100_000})"},
        {"moves": ["x" * 900_000]},
        {"start": "x" * 900_000},
        {"seats": ["x" * 900_000]},
        {"seats": ["human"] * 100_000},
        {"resigned": "x" * 900_000},
    ],
)
def test_long_texts_are_refused_at_once_in_a_short_message(changes: dict[str, Any]) -> None:
    start = time.process_time()
    with pytest.raises(ValueError, match=r".") as caught:
        from_json(changed(**changes))
    assert len(str(caught.value)) < 1000
    assert time.process_time() - start < 1


def test_saved_game_keeps_its_start_and_the_position_that_is_shown() -> None:
    session = Session(BOXES, [HUMAN, "greedy"], seed=5, state=BOXES.from_string("1000000 .. 1"))
    session.play(1)
    session.undo()
    again = from_json(to_json(session))
    assert (again.start, again.seats, again.seed, again.ply, again.plies) == (
        "1000000 .. 1", (HUMAN, "greedy"), 5, 0, 1,
    )  # fmt: skip
    assert from_json(changed(ply=None)).ply == 2


@pytest.mark.parametrize("still", [False, True])
def test_agreed_draw_is_saved(still: bool) -> None:
    session = Session(BOXES, ["human", "human"])
    session.play(0)
    session.agree_on_draw()
    loaded = from_json(game_of(to_html(session)) if still else to_json(session))
    assert loaded.outcome == session.outcome
    assert loaded.outcome.kind == "draw"
    text = json.loads(to_json(session))
    del text["agreed"]
    assert not from_json(json.dumps(text)).over, "files of earlier versions have no such field"


def test_resignation_is_loaded_when_another_player_has_the_seat() -> None:
    session = session_of(0)
    session.resign()
    again = from_json(to_json(session.with_seats(["greedy", "random"])))
    assert again.outcome == session.outcome
