"""Plays agents against each other, on any number of seats each.

    python -m train.match runs/first@10 runs/first@100 --seats 1 5 --output games.jsonl

It prints a table with a row per agent and seat. The last line on standard output is JSON: env, games, draws, truncated
and mean_length, and for every agent how it plays, its seats, wins, win_rate, mean_turns, mean_reward and results by
seat. The rates have 95 % intervals.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import jax
import tyro

from jaxgames import arena
from jaxgames.agents import RandomAgent
from train import agents
from train.driver.commands import GameArguments, format_interval, game_file, play_games, run_command
from train.driver.metrics import rounded
from train.driver.tables import markdown

OF_AGENTS = ("wins", "win_rate", "win_rate_interval", "mean_turns", "mean_reward", "by_seat")  # the rest is of all


@dataclass(frozen=True, kw_only=True)
class Arguments(GameArguments):
    agents: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Two or more agents: runs of one game, such as runs/first or "runs/first@40(top=5)", or others, such as greedy."""
    seats: tuple[int, ...] | None = None
    """The number of seats of each agent; they add up to the number of players.
    If not given: two each if they fit, else one each. Random agents play the seats that are left over."""
    seating: arena.Seating = "drawn"
    """fixed: the first agent has the first seats, and so on, in every game.
    alternating: this order rotates by one seat from game to game. drawn: a random order for every game."""


def match(arguments: Arguments) -> dict[str, Any]:
    """Returns the result that the command prints."""
    num_agents = len(arguments.agents)
    if num_agents < 2:
        raise ValueError(f"expected two or more agents, not {num_agents}")
    arguments.check()
    texts = [agents.with_temperature(text, arguments.temperature) for text in arguments.agents]
    env = agents.env_for(texts, arguments.env)
    seats = seats_for(num_agents, env.num_players, arguments.seats)
    players, names = [agents.make(text, env) for text in texts], [agents.name_of(text) for text in texts]
    left_over = env.num_players - sum(seats)
    if left_over:
        seats, players, names = (*seats, left_over), [*players, RandomAgent(env)], [*names, "random"]

    key, seats_key = jax.random.split(jax.random.key(arguments.seed))
    agent_of_seat = arena.seating(seats, arguments.seating, arguments.games, seats_key)
    openings = arguments.openings_for(env, env.num_players if arguments.seating == "alternating" else 1)
    with game_file(arguments.output) as file:
        games = play_games(env, players, names, agent_of_seat, key, openings, file)
    rows = [rounded(arena.results(env, games, agent_of_seat, number)) for number in range(num_agents)]
    return {
        "env": str(env),
        **{name: value for name, value in rows[0].items() if name not in OF_AGENTS},
        "random_seats": left_over,
        "agents": [
            {"agent": text, "plays": agents.play_of(player), "seats": count, **{name: row[name] for name in OF_AGENTS}}
            for text, player, count, row in zip(arguments.agents, players, seats, rows, strict=False)
        ],
    }


def seats_for(num_agents: int, num_players: int, seats: Sequence[int] | None) -> tuple[int, ...]:
    """Returns the seats of each agent; if None, two each if they fit, else one each. Some may then be left over."""
    each = min(2, num_players // num_agents)
    if each < 1:
        raise ValueError(f"at most {num_players} agents fit on {num_players} seats, not {num_agents}")
    if seats is None:
        return (each,) * num_agents
    if len(seats) != num_agents or min(seats) < 1 or sum(seats) != num_players:
        raise ValueError(
            f"--seats must be {num_agents} numbers from 1 on, one for each agent, that add up to the {num_players} "
            f"seats of the game, not {' '.join(map(str, seats)) or 'none'}"
        )
    return tuple(seats)


def table(result: Mapping[str, Any]) -> str:
    """Returns the result of `match` as text: a row per agent, and below it a row for each of its seats."""
    games = result["games"]
    drawn, truncated = (
        f"{result[count]:,} ({format_interval(result[f'{rate}_interval'])})"
        for count, rate in (("draws", "draw_rate"), ("truncated", "truncated_rate"))
    )
    rows: list[tuple[object, ...]] = []
    for agent in result["agents"]:
        reward = "" if agent["mean_reward"] is None else f"{agent['mean_reward']:.3f}"
        numbers = (*won(agent | {"games": games}), turns_to_win(agent), reward)
        rows.append((agent["agent"], agent["plays"], agent["seats"], *numbers))
        rows += rows_by_seat(agent, before=2, after=2)
    left_over = f", random on {result['random_seats']} more seats" if result["random_seats"] else ""
    header = ("agent", "plays", "seats", "won", "95 % interval", "turns to win", "mean reward")
    return (
        f"{result['env']}{left_over}: {games:,} games of {result['mean_length']:.1f} steps, "
        f"{drawn} drawn, {truncated} cut off\n\n{markdown(header, rows, padded=True)}\n"
    )


def won(row: Mapping[str, Any]) -> tuple[str, str]:
    """Returns the games that were won, and the interval of their share."""
    return f"{row['wins']:,} of {row['games']:,}", format_interval(row["win_rate_interval"])


def turns_to_win(row: Mapping[str, Any]) -> str:
    return "" if row["mean_turns"] is None else f"{row['mean_turns']:.1f}"


def rows_by_seat(of_agent: Mapping[str, Any], before: int, after: int) -> list[tuple[object, ...]]:
    """Returns a row per seat of an agent that has several, with empty cells before and after its games."""
    seats = of_agent["by_seat"] if len(of_agent["by_seat"]) > 1 else []
    return [(f"- on seat {row['seat']}", *[""] * before, *won(row), *[""] * after) for row in seats]


main = functools.partial(run_command, "train.match", Arguments, match, text=table)

if __name__ == "__main__":
    main()
