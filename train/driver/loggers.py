"""Where the metrics of a run go beside `metrics.jsonl`: TensorBoard, or Weights & Biases.

    logger = LOGGERS["wandb"](folder, config, first=1)
    logger.log(1, {"win_rate": 0.5})
    logger.close()

Another place is a class with these methods, an entry in `LOGGERS` and in `PACKAGES`, and its name in `Name`.
"""

import importlib
import importlib.util
import os
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from jaxgames._files import write_whole

Name = Literal["tensorboard", "wandb"]
ID_FILE = "wandb_id"  # in the run folder, so that a resumed run continues there


class MetricsLogger(Protocol):
    """A place for the numbers of the run in a folder; `config` is the content of its config.json.

    Numbers of the iteration `first` and of later ones replace older ones.
    """

    def __init__(self, folder: Path, config: Mapping[str, Any], first: int) -> None: ...
    def log(self, iteration: int, numbers: Mapping[str, float]) -> None: ...
    def close(self) -> None: ...


class TensorBoard:
    """Writes TensorBoard's `events.*` files into the run folder."""

    def __init__(self, folder: Path, config: Mapping[str, Any], first: int) -> None:
        from tensorboardX import SummaryWriter

        self._writer = SummaryWriter(str(folder), purge_step=first)

    def log(self, iteration: int, numbers: Mapping[str, float]) -> None:
        for name, value in numbers.items():
            self._writer.add_scalar(name, value, iteration)

    def close(self) -> None:
        self._writer.close()


class WeightsAndBiases:
    """Sends the numbers to Weights & Biases; with WANDB_MODE=offline it writes them into `wandb/` of the run folder.

    Raises ValueError where it refuses the run, for example without a login.
    """

    def __init__(self, folder: Path, config: Mapping[str, Any], first: int) -> None:
        wandb: Any = importlib.import_module("wandb")
        path = folder / ID_FILE
        if not path.exists():
            write_whole(path, uuid.uuid4().hex[:8] + "\n")
        try:
            self._run = wandb.init(
                project=os.environ.get("WANDB_PROJECT", "jaxgames"),
                name=folder.name,
                id=path.read_text().strip(),
                resume="allow",
                dir=str(folder),
                config=dict(config),
                reinit="create_new",  # the cells of a sweep are runs at the same time
            )
        except wandb.errors.UsageError as error:
            raise ValueError(
                f"wandb: {error} Or set WANDB_MODE=offline, and send the run later by wandb sync"
            ) from error

    def log(self, iteration: int, numbers: Mapping[str, float]) -> None:
        self._run.log(dict(numbers), step=iteration)

    def close(self) -> None:
        self._run.finish()


LOGGERS: dict[str, type[MetricsLogger]] = {"tensorboard": TensorBoard, "wandb": WeightsAndBiases}
PACKAGES = {"tensorboard": ("tensorboardX", "train"), "wandb": ("wandb", "wandb")}  # package, extra that installs it


def check(names: Sequence[str]) -> None:
    """Raises ValueError for a logger whose package is not installed."""
    for name in names:
        package, extra = PACKAGES[name]
        if importlib.util.find_spec(package) is None:
            raise ValueError(f'--logger {name} needs the package {package}: pip install -e ".[{extra}]"')
