"""Still pages: a game in one HTML file."""

import base64
import hashlib
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

import pytest

from jaxgames import make, render
from jaxgames.play import HUMAN, Session, from_json, to_html, to_json
from jaxgames.play.static_page import game_of
from jaxgames.render.theme import THEMES, css_variables

BOXES = make("dots_and_boxes(rows=1, cols=2)")


def game(env: Any = BOXES, plies: int = 7) -> Session:
    session = Session(env, [HUMAN, *["<b>agent"] * (env.num_players - 1)])
    while session.ply < plies and not session.over:
        session.play(session.legal()[0].action)
    return session


class Elements(HTMLParser):
    """The tags of a page with their attributes, and the texts of its scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        self.tags.append((f"/{tag}", {}))

    def handle_data(self, data: str) -> None:
        tag, attributes = self.tags[-1] if self.tags else ("", {})
        if tag in ("script", "style") and "type" not in attributes:
            self.texts[tag] = self.texts.get(tag, "") + data


def drawn(svg: str, ply: int | None = None) -> Counter[tuple[str, str]]:
    """The pieces, paths and texts of a picture; of a still page, only what is visible after `ply` plies.

    Of the background, which all pictures have, and of the list of looks there are none.
    """
    parts: Counter[tuple[str, str]] = Counter()
    root = ElementTree.fromstring(svg)
    (definitions,) = [child for child in root if child.tag.endswith("defs")]
    root.remove(definitions)
    for element in root.iter():
        at = element.get("data-at")
        if at is not None and not any(
            int(span.split("-")[0]) <= (ply or 0) <= int(span.split("-")[-1]) for span in at.split(" ")
        ):
            continue
        kind, look = element.tag.rpartition("}")[2], element.get("transform", "")
        if kind == "text" or element.get("d") or (kind == "use" and look):
            parts[kind, element.text or element.get("d") or look] += 1
    return parts


def test_positions_are_drawn_as_in_single_pictures_and_each_part_once() -> None:
    session = game()
    page = to_html(session)
    svg = page[page.index("<svg") : page.index("</svg>") + len("</svg>")]
    for ply in range(session.plies + 1):
        turn = [ply - 1] if ply else []
        while turn and turn[0] > 0 and session.movers()[turn[0] - 1] == session.movers()[turn[0]]:
            turn.insert(0, turn[0] - 1)
        last = " ".join(session.moves()[number] for number in turn) or None
        alone = drawn(render.svg(BOXES, session.states[ply], last=last).svg)
        if ply:  # the note of a page has the number of the move
            alone -= Counter([("text", session.moves()[ply - 1])])
            alone += Counter([("text", f"{ply}. {session.moves()[ply - 1]}")])
        assert drawn(svg, ply) == alone, ply
    parts = re.findall(r"<(?:use|text)[^>]*data-at[^>]*>[^<]*", svg)
    assert len(parts) == len({re.sub(' data-at="[^"]*"', "", part) for part in parts})


def test_game_in_the_page_is_the_saved_game() -> None:
    session = game()
    session.jump(2)
    assert to_json(from_json(game_of(to_html(session)))) == to_json(session)
    with pytest.raises(ValueError, match="not a still page"):
        game_of("<html></html>")


def test_resignation_is_the_caption_of_the_last_position() -> None:
    session = game(plies=2)
    session.resign(0)
    page = to_html(session)
    assert "You lost: you resigned</text>" in page
    assert page.count("you resigned") == 2, "in the picture and in the words below"
    assert drawn(page[page.index("<svg") : page.index("</svg>") + 6], 2)["text", "Red to move · 0 : 0"] == 0


def test_page_has_words_for_each_position_and_a_button_for_each_move() -> None:
    session = game()
    elements = Elements(to_html(session))
    assert to_html(session).count("<li><button>") == session.plies
    (words,) = [attributes["data-words"] or "" for _, attributes in elements.tags if attributes.get("id") == "words"]
    assert words.split("\n")[0] == "Red to move · 0 : 0"
    assert len(words.split("\n")) == session.plies + 1


def test_policy_allows_the_pages_own_script_and_style_only() -> None:
    text = to_html(game(plies=1))
    elements = Elements(text)
    (policy,) = [attributes["content"] or "" for _, attributes in elements.tags if attributes.get("http-equiv")]
    assert "default-src 'none'" in policy
    for tag in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(elements.texts[tag].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    names = {name for _, attributes in elements.tags for name in attributes}
    assert not any(name == "style" or name.startswith("on") for name in names)
    assert "unsafe" not in policy


def test_page_asks_nothing_of_the_network() -> None:
    text = to_html(game(plies=1)).replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?:|url\(|@import", text)
    hrefs = re.findall(r'(?:href|src)="([^"]*)"', text)
    assert hrefs
    assert all(href.startswith("#") for href in hrefs)


def test_names_of_seats_are_escaped() -> None:
    assert "<b>agent" not in to_html(game(plies=1))
    assert "Blue: &lt;b&gt;agent" in to_html(game(plies=1))


def test_all_colours_are_variables_of_both_themes() -> None:
    text = to_html(game(plies=3))
    used = set(re.findall(r'"var\((--[\w-]+)\)"', text))
    assert used
    for theme in THEMES.values():
        assert used <= set(re.findall(r"(--[\w-]+):#", css_variables(theme)))
    assert not re.search(r'(fill|stroke)="#', text)


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_page_works_from_a_file(tmp_path: Path, theme: Literal["light", "dark"]) -> None:
    pytest.importorskip("playwright")
    from tests.play.web.browser import browser

    file = tmp_path / "game.html"
    file.write_text(to_html(game()), encoding="utf-8")
    with browser() as opened:
        check_page(opened.new_page(color_scheme=theme, viewport={"width": 360, "height": 640}), file, theme)


def check_page(page: Any, file: Path, theme: str) -> None:
    """Opens the page of a game of 7 plies, and looks at its positions."""
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith("file:") else problems.append(request.url))
    page.goto(file.as_uri())

    def shown() -> int:
        """The number in the note of the picture, such as "3. h(1,0)"."""
        texts = page.evaluate(
            "[...document.querySelectorAll('svg text[data-at]')]"
            ".filter(text => getComputedStyle(text).display !== 'none').map(text => text.textContent)"
        )
        return next((int(text.partition(".")[0]) for text in texts if re.match(r"\d+\. ", text)), 0)

    assert shown() == 7
    for key, ply in (("Home", 0), ("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", 7)):
        page.keyboard.press(key)
        assert shown() == ply
    page.get_by_role("button", name="3. h(1,0)").click()
    assert shown() == 3
    assert page.inner_text("#words") == "3. h(1,0): Blue to move · 0 : 0"
    page.get_by_role("button", name="first position").click()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "autoplay"
    page.keyboard.press("Space")
    assert page.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"
    page.keyboard.press("Space")
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") == (theme == "light")
    assert problems == []
