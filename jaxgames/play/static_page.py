"""A game as one HTML file: all boards are drawn in it, and a short script shows one of them.

The file needs no server and asks nothing of the network. Its Content-Security-Policy allows its own script and style
by their hashes, and nothing else. The game is in it as `to_json` writes it, so that it can be played on.
"""

import base64
import hashlib
import re
from html import escape
from importlib import resources

from jaxgames.play.game_file import to_json
from jaxgames.play.session import Session
from jaxgames.play.words import ending_of
from jaxgames.render import seat_names
from jaxgames.render.boards import slides
from jaxgames.render.theme import THEMES, css_variables

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<p>{seats}</p>
</header>
<main>
{picture}
<p id="words" aria-live="polite" data-words="{words}"></p>
<div class="controls">
<button id="first" aria-label="first position">«</button>
<button id="back" aria-label="one move back">◀</button>
<button id="autoplay" aria-label="play all moves" aria-pressed="false">play</button>
<button id="forward" aria-label="one move forward">▶</button>
<button id="last" aria-label="last position">»</button>
<input type="range" min="0" max="{plies}" value="{ply}" aria-label="position">
</div>
<p>Keys: left and right arrow, Home, End; the space bar plays all moves.</p>
</main>
<nav aria-label="moves">
<ol>
{moves}
</ol>
</nav>
<script type="application/json" id="game">{game}</script>
<script>{script}</script>
</body>
</html>
"""


def to_html(session: Session) -> str:
    """Returns a game as one HTML page that needs no server and no network: boards, moves, a slider."""
    env, moves, last = session.env, session.moves(), session.copy()
    last.jump(last.plies)
    ending = ending_of(last) if last.is_stopped else ""
    picture, words = slides(env, session.states, session.actions, ending)
    script, style = _file("static_page.js"), _colours() + _file("static_page.css")
    items = [f"<li><button>{number}. {escape(text)}</button></li>" for number, text in enumerate(moves, start=1)]
    players = [f"{name}: {text}" for name, text in zip(seat_names(env), session.seats, strict=True)]
    return _PAGE.format(
        policy=f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; base-uri 'none'",
        title=escape(str(env)),
        style=style,
        script=script,
        seats=escape(" · ".join(players)),
        picture=picture,
        words=escape("\n".join(words)).replace("\n", "&#10;"),
        plies=len(moves),
        ply=session.ply,
        moves="\n".join(items),
        game=to_json(session).replace("<", "\\u003c"),  # no text of the game ends the script
    )


def game_of(html: str) -> str:
    """Returns the saved game in the text of a still page, for `from_json`. Raises ValueError for a text without one."""
    script = re.search(r'<script type="application/json" id="game">(.*?)</script>', html, re.DOTALL)
    if script is None:
        raise ValueError("this is not a still page: expected HTML with a game in it, as `save FILE.html` writes it")
    return script[1]


def _colours() -> str:
    """Returns the style sheet with the colours of both themes."""
    light, dark = (css_variables(THEMES[name]) for name in ("light", "dark"))
    return f":root{{{light}}}\n@media (prefers-color-scheme: dark){{:root{{{dark}}}}}\n"


def _file(name: str) -> str:
    return resources.files("jaxgames.play").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Returns the source of a Content-Security-Policy that allows an inline script or style."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
