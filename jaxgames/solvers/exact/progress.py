"""The progress bar of the solvers."""

import importlib.util
from collections.abc import Callable, Generator
from contextlib import contextmanager


@contextmanager
def progress_bar(total: int, unit: str, shown: bool) -> Generator[Callable[[int], object]]:
    """Yields a function that advances a bar with the time left; nothing is shown if tqdm is not installed."""
    if not shown or importlib.util.find_spec("tqdm") is None:
        yield lambda _: None
        return
    from tqdm import tqdm

    with tqdm(total=total, unit=f" {unit}", unit_scale=True, smoothing=0, disable=None) as bar:
        yield bar.update
