"""Measures how well policies predict the moves of recorded games of checkers, beside simple baselines.

    python -m examples.papers.checkers_imitation pairs.npz --runs runs/imitation runs/larson_text

`pairs.npz` comes from `train.data`, with the splits "train", "test" and, if there is a second collection, "external".
The tables have

    accuracy      the share of positions whose move is among the k best legal actions; k = 1, 2, 3, 5, 10
    raw legal     the share of positions where the best of all actions is legal
    legal mass    the mean probability that the softmax over all actions gives to the legal ones
    by ply        accuracy with k = 1 by the number of the ply in its game

on the test games, on their positions that no training game has ("unseen") or that one has ("seen"), and on the second
collection. Equal scores share the ranks that they take, so a baseline that prefers no action has the accuracy of a
random order.
"""

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import jax
import numpy as np
import tyro

from examples.papers._experiment import ExperimentFields, Report, run_experiment
from jaxgames import Env
from jaxgames._batches import in_chunks
from jaxgames.policies.policy import Policy
from train import agents
from train.data import positions
from train.data.positions import Positions, evenly_spaced
from train.driver import tables
from train.driver.metrics import rounded
from train.models.policy import Params

KS = (1, 2, 3, 5, 10)
PLIES = {"0-9": 10, "10-19": 20, "20-39": 40, "40-79": 80, "80+": 1 << 30}  # group: the first ply after it
TRAINING_POSITIONS = 20_000  # for the accuracy in training, evenly spaced
CHUNK = 1024  # positions whose logits are computed at once

Score = Callable[[Positions], np.ndarray]  # positions -> float32[P, num_actions]
Table = dict[str, dict[str, float]]  # a row for each set of positions or group, a column for each measure


@dataclass(frozen=True)
class Arguments(ExperimentFields):
    data: Annotated[Path, tyro.conf.Positional]
    """The file of positions, which `train.data` writes."""
    runs: tuple[str, ...] = ()
    """Runs, as `runs/first` or `runs/first@40`."""
    output: Path = Path("runs/papers/checkers_imitation/accuracy")


def report(arguments: Arguments) -> Report:
    data = positions.load(arguments.data)
    results = measure_all(data, arguments.runs)
    return Report(rounded(results), markdown(results))


def measure_all(data: Positions, runs: Iterable[str]) -> dict[str, Any]:
    """Returns the tables of the baselines and of all runs, and the numbers of positions, as JSON has them.

    Raises ValueError for a file without training or test positions, and for a run of another game.
    """
    labelled = data.take(data.action != positions.UNKNOWN)
    training, sets = labelled.of("train"), sets_of(labelled)
    seen = positions.keys(training)
    results: dict[str, Any] = {
        "positions": {"train": len(training), **{name: len(each) for name, each in sets.items()}},
        "models": baselines(sets, seen, training.action),
        "seen by submove": by_ply(np.isin(positions.keys(sets["test"]), seen), sets["test"].ply),
    }
    for text in runs:
        results["models"][text] = measure_run(text, {"train": evenly_spaced(training, TRAINING_POSITIONS), **sets})
    return results


def sets_of(data: Positions) -> dict[str, Positions]:
    """Returns the sets that models are measured on: test, its unseen and seen positions, and external if there are any.

    Raises ValueError if there are no training or no test positions.
    """
    for split in ("train", "test"):
        if split not in data.splits or not len(data.of(split)):
            raise ValueError(f"the file has no positions of the split {split!r}; it has {', '.join(data.splits)}")
    test = data.of("test")
    seen = np.isin(positions.keys(test), positions.keys(data.of("train")))
    sets = {"test": test, "unseen": test.take(~seen), "seen": test.take(seen)}
    if "external" in data.splits:
        sets["external"] = data.of("external")
    return {name: each for name, each in sets.items() if len(each)}


def lookup_scores(keys: np.ndarray, action: np.ndarray, data: Positions) -> np.ndarray:
    """Returns float32[P, num_actions], the times that an action was played on the same position of a collection.

    The collection has the positions `keys`, uint64[N], and the actions that were played on them, int32[N].
    """
    distinct, row = np.unique(positions.keys(data), return_inverse=True)
    place = np.searchsorted(distinct, keys).clip(max=len(distinct) - 1)
    match = distinct[place] == keys
    counts = np.zeros((len(distinct), data.env.num_actions), np.float32)
    np.add.at(counts, (place[match], action[match]), 1)
    return counts[row]


def logits_of(policy: Policy, params: Params, data: Positions) -> np.ndarray:
    """Returns float32[P, num_actions], the logits of a policy for the mover."""
    return in_chunks(functools.partial(_logits, data.env, policy, params), data.states, min(CHUNK, len(data)))


@functools.partial(jax.jit, static_argnums=(0, 1))
def _logits(env: Env[Any], policy: Policy, params: Params, states: Any) -> jax.Array:
    observation = jax.vmap(lambda state: env.observe(state))(states)
    return policy.apply(params, observation, states.current_player)[0]


def among_best(scores: np.ndarray, legal: np.ndarray, action: np.ndarray, k: int) -> np.ndarray:
    """Returns float64[P], the probability that the action, int32[P], is among the k legal ones with the best scores.

    Scores and legal actions are [P, num_actions]. Actions with the same score are in a random order.
    """
    own = scores[np.arange(len(action)), action][:, None]
    better, equal = ((scores > own) & legal).sum(1), ((scores == own) & legal).sum(1)
    return np.clip((k - better) / equal, 0, 1)


def legality(logits: np.ndarray, legal: np.ndarray) -> dict[str, float]:
    """Returns how often the best of all actions is legal, and the mean probability of the legal ones together."""
    best, total = logits.argmax(1), np.exp(logits - logits.max(1, keepdims=True), dtype=np.float64)
    return {
        "raw legal": float(legal[np.arange(len(best)), best].mean()),
        "legal mass": float(((total * legal).sum(1) / total.sum(1)).mean()),
    }


def by_ply(right: np.ndarray, ply: np.ndarray) -> dict[str, float]:
    """Returns the mean of `right` in each group of plies; groups without positions are left out."""
    group = np.searchsorted(list(PLIES.values()), ply, side="right")
    return {name: float(right[group == number].mean()) for number, name in enumerate(PLIES) if (group == number).any()}


def measure(sets: Mapping[str, Positions], score: Score, raw: bool = False) -> dict[str, Table]:
    """Returns the measures of a model by set, and its accuracy with k = 1 by ply of the two held-out collections.

    `raw` tells that the scores are logits of all actions, so that legality is measured too.
    """
    measures: dict[str, Table] = {"sets": {}, "submoves": {}}
    for name, each in sets.items():
        scores, legal = score(each), positions.legal_actions(each)
        ranked = {f"top-{k}": float(among_best(scores, legal, each.action, k).mean()) for k in KS}
        measures["sets"][name] = ranked | (legality(scores, legal) if raw else {})
        if name in ("test", "external"):
            measures["submoves"][name] = by_ply(among_best(scores, legal, each.action, 1), each.ply)
    return measures


def measure_run(text: str, sets: Mapping[str, Positions]) -> dict[str, Any]:
    """Returns `measure` of a run.

    Raises FileNotFoundError if there is no such run, ValueError if it plays another game.
    """
    named = agents.parse(text)
    if named is None:
        raise ValueError(f"runs must be folders of runs, not the agent {text!r}")
    run = agents.open_run(named.folder)
    learner: Any = agents.learner_for(run, sets["test"].env)
    params = run.params(named.iteration)
    return measure(sets, functools.partial(logits_of, learner.policy, params), raw=True)


def baselines(sets: Mapping[str, Positions], keys: np.ndarray, action: np.ndarray) -> dict[str, Any]:
    """Returns the measures of models without weights.

    uniform      prefers no action
    lookup       plays what was played most often on the training positions `keys`, uint64[N]; `action` is int32[N]
    hindsight    the same from the moves of the set itself: the ceiling
    """
    held_out = {name: each for name, each in sets.items() if name in ("test", "external")}
    return {
        "uniform": measure(sets, lambda each: np.zeros((len(each), each.env.num_actions), np.float32)),
        "lookup": measure(sets, functools.partial(lookup_scores, keys, action)),
        "hindsight": measure(held_out, lambda each: lookup_scores(positions.keys(each), each.action, each)),
    }


def markdown(results: Mapping[str, Any]) -> str:
    counts = ", ".join(f"{name} {count:,}" for name, count in results["positions"].items())
    of_plies = ply_table(results["models"], results["seen by submove"])
    return "\n\n".join((f"Positions: {counts}.", accuracy_table(results["models"]), of_plies))


def accuracy_table(models: Mapping[str, Any]) -> str:
    """Returns the measures of models, a row for each set of positions."""
    columns = [*(f"top-{k}" for k in KS), "raw legal", "legal mass"]
    lines: list[tuple[str, ...]] = []
    for model, measures in models.items():
        for name, row in measures["sets"].items():
            lines.append((model, name, *(f"{row[column]:.3f}" if column in row else "" for column in columns)))
    return tables.markdown(("model", "positions", *columns), lines)


def ply_table(models: Mapping[str, Any], seen: Mapping[str, float]) -> str:
    """Returns the accuracy with k = 1 by ply, and the share of the test positions that are in training."""
    rows = [("share in training", "test", seen)]
    rows += [(model, name, row) for model, measures in models.items() for name, row in measures["submoves"].items()]
    lines = [
        (model, name, *(f"{row[group]:.3f}" if group in row else "" for group in PLIES)) for model, name, row in rows
    ]
    return tables.markdown(("top-1", "positions", *PLIES), lines)


if __name__ == "__main__":
    run_experiment(Arguments, None, report)
