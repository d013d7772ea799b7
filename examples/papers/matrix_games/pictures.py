"""Pictures of matrix games: fields with trajectories, basins, the simplex of three actions, and bars."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from PIL import Image

from train import plot
from train.matrix.games import MatrixGame, Point, logit_equilibrium, nash, pareto
from train.matrix.replicator import CORNERS, NO_CORNER, Dynamics, Floats, basins, field, inner_rest_point, integrate

START: dict[str, Any] = {"marker": "o", "linestyle": "", "markersize": 6, "zorder": 5}
END: dict[str, Any] = {"marker": "s", "linestyle": "", "markersize": 9, "zorder": 6, "clip_on": False}
EQUILIBRIUM: dict[str, Any] = {
    "marker": "D",
    "linestyle": "",
    "color": "black",
    "markersize": 6,
    "markeredgecolor": "white",
    "zorder": 7,
    "clip_on": False,
}
OPTIMUM: dict[str, Any] = {
    "marker": "o",
    "linestyle": "",
    "fillstyle": "none",
    "color": "crimson",
    "markersize": 16,
    "markeredgewidth": 1.8,
    "zorder": 8,
    "clip_on": False,
}
SADDLE: dict[str, Any] = {"marker": "X", "linestyle": "", "markersize": 10, "markeredgecolor": "black", "zorder": 6}
PATHS = [plot.COLOURS[index] for index in (1, 2, 3, 5)]  # colours of trajectories, not of arrows
ARROWS = 13  # of a direction field, along each side
COLOURS_IN_FILE = 128  # of a PNG, which is a third as large as with all colours
BASIN_COLOURS = ("#bcd9f2", "#ffa90e", "#9c9ca1", "#9c9ca1", "#3f90da")  # of NO_CORNER, then of CORNERS
CORNERS_OF_SIMPLEX = np.array([[0, 0], [1, 0], [0.5, np.sqrt(0.75)]])  # of actions 1, 2 and 3


def save(figure: Figure, path: Path) -> Path:
    """Writes a picture as a PNG with few colours. Returns the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = io.BytesIO()
    figure.savefig(whole, dpi=110)
    Image.open(whole).convert("RGB").quantize(COLOURS_IN_FILE).save(path, optimize=True)
    return path


# -- two actions -----------------------------------------------------------------------------------------------------


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
    length = np.maximum(vectors.speed, 1e-12)
    x, y = np.meshgrid(vectors.x, vectors.y, indexing="ij")
    arrows = axes.quiver(
        x,
        y,
        vectors.dx / length,
        vectors.dy / length,
        vectors.speed / length.max(),
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
            limits = {"vmin": NO_CORNER, "vmax": len(CORNERS)}
            axes.pcolormesh(regions.x, regions.y, regions.labels.T, cmap=ListedColormap(BASIN_COLOURS), **limits)
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


# -- three actions ---------------------------------------------------------------------------------------------------


def draw_simplex(game: MatrixGame, learned: Mapping[str, Floats], wrong: Floats) -> Figure:
    """Returns two triangles of the row player's policies: trajectories of the dynamics, and trajectories of learners.

    Both have the Nash equilibrium, the policy that the study printed for it (`wrong`), and the path of the logit
    equilibria from high to low temperatures. A trajectory of `learned` is float[T, 3].
    """
    figure = Figure(figsize=(10, 4.8), layout="constrained")
    panels: Any = figure.subplots(1, 2)
    start = np.array([0.4, 0.35, 0.25])  # of both players: their policies stay equal
    dynamics = {"replicator": (Dynamics(), 120), "Boltzmann, τ = 0.05": (Dynamics(tau=0.05), 12)}
    paths = {name: integrate(game, of, (start, start), time, 1001).row for name, (of, time) in dynamics.items()}
    for axes, title, lines in zip(panels, ("dynamics", "learned"), (paths, learned), strict=True):
        _triangle(axes, game)
        for colour, (name, path) in zip(PATHS, lines.items(), strict=False):
            axes.plot(*_place(path), color=colour, linewidth=1.4, alpha=0.9, label=name)
            axes.plot(*_place(path[:1]), color=colour, markeredgecolor="white", **START)
            axes.plot(*_place(path[-1:]), color=colour, markeredgecolor="white", **END)
        _logit_path(axes, game)
        axes.plot(*_place(nash(game)[0][0][None]), label="Nash equilibrium", **EQUILIBRIUM)
        axes.plot(*_place(wrong[None]), color="crimson", label="the point of the study", **SADDLE)
        axes.set_title(f"{game.name.replace('_', ' ')}, {title}")
        axes.legend(loc="upper left", fontsize="small", framealpha=0.9)
    return figure


def _place(policies: Floats) -> Floats:
    """Returns float64[2, points], the places of policies float64[points, 3] in the triangle."""
    return (policies @ CORNERS_OF_SIMPLEX).T


def _triangle(axes: Any, game: MatrixGame) -> None:
    """Draws the triangle with the names of the actions at its corners."""
    axes.plot(*_place(np.eye(3)[[0, 1, 2, 0]]), color="black", linewidth=1)
    for (x, y), action in zip(CORNERS_OF_SIMPLEX, game.actions[0], strict=True):
        axes.text(x + 0.07 * (x - 0.5), y + (0.03 if y else -0.06), action, ha="center", fontsize="large")
    axes.set(aspect="equal", xlim=(-0.1, 1.1), ylim=(-0.08, 0.95))
    axes.set_axis_off()


def _logit_path(axes: Any, game: MatrixGame) -> None:
    """Draws the row player's policies at the logit equilibria, and some of their temperatures."""
    path = np.array([logit_equilibrium(game, float(tau))[0] for tau in np.geomspace(10, 0.004, 60)])
    axes.plot(*_place(path), color="black", linewidth=1.4, linestyle="--", label="logit equilibria", zorder=4)
    for tau, offset in {0.5: (-36, -12), 0.1: (-14, -16), 0.02: (8, -3)}.items():
        (x,), (y,) = _place(logit_equilibrium(game, tau)[0][None])
        axes.plot(x, y, color="black", marker=".", zorder=5)
        axes.annotate(f"τ = {tau:g}", (x, y), offset, textcoords="offset points", fontsize="small", zorder=10)


# -- shares ----------------------------------------------------------------------------------------------------------


def draw_shares(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Returns a panel per game: the shares of runs that end at each point, a group of bars per learner.

    Rows have "game", "learner", "point", "share" and "interval". A point has the same colour in all panels.
    """
    games, every_point = (list(dict.fromkeys(row[name] for row in rows)) for name in ("game", "point"))
    figure = Figure(figsize=(9.6, 2.2 * len(games) + 0.4), layout="constrained")
    panels: Any = figure.subplots(len(games), 1, squeeze=False)[:, 0]
    for axes, game in zip(panels, games, strict=True):
        of_game = [row for row in rows if row["game"] == game]
        points = list(dict.fromkeys(row["point"] for row in of_game))
        learners = list(dict.fromkeys(row["learner"] for row in of_game))
        width = 0.8 / len(points)
        for index, point in enumerate(points):
            of_point = {row["learner"]: row for row in of_game if row["point"] == point}
            shares = np.array([of_point[learner]["share"] for learner in learners])
            ends = np.array([of_point[learner]["interval"] for learner in learners]).T
            places = np.arange(len(learners)) + (index - (len(points) - 1) / 2) * width
            axes.bar(places, shares, width, color=plot.COLOURS[every_point.index(point)], label=point)
            errors = np.abs(ends - shares)
            axes.errorbar(places, shares, errors, fmt="none", ecolor="black", elinewidth=1, capsize=2)
        axes.set_xticks(range(len(learners)), learners, fontsize="small")
        axes.set(ylim=(0, 1.05), ylabel="share of runs", title=game.replace("_", " "))
        axes.grid(axis="y", alpha=0.3)
        axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    return figure
