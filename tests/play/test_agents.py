"""Agents in a game in progress: who plays by default, their moves, what they think, and a review by their values."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import make
from jaxgames.agents import Analysis, GreedyAgent, RandomAgent
from jaxgames.play import HUMAN, Session, agent_action, analyse
from jaxgames.play.agent_calls import refuses_draw
from jaxgames.play.opponents import adviser, default_agent, default_seats, reviewer, win_chance
from jaxgames.play.review import review
from tests.helpers.scripted_agents import HostAgent
from tests.helpers.sticks import Sticks

BOXES = make("dots_and_boxes(rows=1, cols=2)")
GREEDY_TREE = "mcts(simulations=200, playout='greedy')"
THREE = "chinese_checkers(size=2, num_players=3"


# -- who plays, advises and reviews --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "plays", "reviews"),
    [
        ("checkers", "baseline", "alphabeta"),
        ("minichess", "baseline", "alphabeta"),
        ("minichess(rules=king_capture)", "alphabeta", "alphabeta"),
        ("minichess(reward=material)", "baseline", None),
        ("dots_and_boxes(rows=2, cols=3)", "alphabeta", "alphabeta"),
        ("dots_and_boxes(rows=9, cols=2)", "greedy", GREEDY_TREE),
        ("chinese_checkers", "baseline", GREEDY_TREE),
        (f"{THREE})", "greedy", GREEDY_TREE),
        ("chinese_checkers_diamond", "baseline", "baseline"),
        ("chinese_checkers_diamond(size=5, pieces=6)", "greedy", GREEDY_TREE),
    ],
)
def test_strongest_agent_plays_advises_and_reviews_if_it_has_values(game: str, plays: str, reviews: str | None) -> None:
    assert (default_agent(make(game)), reviewer(make(game))) == (plays, reviews)
    assert adviser(make(game)) not in (None, "random")


def test_a_game_of_ones_own_is_played_by_a_tree_search_never_by_random() -> None:
    tree = "mcts(simulations=100)"
    assert default_seats(Sticks(num_players=3), human_seat=1) == [tree, "human", tree]


@pytest.mark.parametrize(
    ("env", "value", "chance"),
    [
        (make("checkers"), 1.0, 1.0),
        (make("checkers"), -1.0, 0.0),
        (make("checkers"), 0.24, 0.62),
        (make("checkers"), 1.2, 1.0),
        (make(f"{THREE}, reward=win_loss)"), 0.0, 1 / 3),
        (make(f"{THREE})"), 5.0, 0.5),
        (make(f"{THREE}, reward=sparse)"), -2.0, 0.0),
        (make("minichess(reward=material)"), 0.5, None),
        (make("dots_and_boxes(reward=margin)"), 2.0, None),
        (Sticks(num_players=3), 2.0, None),  # it does not say that it pays at the end only
    ],
    ids=str,
)
def test_chance_to_win_follows_the_returns_of_a_loss_and_a_win(env: Any, value: float, chance: float | None) -> None:
    assert win_chance(env, value) == (None if chance is None else pytest.approx(chance))


# -- moves ---------------------------------------------------------------------------------------------------------


def test_agents_on_device_and_host_play_a_game_and_are_announced_once() -> None:
    types, announced = set[Any](), list[str]()

    def play_first(key: Any, states: Any) -> Any:
        types.add(type(states.edges))
        return jnp.asarray([int(np.argmin(states.edges[0]))])

    def make_agent(text: str, env: Any) -> Any:
        return HostAgent(play_first) if text.startswith("mine") else RandomAgent(env)

    session = Session(BOXES, ["mine of this test", "random of this test"])
    while not session.over:
        session.play(agent_action(session, make_agent, announced.append))
    agent_action(Session(BOXES, ["alphabeta(depth=1, epsilon=0.5)", HUMAN]), on_compile=announced.append)  # is ready
    assert types == {np.ndarray}
    assert sorted(announced) == ["mine of this test", "random of this test"]


def test_same_seed_gives_the_same_game() -> None:
    def game(seed: int) -> list[str]:
        session = Session(BOXES, ["random", "random"], seed=seed)
        while not session.over:
            session.play(agent_action(session))
        return session.moves()

    assert game(1) == game(1)
    assert len({tuple(game(seed)) for seed in range(4)}) > 1


def test_action_is_refused_where_no_agent_is_to_move_or_where_it_is_illegal() -> None:
    session = Session(BOXES, [HUMAN, "random"])
    with pytest.raises(ValueError, match="seat 0"):
        agent_action(session)
    session.resign()
    with pytest.raises(ValueError, match="over"):
        agent_action(session)

    session = Session(BOXES, ["first", HUMAN], state=BOXES.from_string("1000000 .. 0"))
    with pytest.raises(ValueError, match=r"first .* action 0, .*'1000000 \.\. 0'"):
        agent_action(session, lambda text, env: HostAgent(lambda key, states: jnp.zeros(1, jnp.int32)))


@pytest.mark.parametrize(("value", "accepts"), [(-0.5, True), (0.0, True), (0.1, False)])
def test_agent_accepts_a_draw_that_is_no_worse_than_its_value(value: float, accepts: bool) -> None:
    session = Session(BOXES, [HUMAN, "valued"])

    def make_valued(text: str, env: Any) -> Any:
        return HostAgent(analyse=lambda states: Analysis(jnp.full((1, 7), 1 / 7), jnp.full((1, 2), value)))

    session.play(0)
    assert refuses_draw(session, make_valued) == 1, "before every seat has moved"
    session.play(1)
    assert refuses_draw(session, make_valued) == (None if accepts else 1)


@pytest.mark.parametrize(
    ("other", "asked"),
    [("random", "alphabeta"), ("greedy(epsilon=0.3)", "alphabeta"), ("runs/a@3", "runs/a@3")],
)
def test_hints_come_from_a_run_that_plays_or_from_the_strongest_agent(other: str, asked: str) -> None:
    """So they never come from `random` unless it is named."""
    made: list[str] = []

    def make_agent(text: str, env: Any) -> Any:
        made.append(text)
        return RandomAgent(env)

    analyse(Session(BOXES, [HUMAN, other]), make=make_agent)
    assert made == [asked]


# -- reviews -------------------------------------------------------------------------------------------------------


def expecting(returns: dict[str, float]) -> HostAgent:
    """Expects a return for seat 0 by the drawn edges, such as "1100000", and always prefers the last open edge."""

    def analyse(states: Any) -> Any:
        drawn = np.asarray(states.edges)
        of_first = np.array([returns.get("".join(str(int(edge)) for edge in row), 0.0) for row in drawn])
        last = BOXES.num_actions - 1 - np.argmin(drawn[:, ::-1], -1)
        probabilities: Any = np.eye(BOXES.num_actions, dtype=np.float32)[last]
        return Analysis(probabilities, jnp.stack([of_first, -of_first], -1))

    return HostAgent(analyse=analyse)


ALL_EDGES = "h(0,0) h(0,1) h(1,0) h(1,1) v(0,2) v(0,0) v(0,1)"


@pytest.mark.parametrize(
    ("moves", "people", "returns", "mistakes"),
    [
        # the chance after the best move minus the chance after the own move, of the person alone
        (
            *("h(0,0) h(0,1) h(1,0)", True),
            {"0000000": 0.5, "0000001": 0.5, "1000000": -0.5, "1100000": -0.5, "1100001": -0.5, "1110000": -0.6},
            [(0, 0, "h(0,0)", "v(0,2)", 0.5), (2, 0, "h(1,0)", "v(0,2)", 0.05)],
        ),
        # a loss that the best move does not avoid: the agent has seen it a ply too late
        ("h(0,0)", True, {"0000000": 0.5, "0000001": -0.5, "1000000": -0.5}, []),
        # moves of agents count if nobody is a person
        ("h(0,0) h(0,1)", True, {"1100000": 0.5}, []),
        ("h(0,0) h(0,1)", False, {"1100000": 0.5}, [(1, 1, "h(0,1)", "v(0,2)", 0.25)]),
        # the move that the agent would play
        ("v(0,2)", True, {"0000000": 1.0, "0000001": -1.0}, []),
        # a finished game has the chances of its result, whatever the agent thinks of the last position
        (ALL_EDGES, False, {"1111101": 1.0, "1111111": -1.0}, [(5, 1, "v(0,0)", "v(0,1)", 0.5)]),
        ("", True, {}, []),
    ],
)
def test_mistake_is_a_move_that_lost_a_chance(
    moves: str, people: bool, returns: dict[str, float], mistakes: Any
) -> None:
    session = Session(BOXES, [HUMAN if people else "first", "first"])
    for text in moves.split():
        session.play(BOXES.action_from_string(session.state, text))
    found = review(session, "it", make=lambda text, env: expecting(returns))
    assert [tuple(mistake) for mistake in found] == [(*parts, pytest.approx(loss)) for *parts, loss in mistakes]


def test_agents_without_values_are_refused() -> None:
    session = Session(BOXES, [HUMAN, HUMAN])
    session.play(0)
    with pytest.raises(ValueError, match="greedy"):
        review(session, "greedy", make=lambda text, env: GreedyAgent(env))
