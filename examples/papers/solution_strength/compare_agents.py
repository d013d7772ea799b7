"""Plays agents against `random` and `greedy` on every game, and prints a table of win rates and turns to win.

    python -m examples.papers.solution_strength.compare_agents --output runs/compare_agents
    python -m examples.papers.solution_strength.compare_agents --envs checkers \\
        --agents first "greedy(epsilon=0.1)" --runs runs

The agent has one seat, and the opponent has all others. The games of an agent against an opponent are a line of
`cells.jsonl` in the output folder. So a command that was stopped resumes. The last line on standard output is JSON.

Without a random agent, two agents could play the same game again and again. Then each game begins with random plies,
from a list of openings that is the same for all agents. The agent plays each opening from every seat, if the seats
alternate.
"""

import functools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

import jaxgames
from examples.papers._experiment import Experiment, Report, command
from jaxgames import Env, arena
from jaxgames._progress import Progress
from jaxgames.agents import Agent
from jaxgames.arena import Seating
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
    runs: Path | None = None
    """A folder with the folders of training runs; each one plays the game that it was trained on."""
    opponents: tuple[str, ...] = ("random", "greedy")
    """The opponents of every agent."""
    games: int = 1000
    """Games of two agents, if both are on the device."""
    host_games: int = 10
    """Games of two agents, if one is on the host."""
    seating: Seating = "alternating"
    """The seat of the agent: the first one in every game, another one from game to game, or a drawn one."""
    opening_plies: int = 4
    """Random plies at the beginning of games without a random agent."""
    seed: int = 0


class Match(NamedTuple):
    """The games of an agent against an opponent, with all that their results depend on."""

    env: str
    agent: str
    opponent: str
    games: int
    seating: Seating
    opening_plies: int
    seed: int


def report(arguments: Arguments) -> Report:
    """Plays the matches that are not stored."""
    check_games(arguments.host_games, arguments.seed)
    games = [_Game(text, arguments) for text in arguments.envs]
    matches = [(game, match) for game in games for match in game.matches()]
    rows: list[dict[str, Any]] = []
    with Progress(total=sum(match.games for _, match in matches), unit="games") as bar:
        for game, match in matches:
            bar.describe(f"{game.env.id}: {match.agent} against {match.opponent}")
            key = match._asdict()
            rows.append(key | arguments.once(key, functools.partial(game.play, match, bar)))
            bar.update(sum(row["games"] for row in rows) - bar.count)
    return Report({"cells": rows}, table(rows, arguments.opponents))


# -- games ---------------------------------------------------------------------------------------------------------


class _Game:
    """A game with all its agents. Agents without parameters of a network are in one compiled program."""

    def __init__(self, text: str, arguments: Arguments) -> None:
        self.text, self.arguments = text, arguments
        self.env: Env[Any] = jaxgames.make(text)
        self.by_text: dict[str, Agent] = {}  # opponents, then the agents
        for agent in (*arguments.opponents, *arguments.agents):
            self.by_text[agents.name_of(agent)] = agents.make(agent, self.env)
        self.shared = [agent for agent, made in self.by_text.items() if made.on_device and agents.parse(agent) is None]
        for run in _runs(arguments.runs, self.env):
            self.by_text[run] = agents.make(run, self.env)

    def matches(self) -> Iterator[Match]:
        """Yields the matches of this game."""
        arguments = self.arguments
        opponents = [agents.name_of(opponent) for opponent in arguments.opponents]
        runs = _runs(arguments.runs, self.env)
        for agent in dict.fromkeys([*map(agents.name_of, arguments.agents), *runs]):
            for opponent in opponents:
                on_device = self.by_text[agent].on_device and self.by_text[opponent].on_device
                games = arguments.games if on_device else arguments.host_games
                plies = 0 if "random" in (agent, opponent) else arguments.opening_plies
                yield Match(self.text, agent, opponent, games, arguments.seating, plies, arguments.seed)

    def play(self, match: Match, bar: Any) -> dict[str, Any]:
        """Returns the results of a match."""
        began = time.perf_counter()
        env, players = self.env, self._players(match)
        seats_key, openings_key, key = jax.random.split(jax.random.key(match.seed), 3)
        seats = arena.seating((1, env.num_players - 1), match.seating, match.games, seats_key)
        number = jnp.array([players.index(match.agent), players.index(match.opponent)])
        num_openings = -(-match.games // env.num_players)
        book = arena.random_openings(env, openings_key, num_openings, match.opening_plies)
        openings = book.for_games(match.games, games_each=env.num_players)
        agents_of_game = [self.by_text[player] for player in players]
        games = arena.play(env, agents_of_game, number[seats], key, openings=openings, on_finished=bar.update)
        results = rounded(arena.results(env, games, seats))
        return {name: results[name] for name in MEASURED} | {"seconds": round(time.perf_counter() - began, 1)}

    def _players(self, match: Match) -> list[str]:
        """Returns the agents in the program of a match. Matches with the same agents share a program."""
        both = [match.agent, match.opponent]
        if not all(self.by_text[agent].on_device for agent in both):
            return both
        if match.agent in self.shared and match.opponent in self.shared:
            return self.shared
        opponents = [agents.name_of(opponent) for opponent in self.arguments.opponents]
        return [match.agent, *(opponent for opponent in opponents if self.by_text[opponent].on_device)]


@functools.cache
def _all_runs(folder: Path) -> dict[str, Env[Any]]:
    """Returns the games of the runs below a folder, by the texts of their agents."""
    texts = [str(config.parent) for config in sorted(folder.rglob("config.json"))]
    if not texts:
        raise FileNotFoundError(f"{folder} holds no runs: expected a folder with the folders of runs of train.ppo")
    envs = {agents.name_of(text): agents.env_of(text) for text in texts}
    return {text: env for text, env in envs.items() if env is not None}


def _runs(folder: Path | None, env: Env[Any]) -> list[str]:
    """Returns the texts of the agents of the runs that were trained on a game."""
    return [] if folder is None else [text for text, trained_on in _all_runs(folder).items() if trained_on == env]


# -- results -------------------------------------------------------------------------------------------------------


def table(rows: list[dict[str, Any]], opponents: tuple[str, ...]) -> str:
    """Returns the Markdown table: a row per game and agent, and for each opponent its games, wins, draws and turns.

    Wins have their 95 % Wilson interval. Games that a limit cut off count as draws.
    """
    names = [agents.name_of(opponent) for opponent in opponents]
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
