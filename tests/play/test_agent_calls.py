"""Agents in a game in progress: their moves and what they think."""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import agents, make
from jaxgames.agents import RandomAgent
from jaxgames.host_agent import HostPlayerAgent
from jaxgames.play import HUMAN, Session, agent_action, agent_calls, analyse
from jaxgames.play.agent_calls import refuses_draw

BOXES = make("dots_and_boxes(rows=1, cols=2)")


class HostFirst:
    """Plays the first legal action, outside of `jit`, and remembers the type of the arrays that it was given."""

    on_device: ClassVar[bool] = False

    def __init__(self) -> None:
        self.types: list[Any] = []

    def act(self, key: Any, states: Any) -> Any:
        self.types.append(type(states.edges))
        return jnp.asarray([int(np.argmin(states.edges[0]))])


def test_agents_on_device_and_host_play_a_game(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_calls, "_compiled", set[tuple[str, Any]]())  # as in a new process
    on_host = HostFirst()
    compiled_first: list[str] = []

    def make_agent(text: str, env: Any) -> Any:
        return on_host if text == "mine" else RandomAgent(env)

    session = Session(BOXES, ["mine", "random"])
    while not session.over:
        session.play(agent_action(session, make_agent, compiled_first.append))
    assert set(on_host.types) == {np.ndarray}
    assert sorted(compiled_first) == ["mine", "random"]


@pytest.mark.parametrize("name", ["ready", "alphabeta(depth=1)", "alphabeta(depth=1, epsilon=0.5)"])
def test_agents_that_are_ready_when_they_are_made_are_not_announced(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_calls, "_compiled", set[tuple[str, Any]]())

    class First:
        def choose(self, state: Any, seed: int) -> int:
            return int(np.argmin(state.edges))

    def make_agent(text: str, env: Any) -> Any:
        return HostPlayerAgent(env, First(), text) if text == "ready" else agents.make(text, env)

    compiled_first: list[str] = []
    session = Session(BOXES, [name, HUMAN])
    assert session.is_legal(agent_action(session, make_agent, compiled_first.append))
    assert compiled_first == []


def test_same_seed_gives_the_same_game() -> None:
    def game(seed: int) -> list[str]:
        session = Session(BOXES, ["random", "random"], seed=seed)
        while not session.over:
            session.play(agent_action(session))
        return session.moves()

    assert game(1) == game(1)
    assert len({tuple(game(seed)) for seed in range(4)}) > 1


def test_action_is_refused_where_no_agent_is_to_move() -> None:
    session = Session(BOXES, [HUMAN, "random"])
    with pytest.raises(ValueError, match="a person plays seat 0"):
        agent_action(session)
    session.resign()
    with pytest.raises(ValueError, match="the game is over"):
        agent_action(session)


@dataclass(frozen=True)
class Valued:
    """Gives every seat the same value."""

    on_device: ClassVar[bool] = False
    value: float

    def analyse(self, states: Any) -> agents.Analysis:
        return agents.Analysis(jnp.full((1, BOXES.num_actions), 1 / 7), jnp.full((1, 2), self.value))


@pytest.mark.parametrize(("value", "accepts"), [(-0.5, True), (0.0, True), (0.1, False)])
def test_agent_accepts_a_draw_that_is_no_worse_than_its_value(value: float, accepts: bool) -> None:
    session = Session(BOXES, [HUMAN, "valued"])

    def make_valued(text: str, env: Any) -> Any:
        return Valued(value)

    session.play(0)
    assert refuses_draw(session, make_valued) == 1, "before every seat has moved"
    session.play(1)
    assert refuses_draw(session, make_valued) == (None if accepts else 1)


def test_illegal_action_of_an_agent_is_refused() -> None:
    session = Session(BOXES, ["first", HUMAN], state=BOXES.from_string("1000000 .. 0"))

    class Zero(HostFirst):
        def act(self, key: Any, states: Any) -> Any:
            return jnp.zeros(1, jnp.int32)

    with pytest.raises(ValueError, match=r"first chose action 0, which is illegal in '1000000 \.\. 0'"):
        agent_action(session, lambda text, env: Zero())


def test_analysis_lists_legal_moves_the_most_probable_first() -> None:
    session = Session(BOXES, [HUMAN, "greedy"], state=BOXES.from_string("1010100 .. 1"))
    thoughts = analyse(session, "greedy")
    assert (thoughts.agent, thoughts.values) == ("greedy", None)
    assert [(move.text, round(p, 3)) for move, p in thoughts.moves[:1]] == [("v(0,1)", 1.0)]
    assert len(thoughts.moves) == 4


@pytest.mark.parametrize(
    ("seats", "asked"),
    [
        ([HUMAN, "random"], "alphabeta"),
        ([HUMAN, "greedy(epsilon=0.3)"], "alphabeta"),
        ([HUMAN, "runs/a@3"], "runs/a@3"),
    ],
)
def test_hints_come_from_a_run_that_plays_or_from_the_strongest_agent(seats: list[str], asked: str) -> None:
    """So they never come from `random` unless it is named."""
    made: list[str] = []

    def make_agent(text: str, env: Any) -> Any:
        made.append(text)
        return RandomAgent(env)

    analyse(Session(BOXES, seats), make=make_agent)
    assert made == [asked]
