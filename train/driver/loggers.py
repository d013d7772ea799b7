"""Where the metrics of a run go beside `metrics.jsonl`: TensorBoard, or Weights & Biases.

    with LOGGERS["wandb"](folder, config, first=1) as log:
        log(1, {"win_rate": 0.5})

Another place is a function like these, an entry in `LOGGERS` and in `PACKAGES`, and its name in `Name`. It gets the run
folder, the content of its config.json, and the first iteration, from which on numbers replace older ones.
"""

import importlib
import importlib.util
import os
import uuid
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Literal

from jaxgames._files import write_whole

Name = Literal["tensorboard", "wandb"]
ID_FILE = "wandb_id"  # in the run folder, so that a resumed run continues there
Log = Callable[[int, Mapping[str, float]], None]
"""(iteration, its numbers) -> None."""


@contextmanager
def tensorboard(folder: Path, config: Mapping[str, Any], first: int) -> Generator[Log]:
    """Writes TensorBoard's `events.*` files into the run folder."""
    from tensorboardX import SummaryWriter

    def log(iteration: int, numbers: Mapping[str, float]) -> None:
        for name, value in numbers.items():
            writer.add_scalar(name, value, iteration)

    with SummaryWriter(str(folder), purge_step=first) as writer:
        yield log


@contextmanager
def weights_and_biases(folder: Path, config: Mapping[str, Any], first: int) -> Generator[Log]:
    """Sends the numbers to Weights & Biases; with WANDB_MODE=offline it writes them into `wandb/` of the run folder.

    Raises ValueError where it refuses the run, for example without a login.
    """
    wandb: Any = importlib.import_module("wandb")
    path = folder / ID_FILE
    if not path.exists():
        write_whole(path, uuid.uuid4().hex[:8] + "\n")
    try:
        run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", "jaxgames"),
            name=folder.name,
            id=path.read_text().strip(),
            resume="allow",
            dir=str(folder),
            config=dict(config),
            reinit="create_new",  # the cells of a sweep are runs at the same time
        )
    except wandb.errors.UsageError as error:
        raise ValueError(f"wandb: {error} Or set WANDB_MODE=offline, and send the run later by wandb sync") from error
    try:
        yield lambda iteration, numbers: run.log(dict(numbers), step=iteration)
    finally:
        run.finish()


LOGGERS: dict[str, Callable[[Path, Mapping[str, Any], int], AbstractContextManager[Log]]] = {
    "tensorboard": tensorboard,
    "wandb": weights_and_biases,
}
PACKAGES = {"tensorboard": ("tensorboardX", "train"), "wandb": ("wandb", "wandb")}  # package, extra that installs it


def check(names: Sequence[str]) -> None:
    """Raises ValueError for a logger whose package is not installed."""
    for name in names:
        package, extra = PACKAGES[name]
        if importlib.util.find_spec(package) is None:
            raise ValueError(f'--logger {name} needs the package {package}: pip install -e ".[{extra}]"')
