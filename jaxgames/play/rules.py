"""The rules of each game on one screen, in plain words, with pictures of positions.

The text depends on the parameters of the board: rules that do not hold there are left out. Every detail is in
docs/games/.
"""

from typing import Any, NamedTuple

from jaxgames import render
from jaxgames.env import Env
from jaxgames.play.menus import game_title
from jaxgames.play.words import Example, words_of

WIDTH = 240.0  # of a picture, in pixels


class Rules(NamedTuple):
    """The rules of a game."""

    title: str
    goal: str  # how to win, in a sentence; "" for a game that does not say it
    paragraphs: tuple[str, ...]
    pictures: tuple[tuple[str, str], ...]  # an SVG and its caption, for each picture


def rules(env: Env[Any], theme: str | None = "light") -> Rules:
    """Returns the rules of a game, with its parameters.

    A game of your own without `words` has the first paragraph of the docstring of its class.

    Args:
      env: the game.
      theme: of the pictures, "light" or "dark"; None for no pictures.
    """
    goal, paragraphs, examples = words_of(env).rules(env.unwrapped)
    pictures = () if theme is None else tuple((_svg(each, theme), each.caption) for each in examples)
    return Rules(game_title(env), goal, tuple(filter(None, paragraphs)), pictures)


def _svg(example: Example, theme: str) -> str:
    env = example.env
    state = env.init() if example.text is None else env.from_string(example.text)
    return render.svg(env, state, moves_of=example.moves_of, theme=theme, width=WIDTH, seat=0, caption=False).svg
