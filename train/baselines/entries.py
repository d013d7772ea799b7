"""Results of the docs that several commands make: each entry of `entries.toml` becomes docs/results/NAME.json.

    python -m train.baselines solved_boxes_3_3 ladder_boxes_solved

The begin of its name determines the rows of a result: `ladder_*`, `self_play_switches_*` or `solved_*`. A finished
command is not run again: `train.baselines.recorded_commands`. `examples.papers.tables` makes the tables.
"""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxgames._files import write_whole
from train.baselines.recorded_commands import Record, RecordedCommands, provenance, total_seconds

RESULTS = Path(__file__).parents[2] / "docs" / "results"
ENTRIES: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
WAYS = ["forced_playouts", "puct"]  # of self-play; docs/results has rows of other ways, too
SELF_PLAY, TAUGHT = "self-play", "then the exact solution"
STORED = (
    *("weak_solved", "ultra_weak", "weak_states", "agent_states", "sure_fraction", "strong_action", "strong_decisive"),
    *("worst_margin", "strong_margin_lost"),  # of Dots and Boxes
)
Rows = list[dict[str, Any]]
Records = Mapping[str, Record]  # by the texts of their commands


def store(name: str) -> dict[str, Any]:
    """Runs the commands of an entry, and writes and returns its result. Raises ValueError for a command that fails."""
    runner, entry = RecordedCommands(), ENTRIES[name]
    records = {text: runner.run(text) for text in entry["commands"].split("\n")[:-1]}
    result: dict[str, Any] = {
        "env": entry["env"],
        "commands": [f"python -m {text}" for text in records],
        **provenance(record.cpu_seconds for record in records.values()),
        "seeds": entry.get("seeds", 1),
        "rows": rows_of(name, records),
    }
    write_whole(RESULTS / f"{name}.json", json.dumps(result, indent=1) + "\n")
    return result


def rows_of(name: str, records: Records) -> Rows:
    """Returns the rows of an entry from the records of its commands."""
    *trainings, last = records.values()
    if name.startswith("ladder_"):
        return ladder_rows(last)
    if name.startswith("solved_"):
        return solved_rows(records)
    steps, seconds = [each.result["steps"] for each in trainings], [each.cpu_seconds for each in trainings]
    common = {"game": ENTRIES[name]["env"], "ways": WAYS, "steps": steps, "cpu_seconds": seconds}
    return [common | score_of(last.result)]


def ladder_rows(record: Record) -> Rows:
    """Returns the ratings of `train.ladder --cost` with the milliseconds of a move, the highest first."""
    return [row | {"cpu_ms": record.result["cpu_ms"][row["agent"]]} for row in record.result["agents"]]


def solved_rows(records: Records) -> Rows:
    """Returns the measures of `train.strength`, of which the first one of an agent with a search counts."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for text in (text for text in records if text.startswith("train.strength")):
        for row in records[text].result["rows"]:
            rule = "PUCT" if row["search"] and "search=puct" in text else ""  # in place of the search of self-play
            found.setdefault((row["agent"].partition("(")[0].partition("@")[0], row["search"], rule), row)
    rows: Rows = []
    for (run, _, rule), row in found.items():
        own = run.removesuffix("_taught")
        learned = [f"--run-dir {own}"] if run == own else [f"--run-dir {own}", "_labels.npz", f"--run-dir {run}"]
        seconds = total_seconds(records[text].cpu_seconds for text in records if text.endswith(tuple(learned)))
        rows.append(
            {
                "learned": SELF_PLAY if run == own else TAUGHT,
                "seed": int(own.rpartition("_")[2]),
                "simulations": row["simulations"],
                **({"rule": rule} if rule else {}),
                "cpu_seconds": None if seconds is None else round(seconds),
                **{key: row[key] for key in STORED if key in row},
            }
        )
    return rows


def score_of(result: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the games of `train.match` from the side of its first agent. A draw is half a point of the score."""
    wins, losses = (agent["wins"] for agent in result["agents"])
    games = result["games"]
    draws = games - wins - losses
    return {"games": games, "wins": wins, "draws": draws, "losses": losses, "score": (wins + draws / 2) / games}
