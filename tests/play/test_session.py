"""`Session` against a plain list: the actions, a place in it, and states that are stepped again from the start."""

from functools import lru_cache
from typing import Any

import chex
import jax
import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from jaxgames import Env, make
from jaxgames.play import HUMAN, Session, agent_action, from_json, to_json
from tests.helpers.positions import compiled, legal, start
from tests.helpers.sticks import LuckySticks

BOXES = make("dots_and_boxes(rows=1, cols=2)")
GAMES = ("checkers", "chinese_checkers(size=1, num_players=3)", "minichess(rules='king_capture')")


@lru_cache(maxsize=1000)
def played(env: Env[Any], actions: tuple[int, ...]) -> Any:
    """The state after actions from the start, by the env alone, on the host."""
    if not actions:
        return start(env)
    return jax.device_get(compiled(env).step(played(env, actions[:-1]), np.int32(actions[-1])))


class Machine(RuleBasedStateMachine):
    """Random changes of a session. The model: `actions`, the `ply` that is shown, why people `stopped`."""

    env: Env[Any] = BOXES
    with_agents = True

    @initialize(choice=st.integers(0, 2))
    def begin(self, choice: int) -> None:
        seats = [HUMAN] * self.env.num_players
        if choice > 0 and self.with_agents:
            seats[choice - 1] = "first"
        self.session = Session(self.env, seats)
        self.actions: list[int] = []
        self.ply = 0
        self.stopped: str | None = None  # the reason for which people ended the game

    def call(self, change: str, *arguments: Any) -> None:
        """Changes the session by one of its methods; tests of the page also send the request."""
        getattr(self.session, change)(*arguments)

    # -- the model -------------------------------------------------------------------------------------------------

    def state(self, ply: int) -> Any:
        return played(self.env, tuple(self.actions[:ply]))

    def options(self) -> list[int]:
        """The legal actions in the position that is shown."""
        return [] if self.is_stopped() else np.flatnonzero(compiled(self.env).mask(self.state(self.ply))).tolist()

    def is_stopped(self) -> bool:
        return self.stopped is not None and self.ply == len(self.actions)

    def mover(self, ply: int) -> int:
        return int(self.state(ply).current_player)

    def people(self) -> list[int]:
        return [seat for seat, text in enumerate(self.session.seats) if text == HUMAN]

    # -- changes ---------------------------------------------------------------------------------------------------

    @rule(choices=st.lists(st.integers(0, 1000), min_size=1, max_size=3))
    def play(self, choices: list[int]) -> None:
        for choice in choices:
            if options := self.options():
                action = options[choice % len(options)]
                self.call("play", action)
                self.actions, self.ply, self.stopped = [*self.actions[: self.ply], action], self.ply + 1, None

    @rule(action=st.integers(-1, 2000) | st.sampled_from([True, 1.0, "h(0,1)"]))
    def refuse(self, action: Any) -> None:
        if type(action) is not int or action not in self.options():
            with pytest.raises(ValueError, match=r"must be an integer|the legal moves are|the game is over"):
                self.call("play", action)

    @rule()
    def undo_turn(self) -> None:
        if self.is_stopped():
            self.stopped = None
            self.call("undo_turn")
            return
        movers = [self.mover(ply) for ply in range(self.ply)]
        starts = [ply for ply, seat in enumerate(movers) if ply == 0 or movers[ply - 1] != seat]
        turns = [ply for ply in starts if movers[ply] in self.people()]
        if turns:
            self.call("undo_turn")
            self.ply = turns[-1]
        else:
            with pytest.raises(ValueError, match="no person has moved"):
                self.call("undo_turn")

    @rule(ply=st.integers(-1, 8))
    def jump(self, ply: int) -> None:
        if 0 <= ply <= len(self.actions):
            self.call("jump", ply)
            self.ply = ply
        else:
            with pytest.raises(ValueError, match=f"ply must be from 0 to {len(self.actions)}, not {ply}"):
                self.call("jump", ply)

    @rule(seat=st.integers(0, 2))
    def resign(self, seat: int) -> None:
        if self.options() and seat in self.people():
            self.call("resign", seat)
            self.actions, self.stopped = self.actions[: self.ply], f"seat {seat} resigned"
        else:
            with pytest.raises(ValueError, match=r"only people resign|nobody can resign"):
                self.call("resign", seat)

    @rule()
    def agree_on_draw(self) -> None:
        if self.options():
            self.call("agree_on_draw")
            self.actions, self.stopped = self.actions[: self.ply], "agreed by the players"
        else:
            with pytest.raises(ValueError, match="over"):
                self.call("agree_on_draw")

    @rule()
    def save_and_load(self) -> None:
        text = to_json(self.session)
        self.session = from_json(text)
        assert to_json(self.session) == text

    @precondition(lambda self: self.actions)
    @rule()
    def change_a_copy(self) -> None:
        before, copy = to_json(self.session), self.session.copy()
        copy.jump(0)
        copy.play(copy.legal()[0].action)
        assert to_json(self.session) == before

    # -- what must hold --------------------------------------------------------------------------------------------

    @invariant()
    def session_shows_the_model(self) -> None:
        session, state = self.session, self.state(self.ply)
        assert (session.ply, session.plies, session.actions) == (self.ply, len(self.actions), self.actions)
        assert session.moves() == [
            self.env.action_to_string(self.state(ply), action) for ply, action in enumerate(self.actions)
        ]
        assert session.movers() == [self.mover(ply) for ply in range(len(self.actions) + 1)]
        chex.assert_trees_all_equal_dtypes(session.state, state)
        chex.assert_trees_all_equal(session.state, state)
        assert session.over == (not self.options())
        assert {move.text for move in session.legal()} == (legal(self.env, state) if self.options() else set())
        continues = self.ply > 0 and not session.over and self.mover(self.ply - 1) == self.mover(self.ply)
        assert (session.mover, session.continues_turn) == (self.mover(self.ply), continues)
        end = self.state(len(self.actions))
        assert session.ended == (self.stopped is not None or bool(end.terminated or end.truncated))
        if self.is_stopped():
            is_draw = self.stopped == "agreed by the players"
            winner = () if is_draw or self.env.num_players > 2 else (int("seat 0" in str(self.stopped)),)
            assert (session.outcome.reason, session.outcome.winners) == (self.stopped, winner)
            assert (session.outcome.kind == "draw") == is_draw
            assert str(self.stopped) in session.to_text()


def check_session(env: Env[Any], examples: int, steps: int, base: type[Machine] = Machine, **members: Any) -> None:
    machine = type("MachineOfGame", (base,), {"env": env, **members})
    limits = settings(max_examples=examples, stateful_step_count=steps, deadline=None, derandomize=True)
    run_state_machine_as_test(machine, settings=limits)


@pytest.mark.parametrize(
    ("game", "examples", "steps"),
    [(str(BOXES), 12, 20), *(pytest.param(game, 5, 40, marks=pytest.mark.slow) for game in GAMES)],
)
def test_session_is_like_a_list_of_actions(game: str, examples: int, steps: int) -> None:
    check_session(make(game), examples, steps)


def test_game_keeps_no_arrays_on_the_device() -> None:
    session = Session(BOXES, [HUMAN, HUMAN])
    arrays = len(jax.live_arrays())
    while not session.over:
        session.play(session.legal()[0].action)
    assert len(jax.live_arrays()) == arrays


def test_keys_in_states_depend_on_the_seed_and_the_ply() -> None:
    session = Session(LuckySticks(), [HUMAN, "random", HUMAN], seed=3)
    session.play(session.legal()[0].action)
    session.play(agent_action(session))
    assert [state.luck for state in session.states] == [session.key(ply) for ply in range(3)]
    assert session.state.luck == jax.random.fold_in(jax.random.key(3), 2)


def test_seat_that_resigns_is_the_only_person_or_the_mover() -> None:
    session = Session(BOXES, ["first", HUMAN])
    session.resign()
    assert session.resigned == 1
    with pytest.raises(ValueError, match="only people resign"):
        Session(BOXES, ["random", "first"]).resign()


@pytest.mark.parametrize("seats", ["human", ["human"], [HUMAN] * 3, [HUMAN, 1]])
def test_wrong_seats_are_refused(seats: Any) -> None:
    with pytest.raises(ValueError, match="dots_and_boxes has 2 seats here: expected one text for each"):
        Session(BOXES, seats)
