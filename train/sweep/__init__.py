"""Tables of settings; see `train.sweep.runs`."""

from train.sweep.batched_runs import BatchedRuns
from train.sweep.runs import Sweep, run_sweep, sweep_of

__all__ = [
    "BatchedRuns",
    "Sweep",
    "run_sweep",
    "sweep_of",
]
