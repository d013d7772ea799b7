"""Results of the docs that several commands make: a list of entries, each of which becomes docs/results/NAME.json.

    python -m train.baselines.entries solved_boxes_3_3 ladder_boxes_solved     # without names: all of them

    ladder_*                agents of solved boards with perfect play, and of the stars with their search. The ladders
                            of other boards are on the cards of their baseline agents
    self_play_switches_*    AlphaZero with and without forced playouts, trained for equal CPU time, in a match
    solved_*                on solved boards, AlphaZero by self-play, and a second agent that continues from its network
                            with labels of the exact solution, by imitation; `train.strength` measures both

A finished command is not run again: `train.baselines.recorded_commands`. `examples.papers.tables` makes the tables.
"""

import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import tyro

from jaxgames._checks import check_choice
from jaxgames._files import write_whole
from train.baselines.recorded_commands import RUNS, Record, RecordedCommands, provenance, total_seconds
from train.driver.commands import run_command

RESULTS = Path(__file__).parents[2] / "docs" / "results"
Rows = list[dict[str, Any]]


class Entry(NamedTuple):
    """A result: its commands without `python -m`, and the rows that their records give, by the texts of commands."""

    env: str
    commands: tuple[str, ...]
    rows: Callable[[Mapping[str, Record]], Rows]
    seeds: int = 1


@dataclass(frozen=True, kw_only=True)
class Arguments:
    names: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """The entries; none for all. An unknown name is refused with the list."""
    output: Path = RESULTS
    """The folder of the results."""


def store(arguments: Arguments) -> dict[str, Any]:
    """Runs the commands of the entries, and writes and returns their results.

    Raises ValueError for an unknown name, and for a command that fails.
    """
    for name in arguments.names:
        check_choice("name", name, tuple(ENTRIES))
    runner, results = RecordedCommands(), dict[str, Any]()
    for name in arguments.names or ENTRIES:
        env, commands, rows, seeds = ENTRIES[name]
        records = {text: runner.run(text) for text in commands}
        results[name] = {
            "env": env,
            "commands": [f"python -m {text}" for text in records],
            **provenance(record.cpu_seconds for record in records.values()),
            "seeds": seeds,
            "rows": rows(records),
        }
        arguments.output.mkdir(parents=True, exist_ok=True)
        write_whole(arguments.output / f"{name}.json", json.dumps(results[name], indent=1) + "\n")
    return results


# -- solved boards ---------------------------------------------------------------------------------------------------

SELF_PLAY, TAUGHT = "self-play", "then the exact solution"
PUCT = "PUCT"  # the rule of a search in place of the Gumbel search of self-play
STORED = (
    *("weak_solved", "ultra_weak", "weak_states", "agent_states", "sure_fraction", "strong_action", "strong_decisive"),
    *("worst_margin", "strong_margin_lost"),  # of Dots and Boxes
)


def solved(
    name: str,
    env: str,
    self_play: str,
    *measures: str,
    labels: int,
    taught: int,
    hidden_sizes: int = 256,
    value_coef: int = 1,
    seeds: int = 1,
) -> Entry:
    """Returns the trainings on a solved board and their measures: a row per agent and search.

    Args:
      self_play: further arguments of `train.alphazero`.
      measures: arguments of `train.strength` behind its agents: "both", "own" (self-play alone: the games with all
        replies of the agent with labels can have too many positions for a search) or "puct" (the same with another
        search). The first measure of an agent with a search counts.
      labels: positions that the solution labels.
      taught: positions that `train.imitation` learns from.
    """
    solution, positions = f"{RUNS}/{name}.npz", f"{RUNS}/{name}_labels.npz"
    network = f'--network "residual_mlp(blocks=2)" --hidden-sizes {hidden_sizes}'
    label = (
        f'train.data --env "{env}" --label "solver({solution}, ties=random)" --positions {labels} --train 98 '
        f"--output {positions}"
    )
    commands: list[str] = []
    learned: dict[str, tuple[str, ...]] = {}  # the commands that taught an agent, by its run
    for seed in range(seeds):
        own = f"{RUNS}/{name}_{seed}"
        play = f'train.alphazero --env "{env}" {network} {self_play} --evaluate-every 0 --seed {seed} --run-dir {own}'
        teach = (
            f'train.imitation --env "{env}" --data {positions} --init-from {own} {network} --value-coef {value_coef} '
            f"--legal-coef 0 --weight-decay 0 --total-steps {taught} --num-minibatches 500 --symmetries "
            f"--evaluate-every 0 --seed {seed} --run-dir {own}_taught"
        )
        learned |= {own: (play,), f"{own}_taught": (play, label, teach)}
        commands += [f'jaxgames.solvers "{env}" --output {solution}', play, label, teach]
        agents = {"both": f"{own} {own}_taught", "own": own, "puct": f'"{own}(search=puct)"'}
        for of, _, arguments in (measure.partition(" ") for measure in measures):
            commands.append(f"train.strength {agents[of]} --solution {solution} {arguments}")

    def rows(records: Mapping[str, Record]) -> Rows:
        found: dict[tuple[str, str, str], dict[str, Any]] = {}
        for text in (text for text in records if text.startswith("train.strength")):
            for row in records[text].result["rows"]:
                rule = PUCT if row["search"] and "search=puct" in text else ""
                found.setdefault((row["agent"].partition("(")[0].partition("@")[0], row["search"], rule), row)
        rows: Rows = []
        for (run, _, rule), row in found.items():
            seconds = total_seconds(records[text].cpu_seconds for text in learned[run])
            rows.append(
                {
                    "learned": TAUGHT if run.endswith("_taught") else SELF_PLAY,
                    "seed": int(run.removesuffix("_taught").rpartition("_")[2]),
                    "simulations": row["simulations"],
                    **({"rule": rule} if rule else {}),
                    "cpu_seconds": None if seconds is None else round(seconds),
                    **{key: row[key] for key in STORED if key in row},
                }
            )
        return rows

    return Entry(env, tuple(dict.fromkeys(commands)), rows, seeds)


FROM_RANDOM = "--truncation-is-draw --random-moves 0.08 --random-starts 0.2"
SOLVED = {
    "diamond_4_3": solved(
        "diamond_4_3",
        "chinese_checkers_diamond(size=4, pieces=3)",
        "--slots 20 --total-steps 900000 --keep-every 10",
        "both --simulations 64 --strong-states 20000",
        "both --simulations 256 --strong-states 4096 --no-weak",
        labels=120_000,
        taught=2_500_000,
        seeds=3,
    ),
    "diamond_5_3": solved(
        "diamond_5_3",
        "chinese_checkers_diamond(size=5, pieces=3, max_plies=50)",  # the start is won in 29 plies
        f"--slots 24 {FROM_RANDOM} --total-steps 3000000",
        "both --strong-states 100000",
        "own --simulations 64 --strong-states 4096",
        "puct --simulations 64 --strong-states 4096",
        "both --simulations 64 256 --strong-states 4096 --no-weak",
        labels=400_000,
        taught=4_000_000,
        hidden_sizes=320,
    ),
    "diamond_4_6": solved(
        "diamond_4_6",
        "chinese_checkers_diamond(size=4, pieces=6, tip_lock=True, max_plies=50)",  # the start is won in 33 plies
        f"--slots 20 {FROM_RANDOM} --total-steps 5000000",
        "both --strong-states 20000",
        "own --simulations 64 --strong-states 20000",
        "puct --simulations 64 256 --strong-states 20000",
        "both --simulations 64 256 --strong-states 4096 --no-weak",
        labels=300_000,
        taught=3_500_000,
        seeds=3,
    ),
    "boxes_3_3": solved(
        "boxes_3_3",
        "dots_and_boxes(rows=3, cols=3, reward=margin)",
        "--random-starts 0.5 --total-steps 1500000",
        "both --strong-states 200000 --seat 1",
        "both --simulations 64 256 --strong-states 20000 --no-weak --seat 1",
        labels=2_000_000,
        taught=14_000_000,
        hidden_sizes=384,
        value_coef=2,
    ),
}


# -- ladders -----------------------------------------------------------------------------------------------------------


def ladder_rows(record: Record) -> Rows:
    """Returns the ratings of `train.ladder --cost` with the milliseconds of a move, the highest first."""
    return [row | {"cpu_ms": record.result["cpu_ms"][row["agent"]]} for row in record.result["agents"]]


def ladder(name: str, env: str, agents: tuple[str, ...], commands: tuple[str, ...], games: int = 100) -> Entry:
    """Returns a ladder with `games` games of every pair, after the commands that make its agents."""
    texts = " ".join(f'"{agent}"' for agent in agents)
    played = f'train.ladder "{env}" {texts} --games {games} --cost --output {RUNS}/ladder_{name}'
    return Entry(env, (*commands, played), lambda records: ladder_rows(records[played]))


def ladder_of_board(name: str, board: str, *others: str) -> Entry:
    """Returns the ladder of a solved board, with perfect play, the agent of self-play, searches and other agents."""
    env, (solution, self_play, *_), *_ = SOLVED[board]
    run = f"{RUNS}/{board}_0"
    agents = ("greedy", "mcts(simulations=100)", "openspiel(simulations=100)", *others, run, f"{run}(simulations=64)")
    return ladder(name, env, (*agents, f"solver({RUNS}/{board}.npz)"), (solution, self_play))


def ladder_of_star(
    size: int, env: str, race: str, learning: str, others: tuple[str, ...] = (), commands: tuple[str, ...] = ()
) -> Entry:
    """Returns the ladder of a star, with the search `race` of the parameters and other agents."""
    searcher = f"examples.papers.parameter_sharing.turn_search:race({race})"
    learn = f"examples.papers.parameter_sharing.turn_search.learning {learning} --output runs/race"
    agents = ("greedy", "baseline", searcher, *others)
    return ladder(f"chinese_checkers_{size}", env, agents, (learn, *commands), games=60)


# -- switches of self-play ---------------------------------------------------------------------------------------------

# Arguments of `train.alphazero`, of both agents of a match. docs/results has rows of other ways, too.
WAYS = {"forced_playouts": "--forced-playouts 2 ", "puct": ""}


def switches(name: str, env: str, arguments: str, steps: int) -> Entry:
    """Returns the trainings of both WAYS by PUCT with 32 simulations, and their match with 16.

    `arguments` are those of both trainings, with a blank behind; they take about the same CPU time.
    """
    run = f"{RUNS}/self_play_{name}"
    trainings = [
        f'train.alphazero --env "{env}" {arguments}--search puct --simulations 32 {given}--total-steps {steps} '
        f"--evaluate-every 0 --run-dir {run}_{way}"
        for way, given in WAYS.items()
    ]
    agents = " ".join(f'"{run}_{way}(simulations=16)"' for way in WAYS)
    match = f'train.match {agents} --env "{env}" --games 400 --openings 200 --seating alternating'

    def rows(records: Mapping[str, Record]) -> Rows:
        return [
            {
                "game": env,
                "ways": [*WAYS],
                "steps": [records[training].result["steps"] for training in trainings],
                "cpu_seconds": [records[training].cpu_seconds for training in trainings],
                **score_of(records[match].result),
            }
        ]

    return Entry(env, (*trainings, match), rows)


def score_of(result: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the games of `train.match` from the side of its first agent. A draw is half a point of the score."""
    wins, losses = (agent["wins"] for agent in result["agents"])
    games = result["games"]
    draws = games - wins - losses
    return {"games": games, "wins": wins, "draws": draws, "losses": losses, "score": (wins + draws / 2) / games}


ENTRIES: dict[str, Entry] = {
    "ladder_diamond_solved": ladder_of_board("diamond_solved", "diamond_4_3"),
    "ladder_boxes_solved": ladder_of_board(
        "boxes_solved",
        "boxes_3_3",
        "alphabeta(milliseconds=1)",
        "alphabeta(milliseconds=200)",
        f"{RUNS}/boxes_3_3_0(simulations=64, search=puct)",
    ),
    "ladder_chinese_checkers_2": ladder_of_star(
        2,
        "chinese_checkers(size=2, num_players=6)",
        "runs/race/2.npz, candidates=4, samples=16, near=8.0, rounds=15",
        "--size 2 --games 60000",
        ("greedy(epsilon=0.2)", "runs/demo"),
        ("examples.demo",),
    ),
    "ladder_chinese_checkers_3": ladder_of_star(3, "chinese_checkers(size=3)", "runs/race/3.npz", "--size 3"),
    "ladder_chinese_checkers_4": ladder_of_star(4, "chinese_checkers", "runs/race/4.npz", "--size 4 --games 6000"),
    "self_play_switches_diamond_4_3": switches(
        "diamond_4_3",
        "chinese_checkers_diamond(size=4, pieces=3)",
        "--slots 20 --hidden-sizes 256 ",
        213_000,
    ),
    "self_play_switches_boxes_3_3": switches("boxes_3_3", "dots_and_boxes(rows=3, cols=3, reward=margin)", "", 295_000),
    "self_play_switches_minichess": switches("minichess", "minichess", "--no-symmetries ", 147_000),
    "self_play_switches_checkers": switches("checkers", "checkers(max_plies=150)", "", 238_000),
    **{f"solved_{name}": entry for name, entry in SOLVED.items()},
}

main = functools.partial(run_command, "train.baselines.entries", Arguments, store)

if __name__ == "__main__":
    main()
