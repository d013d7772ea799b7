"""Plays every pair of some agents against each other, and rates all agents on one Elo scale.

    python -m train.ladder minichess greedy runs/a "runs/b(temperature=0)" --output runs/ladder
    python -m train.ladder checkers --checkpoints runs/a --every 5 --output runs/progress

`random` has rating 0 and is added if it is missing; `--anchor` names another agent. The two agents of a pair alternate
between the seats. Every two games begin with another opening of random plies, which both agents play from both sides.
A finished pair is stored, so a ladder that was stopped resumes when the command is repeated with the same `--output`.

The last line on standard output is JSON, with the ratings and their 95 % intervals.
"""

import dataclasses
import functools
import itertools
import json
import statistics
import sys
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import jax
import numpy as np
import psutil
import tyro
from matplotlib.figure import Figure
from numpy.typing import NDArray

from jaxgames import Env, ParameterError, arena
from jaxgames import make as make_env
from jaxgames._files import write_whole
from jaxgames._progress import Progress
from jaxgames.agents import Agent, act_compiled
from train import agents, plot
from train.bounds import Count, between
from train.data.labels import BOARDS, steps
from train.driver.commands import MAX_GAMES, MAX_OPENINGS, GameArguments, run_command
from train.driver.result_file import ResultFile
from train.driver.run_folder import lock_folder
from train.driver.tables import markdown

PAIRS_FILE, COSTS_FILE, RESULT_FILE = "pairs.jsonl", "costs.jsonl", "ladder.json"
GAMES_PER_OPENING = 2  # the agents swap seats in the second one
INCHES_PER_AGENT = 0.28
MAX_NAME = 40  # characters of an agent's name in the picture; the beginning of a longer one is left out
COST_PLAYER = "greedy(epsilon=0.3)"  # of the games of `cpu_milliseconds`; random in games without greedy scores
COST_CALLS = 3  # whose median counts

_winners = jax.jit(arena.winners, static_argnums=0)


@dataclass(frozen=True, kw_only=True)
class Arguments(GameArguments):
    env: Annotated[str, tyro.conf.Positional] = field()
    """The game, as `jaxgames.make` takes it."""
    agents: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Agents: runs, such as runs/first or "runs/first@40(temperature=0)", or others, such as greedy."""
    checkpoints: tuple[str, ...] = ()
    """Runs whose checkpoints are agents, such as runs/first or "runs/first(temperature=0)"."""
    every: Count[int] = 1
    """Takes every N-th checkpoint of these runs, counted back from the last one."""
    anchor: str = "random"
    """The agent with rating 0. It is added if it is missing."""
    games: Annotated[int, between(1, MAX_GAMES)] = 400
    """Games of every pair."""
    openings: Annotated[int | None, between(0, MAX_OPENINGS)] = None
    """Length of the list of random openings; 0: all games begin at the start. If not given, one for every two games."""
    output: Path | None = None
    """The folder of the results. If it holds a ladder with the same settings, its pairs are not played again.
    If not given: runs/ladder_<time>."""
    cost: bool = False
    """Measures the CPU milliseconds of a move of every agent, too."""


def ladder(arguments: Arguments) -> dict[str, Any]:
    """Returns the result that the command prints, and writes it to the folder."""
    settings = arguments
    if settings.openings is None:
        settings = dataclasses.replace(settings, openings=-(-settings.games // GAMES_PER_OPENING))
    settings.check()
    env = make_env(arguments.env)
    if env.num_players < 2:
        raise ValueError(f"a ladder needs a game of two or more players, and {env} has one")
    runs = [checkpoints_of(text, arguments) for text in arguments.checkpoints]
    texts = [_named(text, arguments) for text in (arguments.anchor, *arguments.agents)]
    names = list(dict.fromkeys([*texts, *(name for run in runs for name in run["agents"])]))
    if len(names) < 2:
        raise ValueError(f"expected an agent besides {names[0]}, which has rating 0, such as greedy or runs/first")
    agents.env_for(names, arguments.env)
    players = {name: agents.make(name, env) for name in names}

    stored: dict[str, Any] = {"env": str(env), "env_version": env.version, "games": settings.games}
    stored |= {"openings": settings.openings, "opening_plies": settings.opening_plies, "seed": settings.seed}
    openings = settings.openings_for(env, GAMES_PER_OPENING)
    if settings.opening_list is not None and openings is not None:  # with the moves, because a file can change
        checksum = zlib.crc32(np.asarray(openings.actions).tobytes())
        stored |= {"opening_list": settings.opening_list, "opening_checksum": checksum}
    folder = arguments.output or Path("runs") / f"ladder_{datetime.now():%Y-%m-%d_%H-%M-%S}"
    if (folder / "config.json").exists():
        raise FileExistsError(f"{folder} holds a training run: name another folder with --output")
    folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(folder):
        pairs = play_pairs(env, players, settings, openings, ResultFile(folder / PAIRS_FILE, ("agents",), stored))
        result: dict[str, Any] = {**stored, "anchor": names[0], "agents": ratings(names, pairs)}
        if arguments.cost:
            file, result["cpu_ms"] = ResultFile(folder / COSTS_FILE, ("agent",), stored), {}
            for name, player in players.items():
                row = file.once({"agent": name}, lambda player=player: {"cpu_ms": cpu_milliseconds(env, player)})
                result["cpu_ms"][name] = row["cpu_ms"]
        result["checkpoints"] = runs
        figure = draw(str(env), result["agents"], runs)
        write_whole(folder / RESULT_FILE, json.dumps(result, indent=2) + "\n")
        result["files"] = [str(path) for path in (folder / RESULT_FILE, *plot.save(figure, folder / "ladder"))]
    return result


def _named(text: str, arguments: Arguments) -> str:
    """Returns the text of an agent with the temperature, and for a run with the iteration of its checkpoint."""
    return agents.name_of(agents.with_temperature(text, arguments.temperature))


def checkpoints_of(text: str, arguments: Arguments) -> dict[str, Any]:
    """Returns the agents of the checkpoints of a run that `--every` takes, and the environment steps before each."""
    of_run = agents.parse(text)
    if of_run is None or of_run.iteration is not None:
        raise ValueError(f'--checkpoints takes runs, such as runs/first or "runs/first(temperature=0)", not {text}')
    run = of_run.open()
    run.kept_iteration()  # raises unless there is one
    iterations = run.checkpoints()[:: -arguments.every][::-1]
    names = [_named(str(of_run._replace(iteration=iteration)), arguments) for iteration in iterations]
    return {"run": text, "agents": names, "steps": [each * run.config.steps_per_iteration for each in iterations]}


# -- games ---------------------------------------------------------------------------------------------------------


class PairResult(NamedTuple):
    """The results of all games of two agents."""

    wins: tuple[int, int]  # of the first and of the second agent
    draws: int  # all other games
    truncated: int  # games that a limit ended; they are among the draws


def play_pairs(
    env: Env[Any],
    players: Mapping[str, Agent],
    settings: GameArguments,
    openings: arena.Openings | None,
    file: ResultFile,
) -> dict[tuple[str, str], PairResult]:
    """Returns the results of all pairs by their names in alphabetical order; plays those that the file does not have.

    The games of a pair depend on the settings and on the texts of its two agents, but not on the other agents.
    """
    pairs = [(min(pair), max(pair)) for pair in itertools.combinations(players, 2)]
    missing = [pair for pair in pairs if file.get({"agents": pair}) is None]
    print(f"{file.path.parent}: {len(missing)} of {len(pairs)} pairs are to be played", file=sys.stderr, flush=True)
    with Progress(len(pairs) * settings.games, "games") as bar:
        bar.skip((len(pairs) - len(missing)) * settings.games)
        for number, (first, second) in enumerate(missing, start=1):
            bar.describe(f"pair {number} of {len(missing)}, {first} - {second}")
            key = jax.random.fold_in(jax.random.key(settings.seed), zlib.crc32(f"{first}\n{second}".encode()))
            result = play_pair(env, (players[first], players[second]), settings.games, key, openings, bar.update)
            file.add({"agents": (first, second)}, result._asdict())
    return {pair: PairResult(**file.all({"agents": pair})[-1]) for pair in pairs}


def play_pair(
    env: Env[Any],
    pair: tuple[Agent, Agent],
    num_games: int,
    key: jax.Array,
    openings: arena.Openings | None = None,
    on_finished: Callable[[int], object] | None = None,
) -> PairResult:
    """Returns the result of games between two agents, who alternate between the seats as in `pair_seating`.

    An agent wins a game if one of its seats wins and none of the other agent, or if the other agent plays an illegal
    action. All other games are drawn, those that a limit ended too.
    """
    agent_of_seat = pair_seating(num_games, env.num_players)
    games = arena.play(env, pair, jax.numpy.asarray(agent_of_seat), key, openings=openings, on_finished=on_finished)
    seat_won = np.asarray(_winners(env, games))
    offender = np.take_along_axis(agent_of_seat, np.asarray(games.last_mover)[:, None], axis=1)[:, 0]
    forfeited = np.asarray(games.forfeited)
    won = [(seat_won & (agent_of_seat == agent)).any(-1) | (forfeited & (offender != agent)) for agent in (0, 1)]
    wins = (int((won[0] & ~won[1]).sum()), int((won[1] & ~won[0]).sum()))
    truncated = int(np.asarray(games.boards.truncated).sum())
    return PairResult(wins, num_games - sum(wins), truncated)


def pair_seating(num_games: int, num_players: int) -> NDArray[np.int32]:
    """Returns int32[games, num_players], the agent (0 or 1) on every seat of every game.

    Neighbouring seats have different agents, and the agents swap all seats in every second game. After each two games
    the seats rotate by one. So each agent has every seat equally often over two games, also where the number of seats
    is odd and one agent has one seat more in a game.
    """
    game, seat = np.arange(num_games)[:, None], np.arange(num_players)
    place = (seat - game // GAMES_PER_OPENING) % num_players
    return ((place + game) % 2).astype(np.int32)


# -- ratings -----------------------------------------------------------------------------------------------------------


def ratings(names: Sequence[str], pairs: Mapping[tuple[str, str], PairResult]) -> list[dict[str, Any]]:
    """Returns a row for each agent, the highest rating first: agent, elo, elo_interval, games, wins, draws, losses.

    An end of an interval that the games do not bound is None.

    Args:
      names: of the agents; the first one has rating 0.
      pairs: the result of every pair of agents, by their names in alphabetical order.
    """
    ordered = sorted(names)  # so that the order of the names does not change the resamples
    anchor = ordered.index(names[0])
    wins, draws = np.zeros((2, len(names), len(names)))
    for (i, first), (j, second) in itertools.combinations(enumerate(ordered), 2):
        result = pairs[first, second]
        wins[i, j], wins[j, i] = result.wins
        draws[i, j] = draws[j, i] = result.draws
    elo, interval = arena.elo(wins, draws, anchor=anchor), arena.elo_interval(wins, draws, anchor=anchor)
    rows: list[dict[str, Any]] = [
        {
            "agent": name,
            "elo": round(float(elo[number]), 1),
            "elo_interval": [round(float(end), 1) if np.isfinite(end) else None for end in interval[number]],
            "games": int((wins + wins.T + draws)[number].sum()),
            "wins": int(wins[number].sum()),
            "draws": int(draws[number].sum()),
            "losses": int(wins[:, number].sum()),
        }
        for number, name in enumerate(ordered)
    ]
    return [rows[number] for number in np.argsort(-elo, kind="stable")]


# -- the time of a move ------------------------------------------------------------------------------------------------


def cpu_milliseconds(env: Env[Any], agent: Agent) -> float:
    """Returns the CPU time of a move in milliseconds, of all cores and of programs that this process has started.

    It is the mean over BOARDS boards, which the agent gets at once. Board i is at ply i of its game. Compilation does
    not count.
    """
    try:
        player = agents.make(COST_PLAYER, env)
    except ParameterError:
        player = agents.make("random", env)
    games = zip(range(BOARDS), steps(env, player, seed=0), strict=False)
    live = [jax.tree.map(lambda leaf, number=number: leaf[number], boards) for number, (boards, _) in games]
    boards = jax.tree.map(lambda *leaves: np.stack(leaves), *live)
    jax.block_until_ready(act_compiled(agent, jax.random.key(0), boards))
    seconds: list[float] = []
    for call in range(COST_CALLS):
        start = cpu_seconds()
        jax.block_until_ready(act_compiled(agent, jax.random.key(call), boards))
        seconds.append(cpu_seconds() - start)
    return round(1000 * statistics.median(seconds) / BOARDS, 3)


def cpu_seconds() -> float:
    """Returns the CPU seconds of this process and of those that it has started and that still run."""
    total = time.process_time()
    for child in psutil.Process().children(recursive=True):
        try:
            times = child.cpu_times()
        except psutil.Error:  # it has just ended
            continue
        total += times.user + times.system
    return total


# -- the picture -------------------------------------------------------------------------------------------------------


def draw(title: str, rows: Sequence[Mapping[str, Any]], runs: Sequence[Mapping[str, Any]]) -> Figure:
    """Returns the picture: the agents that are not checkpoints by their rating, and the ratings over each run.

    `runs` has the `run`, the `agents` and the `steps` of `checkpoints` in the result of a ladder.
    """
    of_runs = {name for run in runs for name in run["agents"]}
    others = [row for row in reversed(rows) if row["agent"] not in of_runs]  # the highest rating on top
    height = max(3.4, 1.2 + INCHES_PER_AGENT * len(others))
    figure, panels = plot.new_picture(11 if runs else 6.5, height, across=2 if runs else 1)
    for place, row in enumerate(others):
        draw_rating(panels[0], row, place, horizontal=True)
    panels[0].set_yticks(range(len(others)), [shortened(row["agent"]) for row in others], fontsize="small")
    panels[0].set(xlabel="Elo rating, 95 % interval", ylim=(-0.5, len(others) - 0.5))
    row_of = {row["agent"]: row for row in rows}
    for index, run in enumerate(runs):
        style = plot.style_of(index)
        for name, x in zip(run["agents"], run["steps"], strict=True):
            draw_rating(panels[1], row_of[name], x, horizontal=False, color=style["color"])
        elo = [row_of[name]["elo"] for name in run["agents"]]
        panels[1].plot(run["steps"], elo, label=shortened(run["run"]), **style)
    if runs:
        panels[1].set(xlabel=plot.X_LABEL["steps"], ylabel="Elo rating, 95 % interval")
        panels[1].xaxis.set_major_formatter(plot.text_of_tick)
        panels[1].legend(fontsize="small")
    figure.suptitle(title)
    return figure


def draw_rating(
    axes: Any, row: Mapping[str, Any], place: float, *, horizontal: bool, color: Any = plot.COLOURS[0]
) -> None:
    """Draws a rating and its interval at a place of the other axis. An end without a bound is drawn as an arrow."""
    ends = row["elo_interval"]
    below, above = (0.0 if end is None else abs(row["elo"] - end) for end in ends)
    error = {"xerr" if horizontal else "yerr": [[below], [above]]}
    x, y = (row["elo"], place) if horizontal else (place, row["elo"])
    axes.errorbar(x, y, **error, fmt="o", markersize=4, capsize=3, color=color)
    for end, marker in zip(ends, "<>" if horizontal else "v^", strict=True):
        if end is None:
            axes.plot(x, y, marker=marker, markersize=9, fillstyle="none", color=color)


def shortened(name: str) -> str:
    """Returns a name whose beginning is left out if it is long: the end has the run's name and checkpoint."""
    return name if len(name) <= MAX_NAME else "…" + name[1 - MAX_NAME :]


# -- text --------------------------------------------------------------------------------------------------------------


def table(result: Mapping[str, Any]) -> str:
    """Returns the table of ratings."""
    header = ["agent", "Elo", "95 % interval", "games", "score", *(["CPU ms"] if "cpu_ms" in result else [])]
    rows: list[list[str]] = []
    for row in result["agents"]:
        score = (row["wins"] + row["draws"] / 2) / row["games"]
        interval = format_interval(*row["elo_interval"])
        rows.append([row["agent"], f"{row['elo']:,.0f}", interval, f"{row['games']:,}", f"{score:.3f}"])
        if "cpu_ms" in result:
            rows[-1].append(f"{result['cpu_ms'][row['agent']]:.3g}")
    return markdown(header, rows, padded=True)


def format_interval(low: float | None, high: float | None) -> str:
    """Returns an interval of ratings in words; None is an end that the games do not bound."""
    if low is None or high is None:
        return "no bound" if low == high else f"at most {high:,.0f}" if low is None else f"at least {low:,.0f}"
    return f"{low:,.0f} to {high:,.0f}"


main = functools.partial(run_command, "train.ladder", Arguments, ladder, text=table)

if __name__ == "__main__":
    main()
