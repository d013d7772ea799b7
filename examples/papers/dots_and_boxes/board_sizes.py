"""Plays runs on boards of Dots and Boxes that they were and were not trained on, and prints a table of win rates.

    python -m examples.papers.dots_and_boxes.board_sizes runs/graph "runs/graph(simulations=64)" \\
        --opponents random alphabeta runs/resnet_3x3

A run plays the boards of its training, or all boards if the parameters of its network fit every board. Boards that an
agent does not play have a dash, and boards of its training have a star. The agents alternate between the seats, and
every two games begin with the same two random edges. An agent wins with more than half of the boxes. Its margin is its
boxes minus the opponent's boxes.
"""

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

import jaxgames
from examples.papers._experiment import ExperimentFields, Report, duel, run_experiment
from jaxgames import Env
from train import agents
from train.driver.commands import GameArguments, text_of_rate
from train.driver.metrics import rounded
from train.driver.tables import markdown

MEASURED = ("win_rate", "win_rate_interval", "draw_rate", "mean_reward", "mean_length")


@dataclass(frozen=True)
class Arguments(ExperimentFields):
    agents: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Runs with the reward boxes, such as runs/graph or "runs/graph@40(simulations=64)", or others, such as greedy."""
    boards: tuple[str, ...] = ("3x3", "4x4", "5x5", "6x6", "7x7")
    """Rows and columns of boxes."""
    opponents: tuple[str, ...] = ("random", "alphabeta")
    """The opponents of every agent: agents of the library, or runs."""
    games: int = 400
    """Games of an agent against an opponent on a board."""
    output: Path = Path("runs/board_sizes")
    seed: int = 0


def report(arguments: Arguments) -> Report:
    # The most probable actions of runs, unless they name a temperature.
    players, opponents = (
        [agents.name_of(agents.with_temperature(text, 0)) for text in texts]
        for texts in (arguments.agents, arguments.opponents)
    )
    envs = {board: board_of(board) for board in arguments.boards}
    rows: list[dict[str, Any]] = []
    for opponent in opponents:
        for agent in players:
            for board, env in envs.items():
                if agent != opponent and plays(agent, env) and plays(opponent, env):
                    key = {"board": board, "agent": agent, "opponent": opponent}
                    key |= {"games": arguments.games, "seed": arguments.seed}
                    rows.append(key | arguments.once(key, functools.partial(measure, env, key)))
    return Report({"cells": rows}, table(rows))


def board_of(text: str) -> Env[Any]:
    """Returns the game on a board such as "5x5". Raises ValueError for another text."""
    match = re.fullmatch(r"(\d+)x(\d+)", text)
    if match is None:
        raise ValueError(f"a board must be rows and columns of boxes, such as 5x5, not {text!r}")
    return jaxgames.make("dots_and_boxes", rows=int(match[1]), cols=int(match[2]), reward="boxes")


@functools.cache
def learner_of(text: str) -> Any:
    """Returns the learner of a run; None for an agent that is not a run."""
    run = agents.parse(text)
    return None if run is None else run.open().learner


def plays(text: str, env: Env[Any]) -> bool:
    """Returns whether the agent that a text names plays the game."""
    learner = learner_of(text)
    return learner is None or agents.plays(learner, env)


def was_trained_on(text: str, env: Env[Any]) -> bool | None:
    """Returns whether an agent was trained on a board; None for an agent that is not a run."""
    learner = learner_of(text)
    if learner is None:
        return None
    return env in [learner.env, *map(jaxgames.make, getattr(learner.config, "other_envs", ()))]


def measure(env: Env[Any], key: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the results of an agent against an opponent on a board, with the same two random edges in two games."""
    agent, opponent, games = key["agent"], key["opponent"], key["games"]
    settings = GameArguments(games=games, openings=-(-games // 2), opening_plies=2, seed=key["seed"])
    pair = agents.make(agent, env), agents.make(opponent, env)
    results = rounded(duel(env, pair, settings, f"{key['board']}: {agent} - {opponent}"))
    return {"agent_trained": was_trained_on(agent, env), **{name: results[name] for name in MEASURED}}


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns the Markdown table: a row per agent and opponent, and for every board the win rate and the margin."""
    boards = list(dict.fromkeys(row["board"] for row in rows))
    row_of = {(row["agent"], row["opponent"], row["board"]): row for row in rows}
    lines = [
        (f"`{agent}`", f"`{opponent}`", *(_entry(row_of.get((agent, opponent, board))) for board in boards))
        for agent, opponent in dict.fromkeys((row["agent"], row["opponent"]) for row in rows)
    ]
    return markdown(("agent", "opponent", *boards), lines)


def _entry(row: Mapping[str, Any] | None) -> str:
    """Returns an entry such as "0.913 (0.881-0.936), +3.20 *"."""
    if row is None:
        return "-"
    star = " *" if row["agent_trained"] else ""
    return f"{text_of_rate(row['win_rate'], row['win_rate_interval'])}, {row['mean_reward']:+.2f}{star}"


if __name__ == "__main__":
    run_experiment(Arguments, None, report)
