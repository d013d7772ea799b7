"""Trains agents on solved boards, and measures how near they come to solving them: `python -m train.baselines.solved`.

On each board of BOARDS, AlphaZero learns by self-play, with several seeds. A second agent continues from each of these
networks with labels of the exact solution, by imitation. `train.strength` measures both, alone and with a tree search.

Each board is stored in docs/results/solved_NAME.json, from which `examples.papers.tables` makes its table. A finished
command is not run again: `train.baselines.recorded_commands`.
"""

import functools
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from train.baselines.recipes import RUNS
from train.baselines.recorded_commands import RecordedCommands
from train.baselines.stored_results import NamedResults, provenance, store
from train.driver.commands import run_command
from train.driver.tables import markdown

SELF_PLAY, TAUGHT = "self-play", "then the exact solution"
PUCT = "PUCT"  # the rule of a search in place of the Gumbel search of self-play
STORED = (
    "weak_solved",
    "ultra_weak",
    "weak_states",
    "agent_states",
    "sure_fraction",
    "strong_action",
    "strong_decisive",
)
OF_BOXES = ("worst_margin", "strong_margin_lost")
HEADER = ("learned from", "simulations", "CPU seconds", "weakly solved", *(f"`{name}`" for name in STORED[1:]))


@dataclass(frozen=True)
class Board:
    """The settings of a board."""

    env: str
    network: str
    """Arguments of the trainings that name the network."""
    self_play: str
    """Further arguments of `train.alphazero`."""
    labels: int
    """Positions that the solution labels."""
    taught: str
    """Further arguments of `train.imitation`."""
    measures: str
    """Arguments of `train.strength`."""
    searched: str
    """Arguments of a second `train.strength` with searches, which can leave out the weak measures."""
    of_self_play: str = ""
    """Arguments of one more `train.strength` with searches, of the agent of self-play alone; none if empty.
    The games with all replies of the agent with labels can have too many positions for a search."""
    with_puct: str = ""
    """Arguments of one more `train.strength` of the agent of self-play, with searches by PUCT; none if empty."""
    seeds: int = 1

    def commands(self, name: str, seed: int) -> dict[str, str]:
        """Returns the commands of a seed in their order, without `python -m`, by what they make."""
        solution, labels = f"{RUNS}/{name}.npz", f"{RUNS}/{name}_labels.npz"
        own, taught = f"{RUNS}/{name}_{seed}", f"{RUNS}/{name}_{seed}_taught"
        more = {
            "of_self_play": f"train.strength {own} --solution {solution} {self.of_self_play}",
            "with_puct": f'train.strength "{own}(search=puct)" --solution {solution} {self.with_puct}',
        }
        return {
            "solution": f'jaxgames.solvers "{self.env}" --output {solution}',
            SELF_PLAY: f'train.alphazero --env "{self.env}" {self.network} {self.self_play} --evaluate-every 0 '
            f"--seed {seed} --run-dir {own}",
            "labels": f'train.data --env "{self.env}" --label "solver({solution}, ties=random)" '
            f"--positions {self.labels} --train 98 --output {labels}",
            TAUGHT: f'train.imitation --env "{self.env}" --data {labels} --init-from {own} {self.network} '
            f"{self.taught} --symmetries --evaluate-every 0 --seed {seed} --run-dir {taught}",
            "measures": f"train.strength {own} {taught} --solution {solution} {self.measures}",
            **{what: text for what, text in more.items() if getattr(self, what)},
            "searched": f"train.strength {own} {taught} --solution {solution} {self.searched}",
        }


BOARDS = {
    "diamond_4_3": Board(
        env="chinese_checkers_diamond(size=4, pieces=3)",
        network='--network "residual_mlp(blocks=2)" --hidden-sizes 256',
        self_play="--slots 20 --total-steps 900000 --keep-every 10",
        labels=120_000,
        taught="--value-coef 1 --legal-coef 0 --weight-decay 0 --total-steps 2500000 --num-minibatches 500",
        measures="--simulations 64 --strong-states 20000",
        searched="--simulations 256 --strong-states 4096 --no-weak",
        seeds=3,
    ),
    "diamond_5_3": Board(
        env="chinese_checkers_diamond(size=5, pieces=3, max_plies=50)",  # the start is won in 29 plies
        network='--network "residual_mlp(blocks=2)" --hidden-sizes 320',
        self_play="--slots 24 --truncation-is-draw --random-moves 0.08 --random-starts 0.2 --total-steps 3000000",
        labels=400_000,
        taught="--value-coef 1 --legal-coef 0 --weight-decay 0 --total-steps 4000000 --num-minibatches 500",
        measures="--strong-states 100000",
        searched="--simulations 64 256 --strong-states 4096 --no-weak",
        of_self_play="--simulations 64 --strong-states 4096",
        with_puct="--simulations 64 --strong-states 4096",
    ),
    "diamond_4_6": Board(
        env="chinese_checkers_diamond(size=4, pieces=6, tip_lock=True, max_plies=50)",  # the start is won in 33 plies
        network='--network "residual_mlp(blocks=2)" --hidden-sizes 256',
        self_play="--slots 20 --truncation-is-draw --random-moves 0.08 --random-starts 0.2 --total-steps 5000000",
        labels=300_000,
        taught="--value-coef 1 --legal-coef 0 --weight-decay 0 --total-steps 3500000 --num-minibatches 500",
        measures="--strong-states 20000",
        searched="--simulations 64 256 --strong-states 4096 --no-weak",
        of_self_play="--simulations 64 --strong-states 20000",
        with_puct="--simulations 64 256 --strong-states 20000",
        seeds=3,
    ),
    "boxes_3_3": Board(
        env="dots_and_boxes(rows=3, cols=3, reward=margin)",
        network='--network "residual_mlp(blocks=2)" --hidden-sizes 384',
        self_play="--random-starts 0.5 --total-steps 1500000",
        labels=2_000_000,
        taught="--value-coef 2 --legal-coef 0 --weight-decay 0 --total-steps 14000000 --num-minibatches 500",
        measures="--strong-states 200000 --seat 1",
        searched="--simulations 64 256 --strong-states 20000 --no-weak --seat 1",
    ),
}


class Arguments(NamedResults):
    """The boards, such as diamond_4_3."""


def solve_boards(arguments: Arguments) -> dict[str, Any]:
    """Trains and measures the agents, writes the files, and returns the result that the command prints.

    Raises ValueError for an unknown name, and for a command that fails.
    """
    stored = store("solved", BOARDS, result_of, arguments)
    for result in stored.values():
        print(table(result["rows"]))
    return stored


def result_of(name: str, board: Board, records: RecordedCommands) -> dict[str, Any]:
    """Returns the measures of the agents of a board, with the commands that made them, and where they ran."""
    rows: list[dict[str, Any]] = []
    commands: dict[str, float | None] = {}  # with their CPU seconds
    for seed in range(board.seeds):
        texts = board.commands(name, seed)
        finished = {what: records.run(text) for what, text in texts.items()}
        commands |= {f"python -m {text}": finished[what].cpu_seconds for what, text in texts.items()}
        all_measured: dict[tuple[str, str, str], dict[str, Any]] = {}
        # The first measure of an agent with a search counts.
        for what in ("measures", "of_self_play", "with_puct", "searched"):
            for row in finished[what].result["rows"] if what in finished else ():
                rule = PUCT if row["search"] and what == "with_puct" else ""
                run = row["agent"].partition("(")[0].partition("@")[0]
                all_measured.setdefault((run, row["search"], rule), row)
        for (run, _, rule), measured in all_measured.items():
            learned = TAUGHT if run.endswith("_taught") else SELF_PLAY
            seconds = finished[SELF_PLAY].cpu_seconds
            if learned == TAUGHT and seconds is not None:
                seconds += (finished["labels"].cpu_seconds or 0) + (finished[TAUGHT].cpu_seconds or 0)
            row: dict[str, Any] = {"learned": learned, "seed": seed, "simulations": measured["simulations"]}
            row |= {"rule": rule} if rule else {}
            row["cpu_seconds"] = None if seconds is None else round(seconds)
            rows.append(row | {key: measured[key] for key in (*STORED, *OF_BOXES) if key in measured})
    return {
        "env": board.env,
        "commands": [*commands],
        **provenance(commands.values()),
        "seeds": board.seeds,
        "rows": rows,
    }


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns the measures of a board as a table in Markdown: medians of the seeds."""
    kinds: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        kinds.setdefault((row["learned"], text_of_search(row)), []).append(row)
    lines: list[tuple[str, ...]] = []
    for (learned, search), seeds in kinds.items():
        weak = [row["weak_solved"] for row in seeds if "weak_solved" in row]
        solved = f"{sum(weak)} of {len(weak)}" if weak else ""
        lines.append(
            (
                learned,
                search,
                _median(seeds, "cpu_seconds", ",.0f"),
                solved,
                *(_median(seeds, key, ",.0f" if key == "agent_states" else ".5f") for key in STORED[1:]),
            )
        )
    return markdown(HEADER, lines)


def text_of_search(row: Mapping[str, Any]) -> str:
    """Returns a row's number of simulations, with the rule of the search unless it is the rule of self-play."""
    simulations = str(row["simulations"])
    return f"{simulations}, {row['rule']}" if "rule" in row else simulations


def _median(rows: Sequence[Mapping[str, Any]], key: str, form: str) -> str:
    values = [row[key] for row in rows if row.get(key) is not None]
    return format(statistics.median(values), form) if values else ""


main = functools.partial(run_command, "train.baselines.solved", Arguments, solve_boards)

if __name__ == "__main__":
    main()
