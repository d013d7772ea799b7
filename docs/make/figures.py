"""Draws figures of pages from stored results: `python -m docs.make.figures`."""

import json
import re
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from examples.papers.solution_strength import self_play
from examples.papers.solution_strength.mistakes import mistakes_of
from jaxgames import baselines
from train.baselines import tables as of_baselines
from train.baselines.entries import RESULTS
from train.ladder import draw_rating
from train.plot import new_picture, write

PICTURES = RESULTS.parent / "pictures" / "plots"
AGENTS = {  # of the blunders, by their names in the table
    "runs/imitation(temperature=0)": "our network",
    "runs/larson_text_whole(temperature=0)": "the network of the study's text",
    "baseline": "baseline",
    "baseline(simulations=64)": "baseline, 64 simulations",
}
MISTAKEN = {  # agents of the mistakes that the picture names shorter
    "runs/diamond_ppo@62": "PPO",
    "runs/baselines/diamond_4_3_0@110": "AlphaZero, network alone",
    "runs/baselines/diamond_4_3_0@110(simulations=64)": "AlphaZero, 64 simulations",
}
LADDERS = {  # cards of baseline agents, or files of docs/results
    "minichess": "minichess",
    "checkers": "checkers",
    "Dots and Boxes, 5 \N{MULTIPLICATION SIGN} 5": "dots_and_boxes",
    "Chinese Checkers, diamond 7 \N{MULTIPLICATION SIGN} 7": "chinese_checkers_diamond",
    "Chinese Checkers, star N = 2": "ladder_chinese_checkers_2",
    "Chinese Checkers, star N = 4": "ladder_chinese_checkers_4",
    "solved: diamond 4/3": "ladder_diamond_solved",
    "solved: 3 \N{MULTIPLICATION SIGN} 3 boxes": "ladder_boxes_solved",
}


def main() -> None:
    write(ladders(), PICTURES / "ladders.svg")
    write(policy_improvement(), PICTURES / "alpha_mini_policy_improvement.svg")
    write(accuracy(), PICTURES / "checkers_imitation_accuracy.svg")
    write(blunders(), PICTURES / "checkers_imitation_blunders.svg")
    games = stored("solution_strength_self_play", "result")["self_play"]
    write(self_play.draw(games), PICTURES / "solution_strength_self_play.svg")
    write(mistakes_of(judged_agents()), PICTURES / "mistakes.svg")


def ladders() -> Figure:
    """The ratings of the agents of each game, with 95 % intervals; an arrow where the games bound no end."""
    picture, panels = new_picture(11, 11, 4, 2)
    for axes, (title, name) in zip(panels, LADDERS.items(), strict=True):
        is_file = name.startswith("ladder_")
        ratings = of_baselines.ratings_of(stored(name, "rows")) if is_file else baselines.card(name).ladder
        for place, rating in enumerate(reversed(ratings)):
            draw_rating(axes, {"elo": rating.elo, "elo_interval": rating.interval}, place, horizontal=True)
        names = [without_path(rating.agent) for rating in reversed(ratings)]
        axes.set(title=title, yticks=range(len(names)), yticklabels=names)
        axes.set_xlim(-60, 1900)
    for axes in panels[-2:]:
        axes.set(xlabel="Elo (random has 0)")
    return picture


def judged_agents() -> list[dict[str, Any]]:
    """Returns the rows of the mistakes, with the names of the agents that the picture shows."""
    rows = stored("solution_strength_mistakes", "result")["rows"]
    return [row | {"agent": MISTAKEN.get(row["agent"], row["agent"])} for row in rows]


def without_path(agent: str) -> str:
    """Returns the text of an agent without modules and folders, such as `race` for `a.module:race(runs/3.npz)`."""
    text = of_baselines.without_module(agent)
    if text.startswith("race"):
        return "race"
    return re.sub(r"runs/baselines/\w+@\d+", "self-play", text).replace("(runs/baselines/", "(").replace("runs/", "")


def policy_improvement() -> Figure:
    """Figure 3 of Sun and Tan: White's win rate after each step, with 95 % intervals or ranges."""
    picture, (axes,) = new_picture(7, 3.2)
    for name, label in (("", "our settings, five seeds"), ("_narrow", "1/16 of the study's width, three seeds")):
        rows = table(f"alpha_mini_policy_improvement{name}")[1:]  # without the untrained step
        steps, rates = [int(row["step"]) for row in rows], [numbers(row["win rate, last"]) for row in rows]
        line(axes, steps, rates, label)
    axes.axhline(0.97, color="grey", linestyle="dotted", label="the study's win rate")
    axes.axvline(8, color="grey", linestyle="dashed", label="the study's best step")
    axes.set(xlabel="step of policy improvement", ylabel="win rate of White")
    picture.legend(loc="outside upper center", ncols=2)
    return picture


def accuracy() -> Figure:
    """The top-1 accuracy of Larson's two networks by epoch."""
    picture, (axes,) = new_picture(7, 3.2)
    code, text = (
        stored("checkers_imitation_larson", "results")[0],
        stored("checkers_imitation_larson_text", "results")[0],
    )
    for colour, label, rows in (
        ("C0", "the network of its code", code["epochs"]),
        ("C1", "that of its text", text["rows"]),
    ):
        for split, style in (("train", "solid"), ("validation", "dashed")):
            epochs, rates = [row["epoch"] for row in rows], [row[f"top_1_{split}"] for row in rows]
            axes.plot(epochs, rates, color=colour, linestyle=style, label=f"{label}, {split}")
    axes.axhline(0.819, color="grey", linestyle="dotted", label="the study")
    axes.set(xlabel="epoch", ylabel="top-1", xticks=range(2, 21, 2))
    picture.legend(loc="outside upper center", ncols=3)
    return picture


def blunders() -> Figure:
    """Shares of blunders on even boards by the agent's turn and by the pieces on the board, with 95 % intervals."""
    picture, panels = new_picture(9, 3.2, 1, 2, sharey=True)
    for axes, number, title in zip(panels, (1, 2), ("turn of the agent", "pieces on the board"), strict=True):
        for row in table("checkers_imitation_blunders", number):
            name = row.pop("agent").strip("`")
            if name in AGENTS:
                stages = [re.sub(r" pieces|turn ", "", stage) for stage in row]
                line(axes, stages, [numbers(cell) for cell in row.values()], AGENTS[name])
        axes.set(xlabel=title)
    panels[0].set(ylabel="blunders on even boards")
    picture.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return picture


def line(axes: Axes, places: Sequence[Any], rates: Sequence[tuple[float, float, float]], label: str) -> None:
    """Draws rates with the bands of their intervals."""
    middle, low, high = zip(*rates, strict=True)
    axes.plot(places, middle, label=label)
    axes.fill_between(places, low, high, alpha=0.2)


def stored(name: str, key: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))[key]


def table(name: str, number: int = 0) -> list[dict[str, str]]:
    """Returns the rows of a stored table, by the names of its columns."""
    found = stored(name, "tables")[number]
    return [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]]


def numbers(cell: str) -> tuple[float, float, float]:
    """Returns a rate and its interval, from a cell such as `0.5 (0.4-0.6)` or `0.5 (0.4 to 0.6)`."""
    middle, low, high = re.findall(r"\d+\.\d+", cell)
    return float(middle), float(low), float(high)


if __name__ == "__main__":
    main()
