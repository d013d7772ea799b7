"""A thread that runs functions one after the other, for an event loop that must never wait."""

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class Worker:
    """One thread with a queue of functions. It ends with the process, in the middle of a function too."""

    def __init__(self, name: str) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        # Functions that run or wait, abandoned ones included; read and changed in the event loop.
        self.unfinished: int = 0
        threading.Thread(target=self._work, name=name, daemon=True).start()

    async def run(self, function: Callable[[], T]) -> T:
        """Returns the result of a function, or raises its error, once the thread has run it.

        If the caller is cancelled, a function that waits is not run. A running function cannot be interrupted: it runs
        to its end, its result is discarded, and the functions behind it wait.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()

        def finish(result: Any, error: BaseException | None) -> None:
            self.unfinished -= 1
            if not done.done():
                done.set_result(result) if error is None else done.set_exception(error)

        def job() -> None:
            result: Any = None
            error: BaseException | None = None
            if not done.cancelled():
                try:
                    result = function()
                except BaseException as raised:
                    error = raised
            if not loop.is_closed():
                loop.call_soon_threadsafe(finish, result, error)

        self.unfinished += 1
        self._jobs.put(job)
        return await done

    def _work(self) -> None:
        while True:
            self._jobs.get()()
