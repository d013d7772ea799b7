"""Texts of positions and actions: those of any placement read back, wrong ones are refused with what was expected."""

import functools
import warnings

import jax
import pytest
from hypothesis import given, settings

import jaxgames
from tests.contract.games import each_game, of_each_game
from tests.helpers.cases import Cases, Placement, WrongText
from tests.helpers.positions import compiled, is_over, start

EXPLAINED = r"expected|names no move|the cell next to"


@each_game
def test_any_placement_reads_back_and_is_over_if_the_rules_say_so(cases: Cases) -> None:
    @settings(max_examples=60, deadline=None, database=None)
    @given(placement=cases.placements)
    def check(placement: Placement) -> None:
        env = jaxgames.make(placement.env)
        for text in (placement.text, f"\t{placement.text} \r\n"):
            state = jax.device_get(env.from_string(text))
            assert env.to_string(state) == placement.text
        assert not state.rewards.any()
        assert is_over(state) == placement.over
        assert compiled(env).mask(state).any() == (not any(placement.over))

    check()


@of_each_game("wrong", lambda cases: cases.wrong_positions[1])
def test_wrong_position_is_explained(cases: Cases, wrong: WrongText) -> None:
    text, offending, expected = wrong
    with pytest.raises(ValueError, match="expected") as error:
        jaxgames.make(cases.wrong_positions[0]).from_string(text)
    assert offending in str(error.value)
    assert expected in str(error.value)


@of_each_game("wrong", lambda cases: cases.wrong_actions[2])
def test_wrong_action_is_explained(cases: Cases, wrong: WrongText) -> None:
    name, position, _ = cases.wrong_actions
    text, offending, expected = wrong
    env = jaxgames.make(name)
    with pytest.raises(ValueError, match=EXPLAINED) as error:
        env.action_from_string(jax.device_get(env.from_string(position)), text)
    assert offending in str(error.value)
    assert expected in str(error.value)


@of_each_game("wrong", lambda cases: cases.no_actions)
def test_action_that_names_no_move_has_no_text(cases: Cases, wrong: tuple[str, str, int, str]) -> None:
    name, position, action, message = wrong
    env = jaxgames.make(name)
    with pytest.raises(ValueError, match=EXPLAINED) as error:
        env.action_to_string(jax.device_get(env.from_string(position)), action)
    assert message in str(error.value)


@each_game
def test_action_out_of_range_has_no_text(cases: Cases) -> None:
    env = jaxgames.make(cases.id)
    for action in (-1, env.num_actions):
        with pytest.raises(ValueError, match=f"from 0 to {env.num_actions - 1}, not {action}"):
            env.action_to_string(start(env), action)


@each_game
def test_error_about_a_long_text_is_short(cases: Cases) -> None:
    """A wrong text may have a million characters, which are not repeated."""
    env = jaxgames.make(cases.id)
    for text in ("x" * 1_000_000, "1 " * 500_000, env.to_string(start(env)) + "0" * 1_000_000):
        for read in (env.from_string, functools.partial(env.action_from_string, start(env))):
            with pytest.raises(ValueError, match=r"^expected .*\.\.\.$") as error:
                read(text)
            assert len(str(error.value)) <= 203


@each_game
def test_board_on_the_host_is_read_without_warnings(cases: Cases) -> None:
    """Numpy's integers warn where they wrap around. The board is a constant of what is traced, so it stays in numpy."""
    env = jaxgames.make(cases.rules[0].env)
    board = start(env)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mask = jax.jit(lambda: env.legal_action_mask(board))()
        for call in (lambda: env.step(board, 0), lambda: env.observe(board, 1), lambda: env.winners(board)):
            jax.eval_shape(call)
    assert (mask == compiled(env).mask(board)).all()
