"""A clock for tests of the time of a move."""


class SteppingClock:
    """Goes on by some seconds at each look, in place of the module `time`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.looks = 0

    def perf_counter(self) -> float:
        self.looks += 1
        return self.looks * self.seconds
