"""The picture of an annotated game: values and blunders above, the agent's opinion below, the database behind them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from train.analyse.annotation import Turn, first_unknown
from train.analyse.recorded_game import RecordedGame
from train.plot import COLOURS, style_of

LARGEST_MEN = 5.0  # the values axis shows at most as much, which is also the value of a decided game
MAX_NAMED = 12  # blunders with their move beside them


def draw(game: RecordedGame, turns: Sequence[Turn], agent: str | None = None) -> Figure:
    """Returns the picture of a game: panels with the values of alpha-beta, and the agent's probabilities and values.

    Args:
      turns: from `train.analyse.annotation.annotate`; a panel without numbers is left out.
      agent: the text of the agent, for the label of its panels.
    """
    first = turns[0]
    panels: list[tuple[Any, float]] = [(_draw_values, 3.0)] if first.lost is not None else []
    panels += [(_draw_probabilities, 1.8)] if first.probability is not None else []
    panels += [(_draw_agent_values, 1.4)] if first.agent_value is not None else []
    heights = [height for _, height in panels] or [1.0]
    figure = Figure(figsize=(9, 1.2 + sum(heights)), layout="constrained")
    axes_of: list[Any] = [*figure.subplots(len(heights), 1, squeeze=False, sharex=True, height_ratios=heights)[:, 0]]
    unknown = first_unknown(turns)
    end = len(turns) if unknown is None else unknown.number - 1
    for axes in axes_of:
        axes.grid(alpha=0.3)
        if first.played is not None and end:
            axes.axvspan(0.5, end + 0.5, color="0.5", alpha=0.15, linewidth=0, label="in the database")
    for axes, (draw_panel, _) in zip(axes_of, panels, strict=False):
        draw_panel(axes, game, turns)
    if agent is not None:
        axes_of[first.lost is not None].set_title(agent, fontsize="small", loc="left")
    axes_of[-1].set(xlabel="turn", xlim=(0.5, len(turns) + 0.5))
    handles: dict[str, Any] = {}
    for axes in axes_of:
        handles |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles), fontsize="small")
    figure.suptitle(f"{game.title}, {game.result}")
    return figure


def _draw_values(axes: Any, game: RecordedGame, turns: Sequence[Turn]) -> None:
    """Draws the value after every turn in men for seat 0, and marks the blunders."""
    values = np.clip([turn.after for turn in turns if turn.after is not None], -LARGEST_MEN, LARGEST_MEN)
    axes.axhline(0, color="0.4", linewidth=0.8)
    axes.plot([turn.number for turn in turns], values, "o-", color=COLOURS[0], linewidth=1.5, markersize=3)
    blunders = sorted((turn for turn in turns if turn.blunder), key=lambda turn: -(turn.lost or 0))
    for turn in blunders:
        label = "blunder" if turn is blunders[0] else None
        axes.plot(turn.number, values[turn.number - 1], "X", color=COLOURS[1], markersize=9, label=label)
    for turn in blunders[:MAX_NAMED]:
        place = {"ha": "right", "va": "bottom" if turn.seat == 1 else "top"}  # a blunder of seat 1 raises the value
        axes.text(turn.number - 0.5, values[turn.number - 1], turn.move, fontsize="small", **place)
    low, high = min(-0.5, *values), max(0.5, *values)
    margin = 0.15 * (high - low)
    axes.set(ylabel=f"men, + for {game.seat_name(0)}", ylim=(low - margin, high + margin))


def _draw_probabilities(axes: Any, game: RecordedGame, turns: Sequence[Turn]) -> None:
    """Draws the probability of every move that was played, by seat."""
    for seat in range(game.env.num_players):
        own = [turn for turn in turns if turn.seat == seat]
        style = style_of(2 + seat) | {"linestyle": "none", "label": f"move of {game.seat_name(seat)}"}
        axes.plot([turn.number for turn in own], [turn.probability for turn in own], **style)
    axes.set(ylabel="probability", ylim=(-0.06, 1.06))


def _draw_agent_values(axes: Any, game: RecordedGame, turns: Sequence[Turn]) -> None:
    """Draws the return of seat 0 that the agent expects before every turn."""
    values = [turn.agent_value for turn in turns if turn.agent_value is not None]
    ends = *game.env.return_range, *values  # a network's values can lie beyond the returns
    axes.axhline(0, color="0.4", linewidth=0.8)
    axes.plot([turn.number for turn in turns], [turn.agent_value for turn in turns], color=COLOURS[0], linewidth=1.5)
    axes.set(ylabel=f"return of {game.seat_name(0)}", ylim=(1.1 * min(ends), 1.1 * max(ends)))
