"""OpenSpiel's bots as agents: legal actions, wins where they are in hand, the same actions for the same key."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest

import jaxgames
from jaxgames import agents
from jaxgames._checks import ParameterError
from jaxgames.agents import FirstAgent, RandomAgent
from jaxgames.interop.openspiel import bots as openspiel_bots
from jaxgames.interop.openspiel.bots import agent_of
from tests.helpers.positions import compiled, play, stacked, start
from tests.helpers.sticks import Sticks

DOTS = jaxgames.make("dots_and_boxes(rows=1, cols=2)")
ANY_KEY = jax.random.key(0)


def act(agent: Any, states: Any, seed: int = 0) -> list[int]:
    return agent.act(jax.random.key(seed), states).tolist()


class FirstBot(pyspiel.Bot):  # pyright: ignore[reportUntypedBaseClass]  # pyspiel has no types
    """Plays the legal action at one place of their list."""

    def __init__(self, place: int = 0) -> None:
        super().__init__()
        self.place = place

    def step(self, state: Any) -> int:
        return state.legal_actions()[self.place]


def test_agent_takes_the_states_of_auto_reset() -> None:
    """The actions are those on the live boards; the flags of these states are of the games before."""
    env = jaxgames.auto_reset(DOTS)
    states = stacked([env.from_string(position) for position in ("0010111 .. 0", "1010100 .. 1", "1111110 0. 0")])
    states = dataclasses.replace(states, terminated=jnp.ones(3, jnp.bool_))
    boards = states.board
    text = "openspiel(simulations=20, playout=first)"
    actions = act(agents.make(text, env), states)
    assert actions == act(agents.make(text, DOTS), boards)
    assert all(mask[action] for mask, action in zip(masks(boards), actions, strict=True))


masks: Any = jax.jit(jax.vmap(DOTS.legal_action_mask))


# -- MCTS ----------------------------------------------------------------------------------------------------------


def test_more_simulations_find_the_move_that_few_do_not() -> None:
    """Two simulations look at one action and at no reply: the action is as good as drawn."""
    state = stacked([DOTS.from_string("0010111 .. 0")] * 12)
    assert len(set(act(openspiel_bots.make(DOTS, simulations=2), state))) > 1
    assert set(act(openspiel_bots.make(DOTS, simulations=60), state)) == {0}


def test_position_has_the_returns_of_a_game_of_the_playout() -> None:
    """After h(0,0) each side gets a box. After either of the two other edges, seat 1 takes both boxes.

    FirstAgent takes the left box, and then leaves the right one to seat 1.
    """
    game = openspiel_bots.OpenSpielGame(DOTS)
    settled, open_ = (game.state_at(DOTS.from_string(text)) for text in ("1010111 0. 0", "0010111 .. 0"))
    agent = RandomAgent(DOTS)
    one = openspiel_bots.RolloutEvaluator(agent, DOTS, seed=0)
    assert {tuple(one.evaluate(settled)) for _ in range(10)} == {(0, 0)}
    found = [tuple(one.evaluate(open_)) for _ in range(64)]
    assert set(found) == {(0, 0), (-1, 1)}
    assert 0.4 < found.count((-1, 1)) / 64 < 0.9
    of_first = openspiel_bots.RolloutEvaluator(FirstAgent(DOTS), DOTS, seed=0)
    assert {tuple(of_first.evaluate(open_)) for _ in range(10)} == {(0, 0)}


# -- any bot -------------------------------------------------------------------------------------------------------


def test_same_key_gives_the_same_actions_and_another_key_others() -> None:
    agent, states = agents.make("openspiel(simulations=3)", DOTS), stacked([start(DOTS)] * 12)
    assert act(agent, states, seed=1) == act(agent, states, seed=1) != act(agent, states, seed=2)
    assert len(set(act(agent, states))) > 1  # boards of a batch have seeds of their own


def test_actions_stand_at_the_place_of_their_board() -> None:
    """Live and finished boards, one with a single legal action: the bot is not asked about the last two kinds."""
    one_left, over = DOTS.from_string("1111110 0. 0"), DOTS.from_string("1111111 01 0")
    states = stacked([over, one_left, start(DOTS), DOTS.from_string("0110111 .. 1"), over])
    asked: list[tuple[int, int]] = []

    def make_bot(game: Any, player: int, seed: int) -> Any:
        asked.append((player, seed))
        return FirstBot(place=1)

    actions = agent_of(DOTS, make_bot).act(ANY_KEY, states)
    assert actions.dtype == np.int32
    assert actions.tolist()[1:4] == [6, 1, 3]
    assert [player for player, _ in asked] == [0, 1]
    assert all(0 <= seed < 2**32 for _, seed in asked)


def test_illegal_action_of_a_bot_is_refused() -> None:
    class Illegal(FirstBot):
        def step(self, state: Any) -> int:
            return 0

    state = play(DOTS, start(DOTS), "h(0,0)")
    assert not compiled(DOTS).mask(state)[0]
    with pytest.raises(ValueError, match=r"Illegal must play a legal action, one of .*, not 0, in 1000000 \.\. 1"):
        agent_of(DOTS, lambda game, player, seed: Illegal()).act(ANY_KEY, stacked([state]))


def test_agent_of_three_seats_plays_users_games() -> None:
    """The mover takes all sticks if two or three are left."""
    env = Sticks()
    agent = openspiel_bots.make(env, simulations=60)
    assert act(agent, stacked([env.at(2, 0), env.at(3, 1), env.at(1, 2), env.at(0, 0)]))[:3] == [1, 2, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("openspiel(simulations=1)", "simulations .* from 2 to"),
        ("openspiel(uct_c=-1)", "uct_c .* from 0 on"),
        ("openspiel(playout=openspiel)", "playout must be an agent on the device, such as random or greedy"),
    ],
)
def test_wrong_text_is_refused_with_what_is_allowed(text: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        agents.make(text, DOTS)
