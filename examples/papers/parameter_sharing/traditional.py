"""The stars of size 3 and 4 with six seats: agents that finish their games, and what keeps others from it.

    python -m examples.papers.parameter_sharing.traditional --output runs/papers/parameter_sharing/traditional

The command trains the runs of each size that are not finished: the presets `star_3` and `star_4`, and the settings of
the study's code on these boards. Size 3 also has shorter runs, each with one change of `star_3`. Then it plays
games: an agent on all six seats, on one seat against five random players, and on one seat against five greedy ones.

At the end of a game without a winner, a seat's goal is *blocked* by pegs of the opposite seat, whose home it is, or by
pegs of other seats.
"""

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from examples.papers._experiment import Column, Experiment, Report, run_experiment, table_of
from examples.papers._experiment import train as train_run
from examples.papers.parameter_sharing.study import GAMES_OF_CODE, settings_of
from jaxgames import arena
from jaxgames import make as make_env
from jaxgames._checks import check_choice
from jaxgames.agents import Agent
from jaxgames.arena import Games
from jaxgames.games.chinese_checkers import ChineseCheckers
from jaxgames.games.chinese_checkers.board import tables as tables_of_board
from train import agents, ppo
from train.driver import loop
from train.driver.commands import text_of_rate
from train.driver.metrics import rounded
from train.driver.tables import markdown

SELF = "itself"  # in place of an opponent: the agent plays all seats
OPPONENTS = (SELF, "random", "greedy")
OPPOSITE = 3  # seats clockwise, of six
STUDY = "study"  # the run with the settings of the study's code
CHANGED_SIZE = 3  # the board on which changes are compared
CHANGES: dict[str, dict[str, Any]] = {  # of the preset star_3; every run is as long
    "none": {},
    "self-play": {"opponents": ()},
    "no worth at the start": {"network": "hops(steepness=0.0)"},
    "no plan of the next turn": {"network": "hops(next_turn=0.0)"},
    "dense layers and linear heads": {"network": "mlp", "hidden_sizes": (256, 256)},
    "rewards positive_sum": {"env": "chinese_checkers(size=3, reward=positive_sum)"},
}
CHANGED_STEPS = 1_000_000  # of each run with a change
QUICK: dict[str, Any] = {"sizes": (1,), "agents": ("start", "trained"), "changes": (), "games": 2, "steps": 1}


@dataclass(frozen=True)
class Arguments(Experiment):
    output: Path = Path("runs/papers/parameter_sharing/traditional")
    sizes: tuple[int, ...] = (3, 4)
    """The boards; each is trained with the preset of its size, or with the preset of size 3."""
    agents: tuple[str, ...] = ("greedy", STUDY, "start", "trained")
    """The agents: the greedy one, the study's training on this board, and the preset's before and after training."""
    games: int = 1000
    """Games of an agent against each opponent."""
    changes: tuple[str, ...] = tuple(CHANGES)
    """The changes that are compared."""
    steps: int | None = None
    """Environment steps of each training. None: those of the preset, 400,000 with the settings of the study's code."""
    seeds: int = 1
    """Runs of each agent that is trained and of each change, with seeds from 0 on."""
    seed: int = 0
    """Seed of the games."""


class Player(NamedTuple):
    """An agent of a table."""

    table: str  # "agents" or "changes"
    name: str  # in the table
    size: int
    seed: int | None  # of its training; None if it has none
    text: str


def report(arguments: Arguments) -> Report:
    for change in arguments.changes:
        check_choice("changes", change, CHANGES)
    rows: list[dict[str, Any]] = []
    for player in players(arguments):
        for opponent in OPPONENTS:
            if (player.name, opponent) == ("greedy", "greedy"):
                continue  # one greedy player against five is in the games of six
            key = {"size": player.size, "agent": agents.name_of(player.text), "opponent": opponent}
            key |= {"games": arguments.games, "seed": arguments.seed}
            result = arguments.once(key, functools.partial(play, **key))
            names = {"table": player.table, "name": player.name, "training_seed": player.seed}
            rows.append(names | key | result)
    return Report({"cells": rows}, tables(rows))


def players(arguments: Arguments) -> Iterator[Player]:
    """Yields the agents of both tables; trains those that are missing."""
    for size in arguments.sizes:
        for name in arguments.agents:
            if name == "greedy":
                yield Player("agents", name, size, None, name)
                continue
            settings = settings_for(name, size, arguments)
            for seed in range(arguments.seeds):
                run = train(f"{STUDY if name == STUDY else 'trained'}_{size}_{seed}", settings, seed, arguments)
                yield Player("agents", name, size, seed, f"{run}@0" if name == "start" else run)
    size = CHANGED_SIZE if CHANGED_SIZE in arguments.sizes else arguments.sizes[0]
    for change in arguments.changes:
        given = settings_for("trained", size, arguments) | CHANGES[change] | {"total_steps": CHANGED_STEPS}
        name = re.sub(r"[^a-z0-9]+", "_", change.lower())
        for seed in range(arguments.seeds):
            run = train(f"changed_{name}_{seed}", at_size(given, size), seed, arguments)
            yield Player("changes", change, size, seed, run)


def settings_for(name: str, size: int, arguments: Arguments) -> dict[str, Any]:
    """Returns the settings of an agent's training on a board."""
    steps: dict[str, Any] = {} if arguments.steps is None else {"total_steps": arguments.steps}
    if name == STUDY:  # the study gives all boards the same training, and longer games to larger ones
        settings = settings_of("parameter_sharing_code", 100, env=f"{GAMES_OF_CODE}(size={size})")
        return {setting: value for setting, (value,) in settings.items()} | steps
    return at_size(vars(ppo.config_for(preset=f"star_{max(size, 3)}", **steps)), size)


def at_size(settings: Mapping[str, Any], size: int) -> dict[str, Any]:
    """Returns the settings with the game on the board of a size, and its own limit of rounds."""
    env = make_env(settings["env"])
    assert isinstance(env, ChineseCheckers)
    return {**settings, "env": f"chinese_checkers(size={size}, reward={env.reward})"}


def train(name: str, settings: Mapping[str, Any], seed: int, arguments: Arguments) -> str:
    """Returns the text of a run's agent, after the rest of its training. The first and the last checkpoint are kept."""
    given: dict[str, Any] = {**settings, "seed": seed}
    learner = ppo.PPO(ppo.Config(**given))
    keep = learner.config.num_iterations
    return train_run(learner, arguments.output / name, loop.Settings(evaluate_every=0, keep_every=keep))


def play(size: int, agent: str, opponent: str, games: int, seed: int) -> dict[str, Any]:
    """Returns the `summary` of the agent in its games against an opponent."""
    env = agents.env_of(agent) or make_env("chinese_checkers", size=size)
    assert isinstance(env, ChineseCheckers)
    key, seat_key = jax.random.split(jax.random.key(seed))
    if opponent == SELF:
        texts, seats = (agent,), jnp.zeros((games, env.num_players), jnp.int32)
    else:
        texts, seats = (agent, opponent), arena.one_seat(seat_key, games, env.num_players)
    played = whole_games(env, tuple(agents.make(text, env) for text in texts), seats, key)
    return rounded(summary(env, played, seats))


@functools.partial(jax.jit, static_argnames="env")
def whole_games(env: ChineseCheckers, agents: tuple[Agent, ...], agent_of_seat: jax.Array, key: jax.Array) -> Games:
    """Returns whole games for six seats by agents on the device; as `arena.play`."""
    start_key, key = jax.random.split(key)
    begun = arena.start(env, start_key, len(agent_of_seat))
    return arena.advance_until_over(env, agents, agent_of_seat, begun, key)


def summary(env: ChineseCheckers, games: Games, agent_of_seat: jax.Array) -> dict[str, Any]:
    """Returns results of the first agent, and how its seats end the games without a winner; None where there is none.

    decided         the share of games that a seat wins, and its interval
    win_rate        the share of games that a seat of the agent wins, and its interval
    turns           mean turns of the winner in decided games
    blocked_by_opposite, blocked_by_others     in undecided games, the share of the agent's seats
    pegs_in_goal, pegs_at_home                 in undecided games, means over the agent's seats
    """
    on_seat = np.asarray(agent_of_seat) == 0
    won, turns = np.array(jax.jit(arena.winners, static_argnums=0)(env, games)), np.array(games.turns)
    decided = np.array(won.any(1))
    num_games = len(won)
    cells = np.asarray(pegs_of_seats(env, games.boards))  # bool[games, 6, cells, 6]
    in_goal = cells[:, :, -env.num_pegs :].sum(2)  # pegs of each seat, clockwise from the goal's owner
    others = in_goal.sum(2) - in_goal[..., 0] - in_goal[..., OPPOSITE]
    at_home = cells[:, :, : env.num_pegs, 0].sum(2)
    undecided = on_seat & ~decided[:, None]

    def mean(values: np.ndarray, where: np.ndarray) -> float | None:
        return float(values[where].mean()) if where.any() else None

    return {
        "games": num_games,
        "decided": float(decided.mean()),
        "decided_interval": arena.wilson(int(decided.sum()), num_games),
        "win_rate": float((won & on_seat).any(1).mean()),
        "win_rate_interval": arena.wilson(int((won & on_seat).any(1).sum()), num_games),
        "turns": mean(turns, won),
        "blocked_by_opposite": mean(in_goal[..., OPPOSITE] > 0, undecided),
        "blocked_by_others": mean(others > 0, undecided),
        "pegs_in_goal": mean(in_goal[..., 0], undecided),
        "pegs_at_home": mean(at_home, undecided),
    }


@functools.partial(jax.jit, static_argnames="env")
def pegs_of_seats(env: ChineseCheckers, boards: Any) -> jax.Array:
    """Returns bool[games, 6, cells, 6], the pegs of all seats, clockwise from each of them and in its frame."""
    q, r = (tables_of_board(env.size).axial + 2 * env.size).T
    seats, of_seats = jnp.arange(env.num_players), jax.vmap(env.observe, in_axes=(None, 0))
    return jax.vmap(lambda board: of_seats(board, seats))(boards)[:, :, q, r, : env.num_players]


def tables(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns the Markdown tables with their titles."""
    games = ["itself: decided", "turns", "5 random: won", "turns", "5 greedy: won", "turns"]
    found: list[str] = []
    for title, table, name in (("Agents", "agents", "agent"), ("Changes of the training", "changes", "change")):
        if of_table := [row for row in rows if row["table"] == table]:
            found += [title, markdown(["size", name, "seed", *games], games_by_agent(of_table))]
    games_of_agents = [row for row in rows if row["table"] == "agents" and row["opponent"] != "greedy"]
    if any(row["decided"] < 1 for row in games_of_agents):
        found += ["What spoils", table_of(games_of_agents, SPOILED)]
    return "\n\n".join(found)


def games_by_agent(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Returns a row per agent: shares with their intervals, and turns of the winner, by opponent."""
    found: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for row in rows:
        share = "decided" if row["opponent"] == SELF else "win_rate"
        head = str(row["size"]), row["name"], seed_of(row)
        numbers = [text_of_rate(row[share], row[f"{share}_interval"]), text(row["turns"])]
        found.setdefault(head, {})[row["opponent"]] = numbers
    return [
        [*head, *(entry for opponent in OPPONENTS for entry in of_agent.get(opponent, ["", ""]))]
        for head, of_agent in found.items()
    ]


def seed_of(row: Mapping[str, Any]) -> str:
    return "" if row["training_seed"] is None else str(row["training_seed"])


def text(number: float | None, decimals: int = 1) -> str:
    """Returns a number as in tables; a dash if there was nothing to measure."""
    return "-" if number is None else f"{number:.{decimals}f}"


SPOILED: dict[str, Column] = {  # the table of what spoils games
    "size": "{size}",
    "agent": "{name}",
    "seed": seed_of,
    "opponents": "{opponent}",
    "undecided": lambda row: text(1 - row["decided"], 3),
    "blocked by opposite": lambda row: text(row["blocked_by_opposite"], 2),
    "by others": lambda row: text(row["blocked_by_others"], 2),
    "own pegs in goal": lambda row: text(row["pegs_in_goal"]),
    "own pegs at home": lambda row: text(row["pegs_at_home"]),
}

if __name__ == "__main__":
    run_experiment(Arguments, QUICK, report)
