"""Plays runs on boards of Dots and Boxes that they were and were not trained on, and prints a table of win rates.

    python -m examples.papers.dots_and_boxes.board_sizes runs/graph runs/resnet runs/resnet_3x3 \\
        --opponents random alphabeta
    python -m examples.papers.dots_and_boxes.board_sizes runs/graph --boards 5x5 --simulations 64 \\
        --opponents runs/resnet --games 100

A run plays the boards of its training, or all boards if the parameters of its network fit every board. Boards that a
run does not play are left out. The agents alternate
between the seats. Every two games begin with the same two random edges, so each agent plays an opening from both sides.
An agent wins with more than half of the boxes. Its margin is its boxes minus the opponent's boxes.

The games of two agents on a board are one line of `cells.jsonl` in the output folder. A command that is repeated does
not play them again, and several commands may write to one folder. The last line on standard output is JSON.
"""

import functools
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import jaxgames
from examples.papers._experiment import ExperimentFields, Report, command, new_picture
from examples.papers.dots_and_boxes.matches import board_of, deterministic, play
from jaxgames import Env, arena
from jaxgames._progress import Progress
from train import agents, plot
from train.driver import tables
from train.driver.commands import text_of_rate
from train.driver.loop import log
from train.driver.metrics import rounded

MEASURED = ("win_rate", "win_rate_interval", "draw_rate", "mean_reward", "mean_length")


@dataclass(frozen=True)
class Arguments(ExperimentFields):
    agents: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Runs with the reward boxes, such as runs/graph or runs/graph@40, or other agents, such as greedy."""
    simulations: tuple[int, ...] = (0, 64)
    """Simulations of the search of every run that names none in brackets; 0 plays with the network alone."""
    boards: tuple[str, ...] = ("3x3", "4x4", "5x5", "6x6", "7x7")
    """Rows and columns of boxes."""
    opponents: tuple[str, ...] = ("random", "alphabeta")
    """The opponents of every agent: agents of the library, or runs."""
    games: int = 400
    """Games of an agent against an opponent on a board."""
    output: Path = Path("runs/board_sizes")
    seed: int = 0


def report(arguments: Arguments) -> Report:
    """Plays the games that are not stored. All arguments are checked before any game."""
    players = [agent for text in arguments.agents for agent in agents_of(text, arguments.simulations)]
    opponents = [deterministic(text) for text in arguments.opponents]
    envs = {board: board_of(board) for board in arguments.boards}
    keys: list[dict[str, Any]] = [
        {"board": board, "agent": agent, "opponent": opponent, "games": arguments.games, "seed": arguments.seed}
        for opponent in opponents
        for agent in players
        for board, env in envs.items()
        if agent != opponent and plays(agent, env) and plays(opponent, env)
    ]
    rows: list[dict[str, Any]] = []
    with Progress(total=len(keys) * arguments.games, unit="games") as bar:
        for key in keys:
            bar.describe(f"{key['board']}: {key['agent']} - {key['opponent']}")
            rows.append(key | arguments.once(key, functools.partial(measure, envs[key["board"]], key, bar)))
            bar.update(arguments.games * len(rows) - bar.count)
    return Report({"cells": rows}, table(rows, arguments.boards), {"picture": draw(rows, arguments.boards)})


# -- agents and boards ---------------------------------------------------------------------------------------------


def agents_of(text: str, simulations: Sequence[int]) -> list[str]:
    """Returns the texts of a run's agents, one per number of simulations; of any other agent its text alone."""
    run = agents.parse(text)
    if run is None or "simulations" in run.parameters:
        return [deterministic(text)]
    return [
        deterministic(agents.text_of(run._replace(parameters=run.parameters | {"simulations": number})))
        for number in simulations
    ]


def plays(text: str, env: Env[Any]) -> bool:
    """Returns whether the agent that a text names plays the game."""
    run = agents.parse(text)
    return run is None or agents.plays(_learner_of(run.folder), env)


def was_trained_on(text: str, env: Env[Any]) -> bool | None:
    """Returns whether an agent was trained on a board; None for an agent that is not a run."""
    run = agents.parse(text)
    if run is None:
        return None
    learner = _learner_of(run.folder)
    others = getattr(learner.config, "other_envs", ())
    return env in [learner.env, *map(jaxgames.make, others)]


@functools.cache
def _learner_of(folder: Path) -> Any:
    return agents.open_run(folder).learner


# -- games ---------------------------------------------------------------------------------------------------------


def measure(env: Env[Any], key: Mapping[str, Any], bar: Progress) -> dict[str, Any]:
    """Returns the results of an agent against an opponent on a board, with the seconds that they took."""
    began = time.perf_counter()
    agent, opponent = key["agent"], key["opponent"]
    pair = agents.make(agent, env), agents.make(opponent, env)
    match = play(env, pair, key["games"], key["seed"], bar)
    results = rounded(arena.results(env, match.games, match.seats))
    trained = {"agent_trained": was_trained_on(agent, env), "opponent_trained": was_trained_on(opponent, env)}
    result = trained | {name: results[name] for name in MEASURED}
    result |= {"openings": match.num_openings(), "seconds": round(time.perf_counter() - began, 1)}
    log(f"{key['board']}: {agent} - {opponent}: {json.dumps(result)}")
    return result


# -- the table and the picture -------------------------------------------------------------------------------------


def table(rows: Sequence[Mapping[str, Any]], boards: Sequence[str]) -> str:
    """Returns the Markdown table: a row per agent and opponent, and for every board the win rate and the margin.

    Boards of the agent's training have a star. Boards that an agent does not play have a dash.
    """
    row_of = {(row["agent"], row["opponent"], row["board"]): row for row in rows}
    lines = [
        (f"`{agent}`", f"`{opponent}`", *(_entry(row_of.get((agent, opponent, board))) for board in boards))
        for agent, opponent in dict.fromkeys((row["agent"], row["opponent"]) for row in rows)
    ]
    return tables.markdown(("agent", "opponent", *boards), lines)


def _entry(row: Mapping[str, Any] | None) -> str:
    """Returns an entry such as "0.913 (0.881-0.936), +3.20 *"."""
    if row is None:
        return "-"
    star = " *" if row["agent_trained"] else ""
    return f"{text_of_rate(row['win_rate'], row['win_rate_interval'])}, {row['mean_reward']:+.2f}{star}"


def draw(rows: Sequence[Mapping[str, Any]], boards: Sequence[str]) -> Figure:
    """Returns the picture: the win rate by board with its interval, a panel per opponent, a line per agent.

    The marks of boards that the agent was trained on are filled.
    """
    opponents, players = (list(dict.fromkeys(row[name] for row in rows)) for name in ("opponent", "agent"))
    width, height = 4.2 * max(len(opponents), 2), 4 + 0.25 * len(players)
    figure, panels = new_picture(width, height, across=max(len(opponents), 1), sharey=True)
    panels[0].set_ylabel("win rate")
    for axes, opponent in zip(panels, opponents, strict=False):
        for number, agent in enumerate(players):
            of_line = [row for row in rows if (row["agent"], row["opponent"]) == (agent, opponent)]
            _draw_line(axes, of_line, boards, number)
        axes.set(title=f"against {_short(opponent)}", xlabel="board", xticks=range(len(boards)), xticklabels=boards)
        axes.set(xlim=(-0.5, len(boards) - 0.5), ylim=(-0.02, 1.02))
        axes.axhline(0.5, color="grey", linewidth=0.8)
    handles = [Line2D([], [], label=_short(agent), **plot.style_of(number)) for number, agent in enumerate(players)]
    title = "filled marks: boards that the agent was trained on"
    figure.legend(handles=handles, title=title, loc="outside lower center", **plot.SMALL)
    return figure


def _draw_line(axes: Any, rows: Sequence[Mapping[str, Any]], boards: Sequence[str], number: int) -> None:
    """Draws an agent's win rates against one opponent."""
    style, shift = plot.style_of(number), 0.05 * (number % 5 - 2)  # so that equal rates do not hide each other
    x = [boards.index(row["board"]) + shift for row in rows]
    axes.plot(x, [row["win_rate"] for row in rows], **style | {"marker": ""})
    for place, row in zip(x, rows, strict=True):
        rate, (low, high) = row["win_rate"], row["win_rate_interval"]
        face = style["color"] if row["agent_trained"] else "white"
        bars = [[max(rate - low, 0)], [max(high - rate, 0)]]
        axes.errorbar(place, rate, bars, color=style["color"], marker=style["marker"], markerfacecolor=face, capsize=2)


def _short(text: str) -> str:
    """Returns the text of an agent without the temperature 0 and the folders above a run."""
    run = agents.parse(text)
    if run is None:
        return text
    parameters = {name: value for name, value in run.parameters.items() if (name, value) != ("temperature", 0)}
    return agents.text_of(run._replace(folder=Path(run.folder.name), iteration=None, parameters=parameters))


main = command(Arguments, None, report)

if __name__ == "__main__":
    main()
