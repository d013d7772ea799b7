"""Pictures of matrix games of two actions: fields with trajectories, and basins."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from train import plot
from train.matrix.games import MatrixGame, Point, nash, pareto
from train.matrix.replicator import CORNERS, NO_CORNER, Dynamics, Floats, basins, field, inner_rest_point

START: dict[str, Any] = {"marker": "o", "linestyle": "", "markersize": 6, "zorder": 5}
END: dict[str, Any] = {"marker": "s", "linestyle": "", "markersize": 9, "zorder": 6, "clip_on": False}
EQUILIBRIUM: dict[str, Any] = END | {"marker": "D", "color": "black", "markersize": 6, "markeredgecolor": "white"}
OPTIMUM: dict[str, Any] = END | {
    "marker": "o",
    "fillstyle": "none",
    "color": "crimson",
    "markersize": 16,
    "markeredgewidth": 1.8,
}
SADDLE: dict[str, Any] = {"marker": "X", "linestyle": "", "markersize": 10, "markeredgecolor": "black", "zorder": 6}
PATHS = [plot.COLOURS[index] for index in (1, 2, 3, 5)]  # colours of trajectories, not of arrows
ARROWS = 13  # of a direction field, along each side
BASIN_COLOURS = ("#bcd9f2", "#ffa90e", "#9c9ca1", "#9c9ca1", "#3f90da")  # of NO_CORNER, then of CORNERS


def draw_fields(games: Sequence[MatrixGame], paths: Mapping[tuple[str, str], Floats], dynamics: Dynamics) -> Figure:
    """Returns a row of panels per learner and a column per game: the direction field, with learned trajectories.

    A trajectory of `paths`, float[runs, T, 2, 2], has the policies of both players over time.
    """
    learners = list(dict.fromkeys(learner for learner, _ in paths))
    figure = Figure(figsize=(3.4 * len(games) + 0.8, 3.7 * len(learners) + 0.4), layout="constrained")
    panels: Any = figure.subplots(len(learners), len(games), squeeze=False)
    arrows: Any = None
    for row, learner in zip(panels, learners, strict=True):
        for axes, game in zip(row, games, strict=True):
            arrows = _draw_field(axes, game, dynamics)
            for path, colour in zip(paths[learner, game.name][..., 0], PATHS, strict=False):
                axes.plot(*path.T, color=colour, linewidth=2, zorder=4)
                axes.plot(*path[0], color=colour, markeredgecolor="white", **START)
                axes.plot(*path[-1], color=colour, markeredgecolor="white", **END)
            axes.set_title(f"{game.name.replace('_', ' ')}\n{learner}", fontsize="medium")
    figure.colorbar(arrows, ax=panels, location="right", shrink=0.6, label="speed / largest speed in the panel")
    handles = [
        Line2D([], [], color="grey", label="start of a run", **START),
        Line2D([], [], color="grey", label="its end", **END),
        Line2D([], [], color="white", label="saddle of the field", **SADDLE),
        Line2D([], [], label="Nash equilibrium", **EQUILIBRIUM),
        Line2D([], [], label="Pareto optimum", **OPTIMUM),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=5)
    return figure


def _draw_field(axes: Any, game: MatrixGame, dynamics: Dynamics) -> Any:
    """Draws the field, its saddle, the equilibria and the optima of a game. Returns the arrows."""
    vectors = field(game, dynamics, ARROWS)
    speed = np.hypot(vectors.dx, vectors.dy)
    length = np.maximum(speed, 1e-12)
    x, y = np.meshgrid(vectors.x, vectors.x, indexing="ij")
    arrows = axes.quiver(
        x,
        y,
        vectors.dx / length,
        vectors.dy / length,
        speed / length.max(),
        cmap="viridis_r",
        clim=(0, 1),
        scale=1.35 * ARROWS,
        width=0.005,
        pivot="mid",
        alpha=0.8,
    )
    if saddle := inner_rest_point(game, dynamics.kappa):
        axes.plot(*saddle, color="white", **SADDLE)
    axes.plot(*_first_probabilities(nash(game)).T, **EQUILIBRIUM)
    axes.plot(*_first_probabilities(pareto(game)).T, **OPTIMUM)
    _square(axes, game)
    return arrows


def _first_probabilities(points: Sequence[Point]) -> Floats:
    """Returns float64[points, 2], the probabilities of the first action of both players."""
    return np.array([(row[0], column[0]) for row, column in points]).reshape(-1, 2)


def _square(axes: Any, game: MatrixGame) -> None:
    row, column = (actions[0] for actions in game.actions)
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel=f"P(row plays {row})", ylabel=f"P(column plays {column})")


def draw_basins(game: MatrixGame, kappas: Sequence[int], temperatures: Sequence[float], grid: int) -> Figure:
    """Returns a map of grid x grid start policies per leniency and temperature: the corner at which each one ends."""
    figure = Figure(figsize=(3.1 * len(kappas), 3.3 * len(temperatures) + 0.5), layout="constrained")
    panels: Any = figure.subplots(len(temperatures), len(kappas), squeeze=False)
    for row, tau in zip(panels, temperatures, strict=True):
        for axes, kappa in zip(row, kappas, strict=True):
            regions = basins(game, kappa, tau, grid)
            limits: dict[str, Any] = {"vmin": NO_CORNER, "vmax": len(CORNERS), "extent": (0, 1, 0, 1)}
            axes.imshow(regions.labels.T, ListedColormap(BASIN_COLOURS), origin="lower", **limits)
            _square(axes, game)
            saddle = inner_rest_point(game, kappa)
            if saddle and tau == 0:
                axes.axvline(saddle[0], color="black", linewidth=0.8, linestyle=":")
                axes.axhline(saddle[1], color="black", linewidth=0.8, linestyle=":")
                axes.plot(*saddle, color="white", **SADDLE)
            axes.set_title(f"κ = {kappa}, τ = {tau:g}: {regions.share((1, 1)):.1%} to (1, 1)", fontsize="medium")
            axes.label_outer()
    ends = {(1, 1): "ends at (1, 1)", (0, 0): "ends at (0, 0)", None: "ends at a logit equilibrium between them"}
    handles = [
        Line2D([], [], marker="s", linestyle="", markersize=10, label=label, color=colour_of_end(corner))
        for corner, label in ends.items()
    ]
    handles.append(Line2D([], [], color="white", label="saddle", **SADDLE))
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    return figure


def colour_of_end(corner: tuple[int, int] | None) -> str:
    """Returns the colour of the starts that end at a corner; None for all others."""
    return BASIN_COLOURS[1 + (CORNERS.index(corner) if corner else NO_CORNER)]
