"""The picture of an annotated game: values and blunders above, the agent's opinion below, the database behind them."""

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from jaxgames.games.checkers import Checkers
from jaxgames.games.checkers.pdn import COLOURS as SEATS
from train.analyse.annotation import Turn, first_unknown
from train.analyse.recorded_game import RecordedGame
from train.plot import COLOURS

LARGEST_MEN = 5.0  # the values axis shows at most as much
MARKERS = "os^Dv*"  # of the seats
MAX_NAMED = 12  # blunders with their move beside them


def draw(game: RecordedGame, turns: Sequence[Turn], agent: str | None = None) -> Figure:
    """Returns the picture of a game: panels with the values of alpha-beta, and the agent's probabilities and values.

    Args:
      turns: from `train.analyse.annotation.annotate`; a panel without numbers is left out.
      agent: the text of the agent, for the label of its panels.
    """
    panels = {
        draw_panel: height
        for draw_panel, height, first in (
            (_draw_values, 3.0, turns[0].lost),
            (_draw_probabilities, 1.8, turns[0].probability),
            (_draw_agent_values, 1.4, turns[0].agent_value),
        )
        if first is not None
    }
    heights = [*panels.values()] or [1.0]
    figure = Figure(figsize=(9, 1.2 + sum(heights)), layout="constrained")
    axes_of: list[Any] = [*figure.subplots(len(heights), 1, squeeze=False, sharex=True, height_ratios=heights)[:, 0]]
    for axes in axes_of:
        _shade_database(axes, turns)
        axes.grid(alpha=0.3)
    for axes, draw_panel in zip(axes_of, panels, strict=False):
        draw_panel(axes, game, turns)
    if agent is not None:
        axes_of[1 if _draw_values in panels else 0].set_title(agent, fontsize="small", loc="left")
    axes_of[-1].set(xlabel="turn", xlim=(0.5, len(turns) + 0.5))
    handles: dict[str, Any] = {}
    for axes in axes_of:
        handles |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles), fontsize="small")
    figure.suptitle(f"{game.title}, {game.result}")
    return figure


def _shade_database(axes: Any, turns: Sequence[Turn]) -> None:
    """Shades the turns before the first one that is not in the database."""
    if turns[0].played is None:
        return
    unknown = first_unknown(turns)
    end = len(turns) if unknown is None else unknown.number - 1
    if end:
        axes.axvspan(0.5, end + 0.5, color="0.5", alpha=0.15, linewidth=0, label="in the database")


def _draw_values(axes: Any, game: RecordedGame, turns: Sequence[Turn]) -> None:
    """Draws the value after every turn in men for seat 0, and marks the blunders."""
    values = [_within(turn.after) for turn in turns]
    axes.axhline(0, color="0.4", linewidth=0.8)
    axes.plot([turn.number for turn in turns], values, "o-", color=COLOURS[0], linewidth=1.5, markersize=3)
    blunders = [turn for turn in turns if turn.blunder]
    if blunders:
        heights = [_within(turn.after) for turn in blunders]
        axes.plot([turn.number for turn in blunders], heights, "X", color=COLOURS[1], markersize=9, label="blunder")
    for turn in sorted(blunders, key=lambda turn: -(turn.lost or 0))[:MAX_NAMED]:
        above = turn.seat == 1  # a blunder of seat 1 raises the value of seat 0
        axes.annotate(
            turn.move,
            (turn.number, _within(turn.after)),
            xytext=(-5, 5 if above else -5),
            textcoords="offset points",
            ha="right",
            va="bottom" if above else "top",
            fontsize="small",
        )
    low, high = min(-0.5, *values), max(0.5, *values)
    margin = 0.15 * (high - low)
    axes.set(ylabel=f"men, + for {_name(game, 0)}", ylim=(low - margin, high + margin))


def _within(value: float | None) -> float:
    """Returns a value in men as it is drawn: at most LARGEST_MEN, which is also the value of a decided game."""
    assert value is not None
    return max(-LARGEST_MEN, min(LARGEST_MEN, value))


def _draw_probabilities(axes: Any, game: RecordedGame, turns: Sequence[Turn]) -> None:
    """Draws the probability of every move that was played, by seat."""
    for seat in range(game.env.num_players):
        own = [turn for turn in turns if turn.seat == seat]
        style: dict[str, Any] = {"marker": MARKERS[seat % len(MARKERS)], "color": COLOURS[2 + seat % 6]}
        if isinstance(game.env, Checkers):
            style = {"marker": "o", "color": "0.15", "markerfacecolor": ("0.15", "1")[seat]}
        places = [turn.number for turn in own], [turn.probability for turn in own]
        axes.plot(*places, linestyle="none", markersize=4.5, label=f"move of {_name(game, seat)}", **style)
    axes.set(ylabel="probability", ylim=(-0.06, 1.06))


def _draw_agent_values(axes: Any, game: RecordedGame, turns: Sequence[Turn]) -> None:
    """Draws the return of seat 0 that the agent expects before every turn."""
    values = [turn.agent_value for turn in turns if turn.agent_value is not None]
    lowest, highest = game.env.return_range
    low, high = min(lowest, *values), max(highest, *values)
    margin = 0.06 * (high - low)
    axes.axhline(0, color="0.4", linewidth=0.8)
    axes.plot([turn.number for turn in turns], values, color=COLOURS[0], linewidth=1.5)
    axes.set(ylabel=f"return of {_name(game, 0)}", ylim=(low - margin, high + margin))


def _name(game: RecordedGame, seat: int) -> str:
    return SEATS[seat] if isinstance(game.env, Checkers) else f"seat {seat}"
