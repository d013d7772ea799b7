"""Functions that draw boards: `svg` for still pictures, `animate` for a game in motion; names and colours of seats."""

import dataclasses
import functools
import importlib.util
import math
import operator
from collections.abc import Iterator, Sequence
from typing import Any
from xml.etree.ElementTree import Element

import jax
import numpy as np

from jaxgames._checks import ParameterError
from jaxgames.env import Env
from jaxgames.registry import record_of
from jaxgames.render import animation
from jaxgames.render.drawing import CARD, PADDING, Drawing, Scene, document, still
from jaxgames.render.moves import marks
from jaxgames.render.picture import Picture
from jaxgames.render.slides import together
from jaxgames.render.theme import THEMES, variable_theme
from jaxgames.wrappers import AutoResetState, board_before_reset


def svg(
    env: Env[Any],
    state: Any,
    *,
    last: str | Sequence[str | None] | None = None,
    moves_of: int | str | None = None,
    columns: int | None = None,
    theme: str = "light",
    width: float = CARD,
    seat: int | None = None,
    goal_of: int | None = None,
    caption: bool = True,
) -> Picture:
    """Returns a picture of one board, or of a batch as a grid of boards.

    Args:
      env: a game, or `auto_reset` of one.
      state: a state of it, or a batch: a list, or states stacked along one leading axis.
      last: the last move, which is marked, as `env.action_to_string` writes it. The plies of one turn are
        separated by spaces: `"3=>16 16=>18"`. For a batch, one text or None per board.
      moves_of: the cell of one of the mover's pieces, whose legal moves are shown, as the texts of moves name it: a
        number, or a square such as "b2". Arrows lead to the shaded cells that it can reach; those of a game of whole
        moves follow every shortest chain of hops. For a single board.
      columns: number of columns of the grid. None: about the number of rows.
      theme: "light" or "dark".
      width: width of one board, in pixels.
      seat: the seat from whose side the board is seen: its home is at the bottom, and its goal is the one that is
        outlined. None: the board as the game prints it, with the mover's goal.
      goal_of: the seat whose goal is outlined instead, in a game with goals.
      caption: whether the line below a board is drawn.
    """
    game, drawing = drawing_of(env, theme, width, seat)
    if goal_of is not None and not 0 <= goal_of < env.num_players:
        raise ParameterError(f"goal_of must be a seat from 0 to {env.num_players - 1}, not {goal_of}")
    if not caption:
        drawing = dataclasses.replace(drawing, caption_height=PADDING)
    boards = _boards(state)
    single = not isinstance(state, (list, tuple)) and np.ndim(state.current_player) == 0
    texts: Any = [last] if single else [None] * len(boards) if last is None else last
    if len(texts) != len(boards) or (last is not None and isinstance(last, str) != single):
        expected = "one text" if single else f"{len(boards)} texts, one per board"
        raise ParameterError(f"last must be {expected}, not {last!r}")
    if moves_of is not None and not single:
        raise ParameterError("moves_of is for a single board, not for a batch: leave it out")
    if columns is None:
        columns = math.ceil(math.sqrt(len(boards)))
    if columns < 1:
        raise ParameterError(f"columns must be at least 1, not {columns}")

    outlined = seat if goal_of is None else goal_of
    cards: list[Element] = []
    for index, (board, text) in enumerate(zip(boards, texts, strict=True)):
        turn = (text or "").split()
        inner = board.board if isinstance(board, AutoResetState) else board
        scene = drawing.scene(inner, turn)
        if outlined is not None:
            scene = _with_goal_of(drawing, scene, outlined)
        if moves_of is not None:
            scene = dataclasses.replace(scene, marks={**scene.marks, **marks(game, drawing, inner, moves_of)})
        title = scene.caption.text if single else f"{index}: {scene.caption.text}"
        cards.append(still(drawing, _captioned(scene, title, turn[-1] if turn else "")))
    picture = document(drawing, cards, min(columns, len(cards)), width, label=str(game))
    return Picture(picture, lambda: iter([picture]), [1.0], drawing.theme.paper)


def animate(
    env: Env[Any],
    states: Any,
    actions: Any = None,
    *,
    theme: str = "light",
    seconds_per_step: float = 0.6,
    width: float = CARD,
) -> Picture:
    """Returns a picture of one game in motion, one frame per state, in an endless loop.

    Args:
      env: a game, or `auto_reset` of one.
      states: the states of one game, as a list or stacked along a leading time axis. States after the first
        finished one are not drawn.
      actions: int[T] or int[T - 1] for T states; `actions[i]` was played in `states[i]`. An action in the last state
        is ignored. With actions, every frame marks the moves of the turn that led to it.
      theme: "light" or "dark".
      seconds_per_step: the seconds of one frame; the last frame has two seconds more.
      width: width of the board, in pixels.
    """
    game, drawing = drawing_of(env, theme, width)
    if not seconds_per_step > 0:
        raise ParameterError(f"seconds_per_step must be positive, not {seconds_per_step}")
    boards = _boards(states)
    played: list[int] | None = None if actions is None else np.ravel(jax.device_get(actions)).tolist()
    if played is not None and len(played) not in (len(boards), len(boards) - 1):
        raise ParameterError(f"{len(boards)} states need {len(boards) - 1} or {len(boards)} actions, not {len(played)}")

    scenes = _scenes(game, drawing, _one_game(boards), played)
    label = f"{game}: a game of {len(scenes) - 1} steps"

    def frames() -> Iterator[str]:
        return (document(drawing, [still(drawing, scene)], 1, width, label) for scene in scenes)

    moving = animation.animated(drawing, scenes, seconds_per_step)
    seconds = animation.durations(len(scenes), seconds_per_step)
    return Picture(document(drawing, [moving], 1, width, label), frames, seconds, drawing.theme.paper)


def slides(env: Env[Any], states: Sequence[Any], actions: Sequence[int], ending: str = "") -> tuple[str, list[str]]:
    """Returns one SVG with all positions of a game in one place, and the words below each of them.

    A part is visible in the positions that its `data-at` lists; see `jaxgames.render.slides`. All colours are
    variables, which `theme.css_variables` declares. `ending` is the caption of the last position, if people ended the
    game there.
    """
    game, drawing = drawing_of(env)
    drawing = record_of(game).part("drawing")(game, variable_theme())
    scenes = _scenes(game, drawing, _boards(list(states)), list(actions))
    if ending:
        ended = dataclasses.replace(scenes[-1].caption, look=None, text=ending, strong=True)
        scenes[-1] = dataclasses.replace(scenes[-1], caption=ended)
    picture = document(drawing, [together(drawing, scenes)], 1, CARD, f"{game}: a game of {len(actions)} steps")
    return picture, [scene.caption.text for scene in scenes]


def has_pictures(env: Env[Any]) -> bool:
    """Returns whether `svg`, `animate` and `anchors` know the game."""
    return record_of(env).drawing is not None


def has_pixels(env: Env[Any]) -> bool:
    """Returns whether `Picture.pixels` works for a game: it has pictures, and the extra `render` is installed."""
    return has_pictures(env) and all(importlib.util.find_spec(package) for package in ("resvg_py", "PIL"))


def drawing_of(
    env: Env[Any], theme: str = "light", width: float = CARD, seat: int | None = None
) -> tuple[Env[Any], Drawing]:
    """Returns the game without its wrapper, and its drawing, seen from a seat."""
    if not has_pictures(env):
        raise ParameterError(f"{env.id!r} has no pictures: add them with jaxgames.register(Game(..., drawing=...))")
    if theme not in THEMES:
        raise ParameterError(f"theme must be one of {', '.join(map(repr, THEMES))}, not {theme!r}")
    if not width > 0:
        raise ParameterError(f"width must be a positive number of pixels, not {width}")
    if seat is not None and not 0 <= seat < env.num_players:
        raise ParameterError(f"seat must be from 0 to {env.num_players - 1}, not {seat}")
    game = env.unwrapped
    return game, _drawing(game, theme, seat)


@functools.lru_cache(32)
def _drawing(game: Env[Any], theme: str, seat: int | None) -> Drawing:
    drawing: Drawing = record_of(game).part("drawing")(game, THEMES[theme])
    return drawing if seat is None else drawing.seen_from(seat)


def seat_names(env: Env[Any]) -> list[str]:
    """Returns the names of the seats as the game's drawing has them, or else "Player 1", "Player 2", ..."""
    return [name for name, _ in _seats(env, "light")]


def seat_colours(env: Env[Any], theme: str = "light") -> list[str]:
    """Returns the colour of each seat's pieces, as `#rrggbb`; `theme` is "light" or "dark"."""
    return [colour for _, colour in _seats(env, theme)]


def _seats(env: Env[Any], theme: str) -> list[tuple[str, str]]:
    drawn = list(drawing_of(env, theme)[1].seats) if has_pictures(env) else []
    colours = THEMES[theme].seats
    return drawn or [(f"Player {seat + 1}", colours[seat % len(colours)]) for seat in range(env.num_players)]


def _boards(states: Any) -> list[Any]:
    """Returns the single boards of a state, a batch or a list of states, on the host."""
    host: Any = jax.device_get(states)
    boards: list[Any]
    if isinstance(host, (list, tuple)):
        boards = list(host)
    elif np.ndim(host.current_player) == 0:
        boards = [host]
    else:
        boards = [jax.tree.map(operator.itemgetter(i), host) for i in range(len(host.current_player))]
    if not boards or any(np.ndim(board.current_player) != 0 for board in boards):
        raise ParameterError(
            "expected a state, a list of states or states stacked along one axis, and at least one of them"
        )
    return boards


def _with_goal_of(drawing: Drawing, scene: Scene, seat: int) -> Scene:
    """Returns the scene with the goal of a seat in place of the mover's; the winner's goal stays at the end."""
    if not drawing.goals or scene.caption.strong:
        return scene
    marks = {name: path for name, path in scene.marks.items() if not name.startswith("goal")}
    return dataclasses.replace(scene, marks={**marks, f"goal{seat}": drawing.goals[seat]})


def _one_game(boards: list[Any]) -> list[Any]:
    """Returns the boards up to the first finished one, which a state of `auto_reset` may keep beside the new one."""
    ends = [step for step, board in enumerate(boards) if board.terminated or board.truncated]
    if not isinstance(boards[0], AutoResetState):
        return boards[: ends[0] + 1] if ends else boards
    end = next((step for step in ends if step > 0), None)  # the first state may have ended the game before this one
    return [board.board for board in boards[:end]] + ([] if end is None else [board_before_reset(boards[end])])


def _captioned(scene: Scene, text: str, note: str) -> Scene:
    return dataclasses.replace(scene, caption=dataclasses.replace(scene.caption, text=text, note=note))


def _scenes(game: Env[Any], drawing: Drawing, boards: Sequence[Any], played: Sequence[int] | None) -> list[Scene]:
    """Returns the scenes of a game, each with the moves of the turn that led to it if the actions are known."""
    scenes: list[Scene] = []
    turn: list[str] = []
    for step, board in enumerate(boards):
        note = ""
        if played is not None and step > 0:
            if step > 1 and boards[step - 1].current_player != boards[step - 2].current_player:
                turn = []
            try:
                turn = [*turn, game.action_to_string(boards[step - 1], played[step - 1])]
                note = f"{step}. {turn[-1]}"
            except ValueError:  # an illegal action that names no move
                note = f"{step}. action {played[step - 1]}"
        scene = drawing.scene(board, turn)
        scenes.append(_captioned(scene, scene.caption.text, note))
    return scenes
