"""Trains as the study does, with every game from the start: Figures 4 to 6, and Table 2.

    python -m examples.papers.solution_strength.self_play

    python -m examples.papers.solution_strength.self_play --settings study --seeds 1 --searches 1024 \\
        --output runs/papers/solution_strength/self_play_study

An iteration has as many steps as 800 games of 24 plies. In "ours" the network and the search are smaller than those of
the study, and the learning rate is ours. With `--gamma 1 --td-lambda 1` the values learn the outcomes, as in the study.
"study" has its settings as far as its text gives them, those of `train.alphazero --preset paper`.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib.figure import Figure

from examples.papers._experiment import (
    WITHOUT_GAMES,
    Column,
    Experiment,
    Report,
    new_picture,
    run_experiment,
    table_of,
    train_all,
)
from jaxgames.solvers import Solution, solve
from jaxgames.solvers.strength import measure
from train import agents
from train.alphazero import Config, config_for
from train.driver.metrics import rounded
from train.driver.run_folder import RunFolder
from train.models.tabulated import with_table
from train.plot import style_of
from train.strength import DIGITS, deterministic
from train.sweep import sweep_of

SELF_PLAY = {  # by the heads of the table: the metrics whose sum it has, and the panel of the picture
    "first player wins": (("episode_win_rate/seat_0",), 0),
    "second player wins": (("episode_win_rate/seat_1",), 0),
    "draws": (("episode_draw_rate", "episode_truncated_rate"), 0),
    "values right": (("self_play_value_accuracy",), 1),
    "plies": (("episode_length",), 2),
}
STUDY_TABLE = {0: (0.886, 147_813), 10: (0.955, 45_390), 20: (0.980, 22_633), 30: (0.975, 35_272), 40: (0.976, 25_236)}
STATED = {"first player wins": (12, 1.0), "values right": (18, 1.0), "plies": (20, 5.0)}  # from an iteration on
THEIRS = {  # by iteration
    iteration: f"{head}: {'about ' if head == 'plies' else ''}{value:g}" for head, (iteration, value) in STATED.items()
}
SHOWN = (1, 5, 10, 12, 15, 18, 20, 25, 30, 40, 50)  # iterations of the table
WEAK = {  # measures of the second table, and their formats
    **{"weak_states": ".3f", "agent_states": ",.0f", "unique_states": ",.0f", "sure_fraction": ".3f"},
    **{"strong_action": ".3f", "action_weak": ".4f", "self_play_plies": ",.0f"},
}
KEEP_EVERY = 10  # iterations between the checkpoints, as in Table 2
PLIES = 50  # after which a game is drawn
STRONG_STATES = 4096  # random positions of the strong measures of a search; of the network alone, all
OURS: dict[str, Any] = {
    "num_envs": 384,
    "rollout_length": 50,
    "simulations": 16,
    "gamma": Config.gamma,
    "td_lambda": Config.td_lambda,
    "slots": 20,
    "hidden_sizes": (256,),
    "num_updates": 75,
    "random_starts": 0.0,
    "truncation_is_draw": True,
}
QUICK: dict[str, Any] = {
    "env": "chinese_checkers_diamond(size=3, pieces=3, max_plies=50)",
    "seeds": 2,
    "iterations": 2,
    "simulations": 2,
    "num_envs": 8,
    "searches": (2,),
}


@dataclass(frozen=True)
class Arguments(Experiment):
    output: Path = Path("runs/papers/solution_strength/self_play")
    env: str = "chinese_checkers_diamond(size=4, pieces=3, max_plies=50)"
    """The game, one that can be solved."""
    seeds: int = 3
    """The number of runs."""
    settings: Literal["ours", "study"] = "ours"
    """study: the preset paper of `train.alphazero`. ours: the game's recipe, with 16 simulations, TD(0.9) for the
    values, and no random starts."""
    iterations: int = 50
    """Iterations of each run."""
    simulations: int | None = None
    """Simulations per move in self-play. This and the next three are those of the settings if not given."""
    gamma: float | None = None
    """Discount each time that the other seat moves next; the study has none."""
    td_lambda: float | None = None
    """Lambda of the value targets; 1 is the outcome, as in the study."""
    num_envs: int | None = None
    """Boards that are played at once; an iteration has 50 steps of each."""
    searches: tuple[int, ...] = ()
    """Simulations per move of the agents that are measured beside the network alone; 1,024 in the study."""
    seed: int = 0
    """Seed of the first run."""


def report(arguments: Arguments) -> Report:
    settings = settings_of(arguments)
    sweep = sweep_of("alphazero", {name: (of,) for name, of in settings.items()}, arguments.seeds, arguments.seed)
    train_all(sweep, arguments.output, replace(WITHOUT_GAMES, keep_every=KEEP_EVERY))
    runs = {name: agents.open_run(arguments.output / name) for name in sweep.cells}
    played = [rows_of(run) for run in runs.values()]
    games: list[dict[str, Any]] = [
        {"iteration": iteration, **means_over(rows, SELF_PLAY)}
        for iteration, rows in enumerate(zip(*played, strict=True), start=1)
    ]

    solution = solve(agents.env_for([str(arguments.output / next(iter(runs)))], None))
    measured_iterations = sorted(set[int].intersection(*(set(run.checkpoints()) for run in runs.values())))
    weak: list[dict[str, Any]] = [
        {
            "iteration": at,
            "simulations": simulations,
            **means_over([_measured(arguments, solution, run, at, simulations) for run in runs.items()], WEAK),
        }
        for simulations in (0, *arguments.searches)
        for at in measured_iterations
    ]
    at: dict[str, Column] = {"iteration": "{iteration}"}
    of_games: dict[str, Column] = {head: functools.partial(_entry, head) for head in SELF_PLAY}
    of_games["the study"] = lambda row: THEIRS.get(row["iteration"], "")
    table_2 = {f"`{name}`": functools.partial(_entry, name) for name in WEAK}
    columns = {**at, "simulations": "{simulations}", **table_2, "the study, 1,024 simulations": _of_study}
    tables = [table_of([row for row in games if row["iteration"] in SHOWN], at | of_games), table_of(weak, columns)]
    return Report({"self_play": games, "weak": weak}, "\n\n".join(tables), {"figures_4_to_6": draw(games)})


def settings_of(arguments: Arguments) -> dict[str, Any]:
    """Returns the settings of the runs but the seed."""
    if arguments.settings == "study":
        settings = {name: value for name, value in vars(config_for(preset="paper")).items() if name != "seed"}
    else:
        settings = dict(OURS)
    for name in ("simulations", "gamma", "td_lambda", "num_envs"):
        if getattr(arguments, name) is not None:
            settings[name] = getattr(arguments, name)
    steps = arguments.iterations * settings["num_envs"] * settings["rollout_length"]
    return settings | {"env": arguments.env, "total_steps": steps}


def rows_of(run: RunFolder) -> list[dict[str, float | None]]:
    """Returns the numbers of the table of each iteration; None where no game ended."""
    return [
        {
            head: None if row.get(names[0]) is None else sum(row.get(name) or 0.0 for name in names)
            for head, (names, _) in SELF_PLAY.items()
        }
        for row in run.rows()
    ]


def _measured(
    arguments: Arguments, solution: Solution[Any], named: tuple[str, RunFolder], iteration: int, simulations: int
) -> dict[str, Any]:
    """Returns the measures of the agent of a checkpoint with a number of simulations, 0 for the network alone."""
    name, run = named
    agent = f"{run.folder}@{iteration}"

    def compute() -> dict[str, Any]:
        made = agents.agent_of_run(run, iteration, solution.env, temperature=0.0, simulations=simulations)
        player = deterministic(agent, with_table(made, solution.num_states), solution.env)
        states = min(STRONG_STATES, solution.num_states) if simulations else None
        found = measure(solution.env, player.act, solution, PLIES, strong_states=states)
        return rounded(found, DIGITS)

    key = {"run": name, "iteration": iteration}
    if simulations == 0:
        return arguments.once(key, compute)
    return arguments.once(key | {"simulations": simulations}, compute, file="searches")


def means_over(rows: Sequence[Mapping[str, Any]], names: Iterable[str]) -> dict[str, list[float] | None]:
    """Returns the mean, least and largest of each number over the rows where it is not None; None if in none."""
    values = {name: [row[name] for row in rows if row[name] is not None] for name in names}
    return {name: [sum(of) / len(of), min(of), max(of)] if of else None for name, of in values.items()}


def _entry(name: str, row: Mapping[str, Any]) -> str:
    if row[name] is None:
        return "-"
    mean, least, most = (format(value, (WEAK | {"plies": ".1f"}).get(name, ".3f")) for value in row[name])
    return mean if least == most else f"{mean} ({least}-{most})"


def _of_study(row: Mapping[str, Any]) -> str:
    outcomes, states = STUDY_TABLE.get(row["iteration"], (None, None))
    return "" if outcomes is None or row["simulations"] not in (0, 1024) else f"{outcomes}, {states:,}"


def draw(games: Sequence[Mapping[str, Any]]) -> Figure:
    """Returns Figures 4 to 6: the mean of the runs by iteration in a band from the least to the largest, and the study.

    `games` has a row per iteration: its number, and by the names of SELF_PLAY the mean, least and largest, or None.
    """
    figure, panels = new_picture(11, 4.0, across=3)
    for number, (head, (_, panel)) in enumerate(SELF_PLAY.items()):
        color = style_of(number)["color"]
        at, mean, least, most = np.array([(row["iteration"], *row[head]) for row in games if row[head] is not None]).T
        panels[panel].fill_between(at, least, most, color=color, alpha=0.2, linewidth=0)
        panels[panel].plot(at, mean, color=color, label=head)
    for axes, (head, (iteration, value)) in zip(panels, STATED.items(), strict=True):
        axes.plot(iteration, value, "kD", markersize=5, clip_on=False, label=f"the study, {THEIRS[iteration]}")
        axes.set(xlabel="iteration", ylim=(0, None if head == "plies" else 1.02))
        axes.legend(fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
    return figure


if __name__ == "__main__":
    run_experiment(Arguments, QUICK, report)
