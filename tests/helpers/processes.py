"""Processes that a test has not started itself."""

import os
import time

import pytest


def wait_for_end(process_id: int) -> None:
    """Fails unless the process ends within five seconds."""
    for _ in range(100):
        try:
            os.kill(process_id, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("the process still runs")
