"""Tables of settings; see `train.sweep.runs`."""

from train.sweep.batched_runs import BatchedRuns
from train.sweep.runs import Sweep, folder_name, run_sweep, sweep_of

__all__ = [
    "BatchedRuns",
    "Sweep",
    "folder_name",
    "run_sweep",
    "sweep_of",
]
