"""Tables of settings; see `train.sweep.runs`."""

from train.sweep.batched_runs import evaluate_runs
from train.sweep.runs import Evaluate, Sweep, folder_name, run_sweep, sweep_of

__all__ = [
    "Evaluate",
    "Sweep",
    "evaluate_runs",
    "folder_name",
    "run_sweep",
    "sweep_of",
]
