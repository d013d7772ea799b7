"""`Session` against a list of actions that is stepped again for every comparison."""

import json
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import make
from jaxgames.agents import RandomAgent
from jaxgames.play import HUMAN, Session
from jaxgames.play import agent_calls as thinking
from jaxgames.play.agent_calls import Thoughts
from jaxgames.play.history import Line
from tests.helpers.positions import compiled, legal, start
from tests.helpers.sticks import LuckySticks

BOXES = make("dots_and_boxes(rows=1, cols=2)")
GAMES = (
    "checkers",
    "chinese_checkers(size=1, num_players=3)",
    "chinese_checkers(size=2, num_players=6)",
    "chinese_checkers_diamond(size=3, pieces=1)",
    "dots_and_boxes(rows=2, cols=2)",
    "minichess",
    "minichess(rules='king_capture')",
)


def played(env: Any, actions: list[int]) -> Any:
    """The state after actions from the start, by the env alone."""
    state = start(env)
    for action in actions:
        state = compiled(env).step(state, np.int32(action))
    return state


def new(seats: list[str] | None = None, **options: Any) -> Session:
    return Session(BOXES, seats or [HUMAN, HUMAN], **options)


def session_of(*texts: str, seats: list[str] | None = None) -> Session:
    session = new(seats)
    for text in texts:
        session.play(BOXES.action_from_string(session.state, text))
    return session


def check_like_plain_stepping(env: Any, seed: int, changes: int) -> None:
    """Random plays, undos, redos and jumps; the model is a list of actions and a place in it."""
    rng, session = np.random.default_rng(seed), Session(env, [HUMAN] * env.num_players)
    actions: list[int] = []
    ply = 0
    for _ in range(changes):
        change = rng.choice(["play", "play", "play", "undo", "redo", "jump", "turn"])
        options = np.flatnonzero(compiled(env).mask(played(env, actions[:ply])))
        if change == "play" and len(options):
            action = int(rng.choice(options))
            session.play(action)
            actions, ply = [*actions[:ply], action], ply + 1
        elif change == "undo" and ply > 0:
            session.undo()
            ply -= 1
        elif change == "redo" and ply < len(actions):
            session.redo()
            ply += 1
        elif change == "jump":
            ply = int(rng.integers(len(actions) + 1))
            session.jump(ply)
        elif change == "turn" and ply > 0:
            session.undo_turn()
            movers = [int(played(env, actions[:i]).current_player) for i in range(ply)]
            ply = max((i for i in range(ply) if i == 0 or movers[i - 1] != movers[i]), default=0)
        state = played(env, actions[:ply])
        assert (session.ply, session.plies, session.actions) == (ply, len(actions), actions)
        assert env.to_string(session.state) == env.to_string(state)
        assert {move.text for move in session.legal()} == legal(env, state)
        assert session.over == bool(state.terminated | state.truncated)
        assert session.mover == state.current_player
    again = Session.from_json(session.to_json())
    assert again.to_json() == session.to_json()
    assert env.to_string(again.state) == env.to_string(session.state)


def test_session_is_like_plain_stepping() -> None:
    check_like_plain_stepping(BOXES, seed=0, changes=30)


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
def test_session_of_any_game_is_like_plain_stepping(game: str) -> None:
    check_like_plain_stepping(make(game), seed=1, changes=80)


def test_positions_are_packed_and_come_back_as_the_states_that_were_played() -> None:
    arrays = len(jax.live_arrays())
    session = session_of("h(0,0)", "h(1,0)", "v(0,0)", "v(0,1)")
    assert len(jax.live_arrays()) == arrays, "a long game keeps no arrays on the device"
    assert len(session.states) == 5
    for ply, state in enumerate(session.states):
        chex.assert_trees_all_equal_dtypes(state, start(BOXES))
        chex.assert_trees_all_equal(state, played(BOXES, session.actions[:ply]))
    assert [int(state.current_player) for state in session.states[1:3]] == [1, 0]


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
def test_positions_of_any_game_come_back_as_they_were(game: str) -> None:
    env = make(game)
    session = Session(env, [HUMAN] * env.num_players)
    for _ in range(3):
        session.play(session.legal()[0].action)
    for ply, state in enumerate(session.states):
        chex.assert_trees_all_equal_dtypes(state, start(env))
        chex.assert_trees_all_equal(state, played(env, session.actions[:ply]))


def test_keys_in_positions_come_back_with_their_implementation() -> None:
    session = Session(LuckySticks(), [HUMAN, "random", HUMAN], seed=3)
    session.play(session.legal()[0].action)
    session.play(session.agent_action())
    for ply, state in enumerate(session.states):
        assert state.luck == jax.random.fold_in(jax.random.key(3), ply)
    line = Line(jax.devices("cpu")[0])
    line.append({"luck": jax.random.key(1, impl="rbg")}, 0, False)
    assert line[0]["luck"] == jax.random.key(1, impl="rbg")


# -- moves -----------------------------------------------------------------------------------------------


def test_move_after_a_jump_drops_what_followed() -> None:
    session = session_of("h(0,0)", "h(1,0)", "v(0,0)")
    session.jump(1)
    session.play(BOXES.action_from_string(session.state, "v(0,2)"))
    assert session.moves() == ["h(0,0)", "v(0,2)"]
    with pytest.raises(ValueError, match="no move to play again"):
        session.redo()


def test_illegal_action_leaves_the_session_as_it_is() -> None:
    session = session_of("h(0,0)")
    for action in (0, -1, BOXES.num_actions, True, 1.0, "h(0,1)"):
        with pytest.raises(ValueError, match=r"legal moves are h\(0,1\), h\(1,0\)|must be an integer"):
            session.play(action)  # pyright: ignore[reportArgumentType]  # wrong on purpose
    assert session.moves() == ["h(0,0)"]


def test_finished_game_takes_no_move() -> None:
    session = session_of("h(0,0)", "h(0,1)", "h(1,0)", "h(1,1)", "v(0,0)", "v(0,1)", "v(0,2)")
    assert session.over
    assert session.legal() == []
    with pytest.raises(ValueError, match=r"the game is over \(all edges drawn\)"):
        session.play(0)


def test_undo_at_the_start_and_places_outside_the_line_are_refused() -> None:
    session = session_of("h(0,0)")
    for ply in (-1, 2):
        with pytest.raises(ValueError, match="ply must be from 0 to 1"):
            session.jump(ply)
    session.undo()
    with pytest.raises(ValueError, match="no move to undo"):
        session.undo()
    with pytest.raises(ValueError, match="no person has moved"):
        session.undo_turn()


def test_undo_turn_goes_back_over_the_agents_moves() -> None:
    session = session_of("h(0,0)", "h(1,0)", seats=[HUMAN, "first"])
    session.undo_turn()
    assert session.ply == 0


def test_undo_turn_takes_back_all_boxes_of_a_turn() -> None:
    """Seat 1 takes a box, and draws another edge in the same turn."""
    session = session_of("h(0,0)", "h(1,0)", "v(0,0)", "v(0,1)")
    assert (session.mover, session.turn_goes_on) == (1, True)
    session.play(BOXES.action_from_string(session.state, "h(0,1)"))
    session.undo_turn()
    assert (session.ply, session.mover, session.turn_goes_on) == (3, 1, False)


# -- resignation -----------------------------------------------------------------------------------------


def test_other_seat_wins_after_a_resignation() -> None:
    session = session_of("h(0,0)", seats=[HUMAN, "random"])
    session.resign()
    assert session.over
    assert (session.outcome.kind, session.outcome.winners) == ("win", (1,))
    assert session.outcome.reason == "seat 0 resigned"
    again = Session.from_json(session.to_json())
    assert again.outcome == session.outcome
    again.jump(0)
    assert not again.over
    session.undo()
    assert (session.over, session.ply) == (False, 1)


def test_resignation_is_loaded_when_another_player_has_the_seat() -> None:
    session = session_of("h(0,0)", seats=[HUMAN, "random"])
    session.resign()
    again = Session.from_json(session.with_seats(["greedy", "random"]).to_json())
    assert again.outcome == session.outcome


def test_agents_do_not_resign() -> None:
    session = new(["random", "first"])
    with pytest.raises(ValueError, match="only people resign"):
        session.resign()


# -- agents ----------------------------------------------------------------------------------------------


class HostFirst:
    """Plays the first legal action, outside of `jit`, and remembers the type of what it was given."""

    on_device = False

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def act(self, key: Any, states: Any) -> Any:
        self.calls.append(type(states.edges))
        return jnp.asarray([int(np.argmin(states.edges[0]))])


def test_agents_on_device_and_host_play_a_game(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thinking, "_compiled", set[tuple[str, str, Any]]())  # as in a new process
    on_host = HostFirst()
    compiled_first: list[str] = []

    def make_agent(text: str, env: Any) -> Any:
        return on_host if text == "mine" else RandomAgent(env)

    session = new(["mine", "random"])
    while not session.over:
        session.play(session.agent_action(make_agent, compiled_first.append))
    assert set(on_host.calls) == {np.ndarray}
    assert sorted(compiled_first) == ["mine", "random"]


def test_same_seed_gives_the_same_game() -> None:
    def game(seed: int) -> list[str]:
        session = new(["random", "random"], seed=seed)
        while not session.over:
            session.play(session.agent_action())
        return session.moves()

    assert game(1) == game(1)
    assert len({tuple(game(seed)) for seed in range(4)}) > 1


def test_person_to_move_has_no_agents_action() -> None:
    with pytest.raises(ValueError, match="a person plays seat 0"):
        new([HUMAN, "random"]).agent_action()


def test_analysis_lists_legal_moves_the_most_probable_first() -> None:
    session = session_of("h(0,0)", "h(1,0)", "v(0,0)", seats=[HUMAN, "greedy"])
    thoughts = session.analyse()
    assert isinstance(thoughts, Thoughts)
    assert thoughts.agent == "greedy"
    assert thoughts.values is None
    assert [(move.text, round(p, 3)) for move, p in thoughts.moves[:1]] == [("v(0,1)", 1.0)]
    assert len(thoughts.moves) == 4
    with pytest.raises(ValueError, match="no seat has an agent"):
        new().analyse()


# -- files -----------------------------------------------------------------------------------------------


def changed(**fields: Any) -> str:
    return json.dumps(json.loads(session_of("h(0,0)", "h(1,0)").to_json()) | fields)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected JSON"),
        ("[" * 100_000, "expected JSON"),
        ("[]", 'expected a JSON object with "format"'),
        ({"format": "pgn"}, 'expected a JSON object with "format"'),
        ({"version": 2}, "this program reads 1"),
        ({"game_version": 99}, "version 99 of the rules"),
        ({"game": "no_game"}, "unknown game 'no_game'"),
        ({"game": "os:system(size=2)"}, "needs the module 'os'"),
        ({"game": 3}, "'game' of the saved game must be a text"),
        ({"seats": "human"}, "'seats' of the saved game must be a list"),
        ({"seats": ["human"]}, "2 seats"),
        ({"seed": -1}, "'seed' of the saved game"),
        ({"start": "000 . 0"}, "expected 7 characters"),
        ({"moves": ["h(0,0)", "h(0,0)"]}, r"move 2 of the saved game, 'h\(0,0\)', cannot be played"),
        ({"moves": ["h(9,0)"]}, r"move 1 of the saved game, 'h\(9,0\)', cannot be played: expected a row"),
        ({"moves": [0]}, "'moves' of the saved game must be a list of texts"),
        ({"ply": 3}, "ply must be from 0 to 2"),
        ({"resigned": 5}, "expected a seat from 0 to 1"),
    ],
)
def test_file_that_does_not_replay_is_refused(text: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Session.from_json(text if isinstance(text, str) else changed(**text))


def test_saved_game_keeps_its_start_and_the_position_that_is_shown() -> None:
    session = Session(BOXES, [HUMAN, "greedy"], seed=5, state=BOXES.from_string("1000000 .. 1"))
    session.play(1)
    session.undo()
    again = Session.from_json(session.to_json())
    assert (again.start, again.seats, again.seed, again.ply, again.plies) == (
        "1000000 .. 1", (HUMAN, "greedy"), 5, 0, 1,
    )  # fmt: skip


def test_other_seats_keep_the_game() -> None:
    session = session_of("h(0,0)", "h(1,0)")
    session.undo()
    other = session.with_seats(["random", HUMAN])
    assert (other.seats, other.moves(), other.ply) == (("random", HUMAN), session.moves(), 1)
    other.play(other.legal()[0].action)
    assert session.moves() == ["h(0,0)", "h(1,0)"]


@pytest.mark.parametrize("seats", ["human", ["human"], [HUMAN] * 3, [HUMAN, 1]])
def test_wrong_seats_are_refused(seats: Any) -> None:
    with pytest.raises(ValueError, match="dots_and_boxes has 2 seats here: expected one text for each"):
        Session(BOXES, seats)
