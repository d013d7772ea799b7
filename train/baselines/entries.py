"""Results of the docs that several commands make: a list of entries, each of which becomes docs/results/NAME.json.

    python -m train.baselines.entries solved_boxes_3_3 ladder_boxes_solved     # without names: all of them

    ladder_*                agents of solved boards with perfect play, and of the stars with their search. The ladders
                            of other boards are on the cards of their baseline agents
    self_play_switches_*    AlphaZero with switches of its self-play, trained for equal CPU time; a match for each pair
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
from train.baselines.recipes import RUNS, STAR_2, STAR_3, joined
from train.baselines.recorded_commands import Record, RecordedCommands, provenance
from train.driver.commands import run_command

RESULTS = Path(__file__).parents[2] / "docs" / "results"
Rows = list[dict[str, Any]]


class Entry(NamedTuple):
    """A result: its commands by what they make, without `python -m`, and the rows that their records give."""

    env: str
    commands: Mapping[str, str]
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
    records = RecordedCommands(Path(RUNS) / "commands.jsonl")
    results: dict[str, Any] = {}
    for name in arguments.names or ENTRIES:
        entry = ENTRIES[name]
        finished = {what: records.run(text) for what, text in entry.commands.items()}
        results[name] = {
            "env": entry.env,
            "commands": list(dict.fromkeys(f"python -m {text}" for text in entry.commands.values())),
            **provenance({entry.commands[what]: record.cpu_seconds for what, record in finished.items()}.values()),
            "seeds": entry.seeds,
            "rows": entry.rows(finished),
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

    def entry(self, name: str) -> Entry:
        commands = {
            f"{seed} {what}": text for seed in range(self.seeds) for what, text in self.commands(name, seed).items()
        }
        return Entry(self.env, commands, self.rows, self.seeds)

    def rows(self, records: Mapping[str, Record]) -> Rows:
        """Returns the measures of the agents, by seed, by what they learned from and by their search."""
        rows: Rows = []
        for seed in range(self.seeds):
            finished = {what.partition(" ")[2]: each for what, each in records.items() if what.startswith(f"{seed} ")}
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
                row = {"learned": learned, "seed": seed, "simulations": measured["simulations"]}
                row |= {"rule": rule} if rule else {}
                row["cpu_seconds"] = None if seconds is None else round(seconds)
                rows.append(row | {key: measured[key] for key in STORED if key in measured})
        return rows


DIAMOND_TAUGHT = "--value-coef 1 --legal-coef 0 --weight-decay 0 --total-steps {} --num-minibatches 500"
FROM_RANDOM = "--truncation-is-draw --random-moves 0.08 --random-starts 0.2"
BOARDS = {
    "diamond_4_3": Board(
        env="chinese_checkers_diamond(size=4, pieces=3)",
        network='--network "residual_mlp(blocks=2)" --hidden-sizes 256',
        self_play="--slots 20 --total-steps 900000 --keep-every 10",
        labels=120_000,
        taught=DIAMOND_TAUGHT.format(2500000),
        measures="--simulations 64 --strong-states 20000",
        searched="--simulations 256 --strong-states 4096 --no-weak",
        seeds=3,
    ),
    "diamond_5_3": Board(
        env="chinese_checkers_diamond(size=5, pieces=3, max_plies=50)",  # the start is won in 29 plies
        network='--network "residual_mlp(blocks=2)" --hidden-sizes 320',
        self_play=f"--slots 24 {FROM_RANDOM} --total-steps 3000000",
        labels=400_000,
        taught=DIAMOND_TAUGHT.format(4000000),
        measures="--strong-states 100000",
        searched="--simulations 64 256 --strong-states 4096 --no-weak",
        of_self_play="--simulations 64 --strong-states 4096",
        with_puct="--simulations 64 --strong-states 4096",
    ),
    "diamond_4_6": Board(
        env="chinese_checkers_diamond(size=4, pieces=6, tip_lock=True, max_plies=50)",  # the start is won in 33 plies
        network='--network "residual_mlp(blocks=2)" --hidden-sizes 256',
        self_play=f"--slots 20 {FROM_RANDOM} --total-steps 5000000",
        labels=300_000,
        taught=DIAMOND_TAUGHT.format(3500000),
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


# -- ladders -----------------------------------------------------------------------------------------------------------


def ladder_rows(records: Mapping[str, Record]) -> Rows:
    """Returns the ratings of `train.ladder --cost` with the milliseconds of a move, the highest first."""
    result = records["ladder"].result
    return [row | {"cpu_ms": result["cpu_ms"][row["agent"]]} for row in result["agents"]]


def ladder(name: str, env: str, agents: tuple[str, ...], commands: tuple[str, ...], games: int = 100) -> Entry:
    """Returns a ladder with `games` games of every pair, after the commands that make its agents."""
    texts = " ".join(f'"{agent}"' for agent in agents)
    played = f'train.ladder "{env}" {texts} --games {games} --cost --output {RUNS}/ladder_{name}'
    return Entry(env, {**{text: text for text in commands}, "ladder": played}, ladder_rows)


def ladder_of_board(name: str, board: str, *others: str) -> Entry:
    """Returns the ladder of a solved board, with perfect play, the agent of self-play, searches and other agents."""
    texts, run = BOARDS[board].commands(board, seed=0), f"{RUNS}/{board}_0"
    agents = ("greedy", "mcts(simulations=100)", "openspiel(simulations=100)", *others, run, f"{run}(simulations=64)")
    commands = (texts["solution"], texts[SELF_PLAY])
    return ladder(name, BOARDS[board].env, (*agents, f"solver({RUNS}/{board}.npz)"), commands)


def ladder_of_star(
    size: int, env: str, race: str, learning: str, others: tuple[str, ...] = (), commands: tuple[str, ...] = ()
) -> Entry:
    """Returns the ladder of a star, with the search `race` of the parameters and other agents."""
    searcher = f"examples.papers.parameter_sharing.turn_search:race({race})"
    learn = f"examples.papers.parameter_sharing.turn_search.learning {learning} --output runs/race"
    agents = ("greedy", "baseline", searcher, *others)
    return ladder(f"chinese_checkers_{size}", env, agents, (learn, *commands), games=60)


# -- switches of self-play ---------------------------------------------------------------------------------------------

WAYS = {  # arguments of `train.alphazero`, which has the search gumbel and 16 simulations by default
    "gumbel": "",
    "playout_caps": "--fast-searches 0.5 --fast-simulations 4",
    "growing": "--first-simulations 4",
    "puct": "--search puct --simulations 32",
    "forced_playouts": "--search puct --simulations 32 --forced-playouts 2",
}
PAIRS = (("playout_caps", "gumbel"), ("growing", "gumbel"), ("forced_playouts", "puct"))
GAMES_OF_MATCH, SIMULATIONS = 400, 16  # of both agents of a match


def switches(name: str, env: str, arguments: str, *steps: int) -> Entry:
    """Returns the trainings of all ways, and the matches of PAIRS.

    Args:
      arguments: of all trainings.
      steps: environment steps of each way in the order of WAYS, such that all of them take about the same CPU time.
        They are from the time of four iterations with gumbel and of four with playout caps.
    """

    def run(way: str) -> str:
        return f"{RUNS}/self_play_{name}_{way}"

    def text_of(pair: tuple[str, str]) -> str:
        agent, opponent = (f"{run(each)}(simulations={SIMULATIONS})" for each in pair)
        return (
            f'train.match "{agent}" "{opponent}" --env "{env}" --games {GAMES_OF_MATCH} '
            f"--openings {GAMES_OF_MATCH // 2} --seating alternating"
        )

    trainings = {
        way: joined(
            f'train.alphazero --env "{env}"',
            arguments,
            given,
            f"--total-steps {total} --evaluate-every 0 --run-dir {run(way)}",
        )
        for (way, given), total in zip(WAYS.items(), steps, strict=True)
    }

    def rows(records: Mapping[str, Record]) -> Rows:
        return [
            {
                "game": env,
                "ways": pair,
                "steps": [records[way].result["steps"] for way in pair],
                "cpu_seconds": [records[way].cpu_seconds for way in pair],
                **score_of(records[" ".join(pair)].result),
            }
            for pair in PAIRS
        ]

    return Entry(env, trainings | {" ".join(pair): text_of(pair) for pair in PAIRS}, rows)


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
        STAR_2,
        "runs/race/2.npz, candidates=4, samples=16, near=8.0, rounds=15",
        "--size 2 --games 60000",
        ("greedy(epsilon=0.2)", "runs/demo"),
        ("examples.demo",),
    ),
    "ladder_chinese_checkers_3": ladder_of_star(3, STAR_3, "runs/race/3.npz", "--size 3"),
    "ladder_chinese_checkers_4": ladder_of_star(4, "chinese_checkers", "runs/race/4.npz", "--size 4 --games 6000"),
    "self_play_switches_diamond_4_3": switches(
        "diamond_4_3",
        "chinese_checkers_diamond(size=4, pieces=3)",
        "--slots 20 --hidden-sizes 256",
        *(328_000, 418_000, 426_000, 213_000, 213_000),
    ),
    "self_play_switches_boxes_3_3": switches(
        "boxes_3_3",
        "dots_and_boxes(rows=3, cols=3, reward=margin)",
        "",
        *(483_000, 631_000, 647_000, 295_000, 295_000),
    ),
    "self_play_switches_minichess": switches(
        "minichess", "minichess", "--no-symmetries", 262_000, 369_000, 385_000, 147_000, 147_000
    ),
    "self_play_switches_checkers": switches(
        "checkers", "checkers(max_plies=150)", "", 401_000, 541_000, 557_000, 238_000, 238_000
    ),
    **{f"solved_{name}": board.entry(name) for name, board in BOARDS.items()},
}

main = functools.partial(run_command, "train.baselines.entries", Arguments, store)

if __name__ == "__main__":
    main()
