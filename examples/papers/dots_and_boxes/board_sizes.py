"""Plays runs on boards of Dots and Boxes that they were and were not trained on, and prints a table of win rates.

    python -m examples.papers.dots_and_boxes.board_sizes runs/graph runs/resnet runs/resnet_3x3 \\
        --opponents random alphabeta
    python -m examples.papers.dots_and_boxes.board_sizes runs/graph --boards 5x5 --simulations 64 \\
        --opponents runs/resnet --games 100

A run plays the boards of its training, or all boards if the parameters of its network fit every board. A cell of the
table is a board, an agent and an opponent; a cell whose run does not play the board is left out. The agents alternate
between the seats. Every two games begin with the same two random edges, so each agent plays an opening from both sides.
An agent wins with more than half of the boxes. Its margin is its boxes minus those of the opponent.

Every finished cell is one line of the output file. A command that is repeated does not play it again, and several
commands may write to one file. The last line on standard output is JSON: the cells. Beside the file lies a picture.
"""

import functools
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import jax
import numpy as np
import tyro
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from tqdm import tqdm

import jaxgames
from examples.papers._cells import store, stored
from jaxgames import Env, arena
from train import agents, plot
from train.driver import tables
from train.driver.commands import GameArguments, print_result, text_of_rate
from train.driver.loop import log
from train.driver.metrics import rounded

OPENING_PLIES = 2
MEASURED = ("win_rate", "win_rate_interval", "draw_rate", "mean_reward", "mean_length")


@dataclass(frozen=True)
class Arguments:
    agents: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Runs with the reward boxes, such as runs/graph or runs/graph@40, or other agents, such as greedy."""
    simulations: tuple[int, ...] = (0, 64)
    """Simulations of the search of every run that names none in brackets; 0 plays with the network alone."""
    boards: tuple[str, ...] = ("3x3", "4x4", "5x5", "6x6", "7x7")
    """Rows and columns of boxes."""
    opponents: tuple[str, ...] = ("random", "alphabeta")
    """The opponents of every agent: agents of the library, or runs."""
    games: int = 400
    """Games of every cell."""
    output: Path = Path("runs/board_sizes/cells.jsonl")
    """The file of the cells, one line of JSON each."""
    picture: Path | None = None
    """The picture, written as .png and .svg. If not given: beside the file, with its name."""
    seed: int = 0
    """Seed of the openings and of the games."""


class Cell(NamedTuple):
    """A cell of the table, with all that its result depends on."""

    board: str
    agent: str
    opponent: str
    games: int
    seed: int


def main() -> None:
    """The command `python -m examples.papers.dots_and_boxes.board_sizes`."""
    program = "examples.papers.dots_and_boxes.board_sizes"
    arguments = tyro.cli(Arguments, prog=f"python -m {program}", description=__doc__)
    print_result(program, lambda: {"cells": board_sizes(arguments)})


def board_sizes(arguments: Arguments) -> list[dict[str, Any]]:
    """Plays the cells that are not stored, prints the table, draws the picture. Returns the cells with their results.

    Raises ValueError or FileNotFoundError for arguments that are wrong, before any game.
    """
    settings = GameArguments(
        games=arguments.games, openings=-(-arguments.games // 2), opening_plies=OPENING_PLIES, seed=arguments.seed
    )
    settings.check()
    picture = plot.check_output(arguments.picture or arguments.output.with_suffix(""))
    players = [each for text in arguments.agents for each in agents_of(text, arguments.simulations)]
    opponents = [deterministic(text) for text in arguments.opponents]
    envs = {board: env_of(board) for board in arguments.boards}
    cells = [
        Cell(board, agent, opponent, arguments.games, arguments.seed)
        for opponent in opponents
        for agent in players
        for board, env in envs.items()
        if agent != opponent and plays(agent, env) and plays(opponent, env)
    ]
    with tqdm(total=len(cells) * arguments.games, unit=" games", disable=None) as bar:
        for cell in cells:
            if cell in stored(arguments.output, Cell):  # read for every cell: another command may have added it
                bar.update(cell.games)
                continue
            bar.set_description(f"{cell.board}: {cell.agent} - {cell.opponent}")
            result = play(cell, envs[cell.board], settings, bar)
            log(f"{cell.board}: {cell.agent} - {cell.opponent}: {json.dumps(result)}")
            store(arguments.output, cell, result)
    found = stored(arguments.output, Cell)
    rows = [cell._asdict() | found[cell] for cell in cells]
    print(table(rows, arguments.boards))
    for path in plot.save(draw(rows, arguments.boards), picture):
        log(str(path))
    return rows


# -- agents and boards ---------------------------------------------------------------------------------------------


def agents_of(text: str, simulations: Sequence[int]) -> list[str]:
    """Returns the texts of a run's agents, one per number of simulations; of any other agent its text alone."""
    found = agents.parse(text)
    if found is None or "simulations" in found.parameters:
        return [deterministic(text)]
    return [
        deterministic(agents.text_of(found._replace(parameters=found.parameters | {"simulations": number})))
        for number in simulations
    ]


def deterministic(text: str) -> str:
    """Returns the text of an agent; of a run that names no temperature, with temperature 0 and its iteration."""
    return agents.name_of(agents.with_temperature(text, 0))


def env_of(board: str) -> Env[Any]:
    """Returns the game on a board such as "5x5". Raises ValueError for another text."""
    found = re.fullmatch(r"(\d+)x(\d+)", board)
    if found is None:
        raise ValueError(f"a board must be rows and columns of boxes, such as 5x5, not {board!r}")
    return jaxgames.make("dots_and_boxes", rows=int(found[1]), cols=int(found[2]), reward="boxes")


def plays(text: str, env: Env[Any]) -> bool:
    """Returns whether the agent that a text names plays the game."""
    found = agents.parse(text)
    return found is None or agents.plays(_learner_of(found.folder), env)


def was_trained_on(text: str, env: Env[Any]) -> bool | None:
    """Returns whether an agent was trained on a board; None for an agent that is no run."""
    found = agents.parse(text)
    if found is None:
        return None
    learner = _learner_of(found.folder)
    others = getattr(learner.config, "other_envs", ())
    return env in [learner.env, *map(jaxgames.make, others)]


@functools.cache
def _learner_of(folder: Path) -> Any:
    return agents.open_run(folder).learner


# -- games ---------------------------------------------------------------------------------------------------------


def play(cell: Cell, env: Env[Any], settings: GameArguments, bar: "tqdm[Any]") -> dict[str, Any]:
    """Returns the results of a cell, with the seconds that it took.

    `openings` counts the different ones: on small boards, random openings repeat, and with them some games.
    """
    began = time.perf_counter()
    pair = agents.make(cell.agent, env), agents.make(cell.opponent, env)
    seats = arena.seating((1, 1), "alternating", cell.games)
    openings = settings.openings_for(env, "alternating")
    assert openings is not None
    games = arena.play(env, pair, seats, jax.random.key(cell.seed), openings=openings, on_finished=bar.update)
    found = rounded(arena.results(env, games, seats))
    trained = {"agent_trained": was_trained_on(cell.agent, env), "opponent_trained": was_trained_on(cell.opponent, env)}
    different = len(np.unique(np.sort(openings.actions, axis=1), axis=0))
    seconds = round(time.perf_counter() - began, 1)
    return trained | {name: found[name] for name in MEASURED} | {"openings": different, "seconds": seconds}


# -- the table and the picture -------------------------------------------------------------------------------------


def table(rows: Sequence[Mapping[str, Any]], boards: Sequence[str]) -> str:
    """Returns the Markdown table: a row per agent and opponent, and for every board the win rate and the margin.

    Boards of the agent's training have a star. Cells that were not played have a dash.
    """
    found = {(row["agent"], row["opponent"], row["board"]): row for row in rows}
    lines = [
        (f"`{agent}`", f"`{opponent}`", *(_entry(found.get((agent, opponent, board))) for board in boards))
        for agent, opponent in dict.fromkeys((row["agent"], row["opponent"]) for row in rows)
    ]
    return tables.markdown(("agent", "opponent", *boards), lines)


def _entry(row: Mapping[str, Any] | None) -> str:
    """Returns a cell such as "0.913 (0.881-0.936), +3.20 *"."""
    if row is None:
        return "-"
    star = " *" if row["agent_trained"] else ""
    return f"{text_of_rate(row['win_rate'], row['win_rate_interval'])}, {row['mean_reward']:+.2f}{star}"


def draw(rows: Sequence[Mapping[str, Any]], boards: Sequence[str]) -> Figure:
    """Returns the picture: the win rate by board with its interval, a panel per opponent, a line per agent.

    The marks of boards that the agent was trained on are filled.
    """
    opponents, players = (list(dict.fromkeys(row[name] for row in rows)) for name in ("opponent", "agent"))
    figure = Figure(figsize=(4.2 * max(len(opponents), 2), 4 + 0.25 * len(players)), layout="constrained")
    panels: list[Any] = [*figure.subplots(1, len(opponents), squeeze=False, sharey=True).flat] if opponents else []
    for axes, opponent in zip(panels, opponents, strict=True):
        for number, agent in enumerate(players):
            of_line = [row for row in rows if (row["agent"], row["opponent"]) == (agent, opponent)]
            _draw_line(axes, of_line, boards, number)
        axes.set(title=f"against {_short(opponent)}", xlabel="board", xticks=range(len(boards)), xticklabels=boards)
        axes.set(xlim=(-0.5, len(boards) - 0.5), ylim=(-0.02, 1.02))
        axes.axhline(0.5, color="grey", linewidth=0.8)
        axes.grid(alpha=0.3)
    if panels:
        panels[0].set_ylabel("win rate")
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
    found = agents.parse(text)
    if found is None:
        return text
    parameters = {name: value for name, value in found.parameters.items() if (name, value) != ("temperature", 0)}
    return agents.text_of(found._replace(folder=Path(found.folder.name), iteration=None, parameters=parameters))


if __name__ == "__main__":
    main()
