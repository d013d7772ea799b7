"""A thread that runs functions one after the other, for an event loop that must never wait."""

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class Worker:
    """One thread with a queue of functions. It ends with the process, in the middle of a function too."""

    def __init__(self, name: str) -> None:
        self._jobs: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = queue.SimpleQueue()
        self._unfinished: list[Future[Any]] = []
        threading.Thread(target=self._work, name=name, daemon=True).start()

    @property
    def is_busy(self) -> bool:
        """True while a function runs or waits, also one whose caller was cancelled."""
        self._unfinished = [future for future in self._unfinished if not future.done()]
        return bool(self._unfinished)

    async def run(self, function: Callable[[], T]) -> T:
        """Returns the result of a function, or raises its error, once the thread has run it.

        If the caller is cancelled, a function that waits is not run. A running function cannot be interrupted: it runs
        to its end, its result is discarded, and the functions behind it wait.
        """
        future: Future[T] = Future()
        self._unfinished.append(future)
        self._jobs.put((future, function))
        return await asyncio.wrap_future(future)

    def _work(self) -> None:
        while True:
            future, function = self._jobs.get()
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(function())
                except BaseException as error:
                    future.set_exception(error)
