"""The plain values of a game of two seats that pays 1 to the winner and -1 to the loser at its end."""


class WonOrLost:
    """Stands before `Env` in the bases of a game; a game with other rewards as well overrides its properties."""

    @property
    def reward_range(self) -> tuple[float, float]:
        return -1.0, 1.0

    @property
    def zero_sum(self) -> bool:
        return True

    @property
    def terminal_rewards(self) -> bool:
        return True
