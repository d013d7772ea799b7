"""Plays agents against `random` and `greedy` on every game, and prints a table of win rates and turns to win.

    python -m examples.papers.solution_strength.compare_agents --output runs/compare_agents
    python -m examples.papers.solution_strength.compare_agents --envs checkers --agents first "greedy(epsilon=0.1)"

The agent has one seat, another one from game to game, and the opponent has all others. Without a random agent, two
agents could play the same game again and again. Then each game begins with four random plies, from a list of openings
that is the same for all agents, and the agent plays each opening from every seat. A command that was stopped resumes.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

import jaxgames
from examples.papers._experiment import Experiment, Report, command, progress_over
from jaxgames import Env, arena
from jaxgames.agents import Agent
from train import agents
from train.driver import tables
from train.driver.commands import check_games, text_of_rate
from train.driver.metrics import rounded

ENVS = (
    "chinese_checkers(size=2, num_players=2)",
    "chinese_checkers(size=2, num_players=6)",
    "chinese_checkers_diamond",
    "minichess",
    "dots_and_boxes",
    "checkers",
)
MEASURED = ("win_rate", "win_rate_interval", "draw_rate", "truncated_rate", "mean_turns")
OPENING_PLIES = 4  # at most
QUICK: dict[str, Any] = {
    "envs": ("dots_and_boxes(rows=1, cols=2)",),
    "agents": ("random", "first", "openspiel(bot=random)"),
    "games": 40,
    "host_games": 3,
}
OPENSPIEL = "openspiel(simulations=50, max_rollout_steps=200, playout='greedy(epsilon=0.2)')"


@dataclass(frozen=True)
class Arguments(Experiment):
    output: Path = Path("runs/compare_agents")
    envs: tuple[str, ...] = ENVS
    """The games."""
    agents: tuple[str, ...] = ("random", "first", "greedy", OPENSPIEL)
    """The agents, which all play every game."""
    opponents: tuple[str, ...] = ("random", "greedy")
    """The opponents of every agent."""
    games: int = 1000
    """Games of two agents, if both are on the device."""
    host_games: int = 10
    """Games of two agents, if one is on the host."""
    seed: int = 0


def report(arguments: Arguments) -> Report:
    """Plays the matches that are not stored."""
    check_games(arguments.host_games, arguments.seed)
    opponents, players = ([agents.name_of(text) for text in of] for of in (arguments.opponents, arguments.agents))
    rows: list[dict[str, Any]] = []
    for text in progress_over(arguments.envs, unit="environments"):
        env: Env[Any] = jaxgames.make(text)
        by_text = {name: agents.make(name, env) for name in (*opponents, *players)}
        for agent in players:
            for opponent in opponents:
                on_device = by_text[agent].on_device and by_text[opponent].on_device
                key = {"env": text, "agent": agent, "opponent": opponent, "seating": "alternating"}
                key |= {"games": arguments.games if on_device else arguments.host_games, "seed": arguments.seed}
                key |= {"opening_plies": 0 if "random" in (agent, opponent) else OPENING_PLIES}
                rows.append(key | arguments.once(key, functools.partial(play, env, by_text, key)))
    return Report({"cells": rows}, table(rows))


def play(env: Env[Any], by_text: Mapping[str, Agent], key: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the results of a match. All agents on the device are in one compiled program."""
    both = [key["agent"], key["opponent"]]
    on_device = [text for text, agent in by_text.items() if agent.on_device]
    players = on_device if {*both} <= {*on_device} else both
    seats_key, openings_key, play_key = jax.random.split(jax.random.key(key["seed"]), 3)
    seats = arena.seating((1, env.num_players - 1), "alternating", key["games"], seats_key)
    number = jnp.array([players.index(text) for text in both])
    book = arena.random_openings(env, openings_key, -(-key["games"] // env.num_players), key["opening_plies"])
    openings = book.for_games(key["games"], games_each=env.num_players)
    games = arena.play(env, [by_text[text] for text in players], number[seats], play_key, openings=openings)
    results = rounded(arena.results(env, games, seats))
    return {name: results[name] for name in MEASURED}


# -- results -------------------------------------------------------------------------------------------------------


def table(rows: list[dict[str, Any]]) -> str:
    """Returns the Markdown table: a row per game and agent, and for each opponent its games, wins, draws and turns.

    Wins have their 95 % Wilson interval. Games that a limit cut off count as draws.
    """
    names = list(dict.fromkeys(row["opponent"] for row in rows))
    columns = [
        column for name in names for column in (f"games against {name}", f"wins against {name}", "draws", "turns")
    ]
    row_of = {(row["env"], row["agent"], row["opponent"]): row for row in rows}
    lines = [
        (f"`{env}`", f"`{agent}`", *(entry for opponent in names for entry in _entries(row_of[env, agent, opponent])))
        for env, agent in dict.fromkeys((row["env"], row["agent"]) for row in rows)
    ]
    return tables.markdown(("game", "agent", *columns), lines)


def _entries(row: dict[str, Any]) -> tuple[str, str, str, str]:
    turns = "" if row["mean_turns"] is None else f"{row['mean_turns']:.1f}"
    draws = row["draw_rate"] + row["truncated_rate"]
    wins = text_of_rate(row["win_rate"], row["win_rate_interval"])
    return f"{row['games']:,}", wins, f"{draws:.3f}", turns


main = command(Arguments, QUICK, report)

if __name__ == "__main__":
    main()
