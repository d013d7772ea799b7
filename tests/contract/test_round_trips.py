"""Positions and actions read back from their texts, those of play and those that play never reaches."""

import chex
import jax
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxgames
from tests.contract.games import each_game, of_each_game
from tests.helpers.cases import Cases, Placement
from tests.helpers.positions import compiled, is_over, start


@of_each_game("placement", lambda cases: cases.positions)
def test_position_reads_back_and_is_over_if_the_rules_say_so(cases: Cases, placement: Placement) -> None:
    assert_reads_back(placement)


@each_game
def test_position_is_read_with_blanks_and_line_ends_around_it(cases: Cases) -> None:
    placement = cases.positions[0]
    env = jaxgames.make(placement.env)
    for text in (f" {placement.text}", f"\t{placement.text}\n", f"{placement.text} \r\n"):
        assert env.to_string(env.from_string(text)) == placement.text


@each_game
def test_any_placement_reads_back(cases: Cases) -> None:
    @settings(max_examples=60, deadline=None, database=None)
    @given(placement=cases.placements)
    def check(placement: Placement) -> None:
        assert_reads_back(placement)

    check()


def assert_reads_back(placement: Placement) -> None:
    env = jaxgames.make(placement.env)
    state = jax.device_get(env.from_string(placement.text))
    assert env.to_string(state) == placement.text
    assert not state.rewards.any()
    if placement.over is not None:
        assert is_over(state) == placement.over
        assert compiled(env).mask(state).any() == (not any(placement.over))


@of_each_game("env", lambda cases: cases.referenced)
def test_play_reads_back(cases: Cases, env: str) -> None:
    """Positions and legal actions of random games have the texts that the reference gives them."""
    made = jaxgames.make(env)
    reference = cases.reference(made)

    @settings(max_examples=15, deadline=None, database=None)
    @given(choices=st.lists(st.integers(0, 10_000), max_size=60))
    def check(choices: list[int]) -> None:
        position = reference.start()
        for choice in choices:
            if legal := reference.legal(position):
                position = reference.step(position, list(legal)[choice % len(legal)], legal)
        text = reference.to_string(position)
        state = jax.device_get(made.from_string(text))
        assert made.to_string(state) == text
        reread = reference.from_string(text)  # without the counters that a text does not record
        assert is_over(state) == (reread.terminated, reread.truncated)
        for action, move in reference.legal(position).items():
            assert made.action_to_string(state, action) == reference.move_to_string(position, move)
            assert made.action_from_string(state, reference.move_to_string(position, move)) == action

    check()


@each_game
def test_start_reads_back_as_the_state_of_init(cases: Cases) -> None:
    for env in map(jaxgames.make, cases.referenced):
        state = start(env)
        read = jax.device_get(env.from_string(env.to_string(state)))
        chex.assert_trees_all_equal(read, state)
        chex.assert_trees_all_equal_dtypes(read, state)


@each_game
def test_legal_actions_have_texts_of_their_own(cases: Cases) -> None:
    for judged in cases.judged:
        env = jaxgames.make(judged.env)
        state = jax.device_get(env.from_string(judged.position))
        legal = np.flatnonzero(compiled(env).mask(state)).tolist()
        texts = [env.action_to_string(state, action) for action in legal]
        assert len(set(texts)) == len(texts)
        assert [env.action_from_string(state, text) for text in texts] == legal
