"""The review of a game: chances to win that an agent with known values sees."""

from typing import Any, ClassVar

import jax
import numpy as np
import pytest

from jaxgames import make
from jaxgames.agents import Analysis, GreedyAgent
from jaxgames.play import HUMAN, Session
from jaxgames.play.review import Mistake, review

BOXES = make("dots_and_boxes(rows=1, cols=2)")


class Scripted:
    """Expects a return for seat 0 by the drawn edges, such as "1100000", and always prefers the last open edge."""

    on_device: ClassVar[bool] = False

    def __init__(self, returns: dict[str, float]) -> None:
        self.returns = returns

    def act(self, key: jax.Array, states: Any) -> jax.Array:
        raise AssertionError("a review asks for probabilities and values, not for moves")

    def analyse(self, states: Any) -> Analysis:
        drawn = np.asarray(states.edges)
        of_first = np.array([self.returns.get("".join(str(int(edge)) for edge in row), 0.0) for row in drawn])
        values = np.stack([of_first, -of_first], -1)
        last = BOXES.num_actions - 1 - np.argmin(drawn[:, ::-1], -1)
        probabilities = np.eye(BOXES.num_actions, dtype=np.float32)[last]
        return Analysis(probabilities, values)  # pyright: ignore[reportArgumentType]  # arrays of numpy do as well


def played(*texts: str, seats: tuple[str, str] = (HUMAN, "first")) -> Session:
    session = Session(BOXES, seats)
    for text in texts:
        session.play(BOXES.action_from_string(session.state, text))
    return session


def test_loss_is_the_chance_after_the_best_move_minus_the_chance_after_the_own_move() -> None:
    session = played("h(0,0)", "h(0,1)", "h(1,0)")
    agent = Scripted(
        {"0000000": 0.5, "0000001": 0.5, "1000000": -0.5, "1100000": -0.5, "1100001": -0.5, "1110000": -0.6}
    )
    assert review(session, "it", make=lambda text, env: agent) == [
        Mistake(0, 0, "h(0,0)", "v(0,2)", pytest.approx(0.5)),  # pyright: ignore[reportArgumentType]
        Mistake(2, 0, "h(1,0)", "v(0,2)", pytest.approx(0.05)),  # pyright: ignore[reportArgumentType]
    ]


def test_loss_that_the_best_move_does_not_avoid_is_no_mistake() -> None:
    """The agent has seen it a ply too late."""
    agent = Scripted({"0000000": 0.5, "0000001": -0.5, "1000000": -0.5})
    assert review(played("h(0,0)"), "it", make=lambda text, env: agent) == []


def test_moves_of_agents_count_if_nobody_is_a_person() -> None:
    agent = Scripted({"1100000": 0.5})
    moves = ("h(0,0)", "h(0,1)")
    assert review(played(*moves), "it", make=lambda text, env: agent) == []
    (mistake,) = review(played(*moves, seats=("first", "first")), "it", make=lambda text, env: agent)
    assert (mistake.ply, mistake.seat, mistake.loss) == (1, 1, 0.25)


def test_move_that_the_agent_would_play_is_no_mistake() -> None:
    session = played("v(0,2)")
    assert review(session, "it", make=lambda text, env: Scripted({"0000000": 1.0, "0000001": -1.0})) == []


def test_finished_game_has_the_chances_of_its_result() -> None:
    moves = ("h(0,0)", "h(0,1)", "h(1,0)", "h(1,1)", "v(0,2)", "v(0,0)", "v(0,1)")
    session = played(*moves, seats=("first", "first"))
    assert session.outcome.winners == (0,)
    returns = {"1111101": 1.0, "1111111": -1.0}  # wrong about the last position, in which seat 0 has won
    mistakes = review(session, "it", make=lambda text, env: Scripted(returns))
    assert [(mistake.ply, mistake.seat, mistake.loss) for mistake in mistakes] == [(5, 1, 0.5)]


def test_agents_without_values_are_refused() -> None:
    with pytest.raises(ValueError, match="greedy does not value every seat: choose one that does"):
        review(played("h(0,0)"), "greedy", make=lambda text, env: GreedyAgent(env))


def test_review_before_the_first_move_is_empty() -> None:
    assert review(played(), "greedy") == []
