"""Saved games, which replay or are refused, and still pages. `tests/play/test_session.py` saves games at random."""

import base64
import hashlib
import json
import re
import time
from collections import Counter
from typing import Any
from xml.etree import ElementTree

import pytest

from jaxgames import arena, make, render
from jaxgames.play import HUMAN, Session, from_json, to_html, to_json
from jaxgames.play.static_page import game_of

BOXES = make("dots_and_boxes(rows=1, cols=2)")


def session_of(*actions: int, other: str = "random") -> Session:
    session = Session(BOXES, [HUMAN, other])
    for action in actions:
        session.play(action)
    return session


def changed(**fields: Any) -> str:
    return json.dumps(json.loads(to_json(session_of(0, 2))) | fields)


# -- saved games ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "needles"),
    [
        ("", ("JSON object",)),
        ("[" * 100_000, ("JSON object",)),
        ("{}", ("env, game, agents",)),
        ({"rules": 99}, ("rules", "99")),
        ({"env": "no_game"}, ("'no_game'",)),
        ({"env": "no_module_of_files:game"}, ("names the module 'no_module_of_files'",)),
        ({"agents": "human"}, ("'agents'", "not 'human'")),
        ({"agents": ["human"]}, ("2 seats",)),
        ({"seed": -1}, ("'seed'", "0")),
        ({"opening": {"plies": 0, "position": "000 . 0"}}, ("7 characters",)),
        ({"actions": [0, 0]}, ("action 2", "action 0")),
        ({"actions": ["h(0,0)"]}, ("'actions'", "integers")),
        ({"actions": [0, 3]}, ("actions", "dots_and_boxes")),
        ({"moves": ["h(0,0)", "h(0,1)"]}, ("moves",)),
        ({"ply": 3}, ("ply", "0 to 2")),
        ({"resigned": 0, "agreed": True}, ("'agreed'", "true")),
    ],
)
def test_file_that_does_not_replay_is_refused(text: Any, needles: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        from_json(text if isinstance(text, str) else changed(**text))
    assert all(needle in str(caught.value) for needle in needles), caught.value


@pytest.mark.parametrize(
    "changes",
    [
        {"env": "-" * 100_000},
        {"env": f"checkers(a={'-' * 5000}1)"},
        {"env": f"checkers({'(a,' * 7000})"},
        {"env": f"checkers(a={'1' * 100_000})"},
        {"actions": ["x" * 900_000]},
        {"opening": {"plies": 0, "position": "x" * 900_000}},
        {"agents": ["x" * 900_000]},
        {"agents": ["human"] * 100_000},
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
    session.jump(0)
    again = from_json(to_json(session))
    assert (again.start, again.seats, again.seed, again.ply, again.plies) == (
        "1000000 .. 1", (HUMAN, "greedy"), 5, 0, 1,
    )  # fmt: skip
    assert from_json(changed(ply=None)).ply == 2
    assert to_json(from_json(game_of(to_html(session)))) == to_json(session), "also in a still page"
    with pytest.raises(ValueError, match="not a still page"):
        game_of("<html></html>")


def test_resignation_is_saved_also_if_another_player_has_the_seat() -> None:
    session = session_of(0)
    session.resign()
    another = session.with_seats(["greedy", "random"])
    assert from_json(to_json(another)).outcome == another.outcome == session.outcome


def test_record_of_the_arena_is_a_saved_game_and_a_saved_game_a_record() -> None:
    text = to_json(session_of(0, 2, 1, 3, 4, 5, 6))
    assert len(arena.replay(text)) == 8
    record = {name: value for name, value in json.loads(text).items() if name in arena.GameRecord.__annotations__}
    assert to_json(from_json(json.dumps(record))) == text


# -- still pages ---------------------------------------------------------------------------------------------------

PLAYED = (0, 1, 2, 3, 4, 5, 6)  # seat 1 completes both boxes


def drawn(svg: str, ply: int = 0) -> Counter[tuple[str, str]]:
    """The pieces, paths and texts of a picture; of a still page, only what is visible after `ply` plies."""
    parts: Counter[tuple[str, str]] = Counter()
    root = ElementTree.fromstring(svg)
    root.remove(next(child for child in root if child.tag.endswith("defs")))
    for element in root.iter():
        spans = [list(map(int, span.split("-"))) for span in element.get("data-at", "").split()]
        if spans and not any(span[0] <= ply <= span[-1] for span in spans):
            continue
        kind, look = element.tag.rpartition("}")[2], element.get("transform", "")
        if kind == "text" or element.get("d") or (kind == "use" and look):
            parts[kind, element.text or element.get("d") or look] += 1
    return parts


def picture_of(page: str) -> str:
    return page[page.index("<svg") : page.index("</svg>") + len("</svg>")]


def test_positions_of_a_page_are_drawn_as_in_single_pictures_and_each_part_once() -> None:
    session = session_of(*PLAYED)
    svg, moves, movers = picture_of(to_html(session)), session.moves(), session.movers()
    for ply in range(session.plies + 1):
        turn = [ply - 1] if ply else []
        while turn and turn[0] > 0 and movers[turn[0] - 1] == movers[turn[0]]:
            turn.insert(0, turn[0] - 1)
        last = " ".join(moves[number] for number in turn) or None
        alone = drawn(render.svg(BOXES, session.states[ply], last=last).svg)
        if ply:  # the note of a page has the number of the move
            alone += Counter({("text", moves[ply - 1]): -1, ("text", f"{ply}. {moves[ply - 1]}"): 1})
        assert drawn(svg, ply) == +alone, ply
    parts = re.findall(r"<(?:use|text)[^>]*data-at[^>]*>[^<]*", svg)
    assert len(parts) == len({re.sub(' data-at="[^"]*"', "", part) for part in parts})


def test_page_allows_its_own_script_and_style_only_and_asks_nothing_of_the_network() -> None:
    text = to_html(session_of(0, 1, 2, other="<b>agent"))
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for tag in ("script", "style"):
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert not re.search(r"<[^>]*\s(style|on\w+)=", text)
    assert not re.search(r"https?:|url\(|@import", text.replace('xmlns="http://www.w3.org/2000/svg"', ""))
    assert all(href.startswith("#") for href in re.findall(r'(?:href|src)="([^"]*)"', text))
    assert "Blue: &lt;b&gt;agent" in text
