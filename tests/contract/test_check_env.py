"""Every game keeps the contract of `jaxgames.testing.check_env`, has the values of its page, and is traced cleanly.

`check_env` is given the boards of the rules, which random play hardly reaches.
"""

import dataclasses
import functools
import warnings
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import jaxgames
from jaxgames import ParameterError
from jaxgames.greedy import action_scores
from jaxgames.sampling import random_action
from jaxgames.testing import check_env
from tests.contract.games import each_game, of_each_game
from tests.contract.test_rules import begun, ended
from tests.helpers.cases import Cases, WrongText
from tests.helpers.positions import compiled, legal, start


@of_each_game("env", lambda cases: cases.fast)
def test_game_keeps_the_contract(cases: Cases, env: str) -> None:
    check_env(jaxgames.make(env), games=8, steps=80)


def boards_of(cases: Cases) -> dict[str, list[Any]]:
    """Returns the boards to check by their envs. Those of rules with counters are left out: play may not reach them."""
    boards: dict[str, list[Any]] = {env: list(texts) for env, texts in cases.positions.items()}
    for rule in cases.rules:
        if not rule.counters:
            boards.setdefault(rule.env, []).extend([begun(rule), ended(rule)] if rule.plays else [begun(rule)])
    return boards


@each_game
def test_boards_of_the_rules_keep_the_contract(cases: Cases) -> None:
    """The env with the most boards of each game."""
    env, boards = max(boards_of(cases).items(), key=lambda item: len(item[1]))
    check_env(jaxgames.make(env), positions=boards, games=8, steps=1)


@pytest.mark.slow
@each_game
def test_boards_of_all_rules_keep_the_contract(cases: Cases) -> None:
    for env, boards in boards_of(cases).items():
        check_env(jaxgames.make(env), positions=boards, games=8, steps=1)


@pytest.mark.slow
@of_each_game("env", lambda cases: [*cases.fast, *cases.slow])
def test_every_parameter_set_keeps_the_contract(cases: Cases, env: str) -> None:
    check_env(jaxgames.make(env), games=32, steps=200, seed=1)


OTHERS = ("checkers", "chinese_checkers(size=1, num_players=2)", "chinese_checkers_diamond(size=3, pieces=1)")
WITHOUT_NANS = [*OTHERS, "minichess", "minichess(rules='king_capture')"]


@pytest.mark.parametrize(
    "env", ["dots_and_boxes(rows=1, cols=2)", *(pytest.param(env, marks=pytest.mark.slow) for env in WITHOUT_NANS)]
)
def test_game_keeps_the_contract_with_x64_and_without_nans(env: str) -> None:
    """Tracing with x64, fast for all games, is below."""
    with jax.enable_x64(True), jax.debug_nans(True):
        check_env(jaxgames.make(env), games=2, steps=20)


# -- parameters and plain values ---------------------------------------------------------------------------------------


@each_game
def test_every_parameter_is_among_those_checked(cases: Cases) -> None:
    """Each parameter has at least two values in the sets, the default among them or not."""
    assert {text.split("(")[0] for text in (*cases.fast, *cases.slow)} == {cases.id}
    envs = [jaxgames.make(text) for text in (cases.id, *cases.fast, *cases.slow, *cases.facts)]
    for parameter in (f.name for f in dataclasses.fields(type(envs[0])) if f.init):  # pyright: ignore[reportArgumentType]  # every env is a dataclass
        assert len({getattr(env, parameter) for env in envs}) > 1, f"{cases.id}: {parameter}"
    assert [jaxgames.make(str(env)) for env in envs] == envs


@of_each_game("env", lambda cases: cases.facts)
def test_properties_are_those_of_the_documentation(cases: Cases, env: str) -> None:
    made = jaxgames.make(env)
    assert {name: getattr(made, name) for name in cases.facts[env]} == cases.facts[env]
    assert made.id == cases.id


@of_each_game("wrong", lambda cases: cases.wrong_parameters)
def test_wrong_parameter_is_explained(cases: Cases, wrong: tuple[Mapping[str, Any], str]) -> None:
    parameters, message = wrong
    with pytest.raises(ParameterError) as error:
        jaxgames.make(cases.id, **parameters)
    assert message in str(error.value)


# -- notation: texts that are read are compared with the slow references -----------------------------------------------


def wrong_texts(cases: Cases) -> list[tuple[str, str, WrongText]]:
    positions, actions = cases.wrong_positions, cases.wrong_actions
    return [*((positions[0], "", row) for row in positions[1]), *((*actions[:2], row) for row in actions[2])]


@of_each_game("wrong", wrong_texts)
def test_wrong_text_is_explained(cases: Cases, wrong: tuple[str, str, WrongText]) -> None:
    """The text of a position, or in a position that of an action, or the number of an action that has none."""
    name, position, (text, *parts) = wrong
    env: Any = jaxgames.make(name)
    read = env.from_string
    if position:
        of_action = env.action_to_string if isinstance(text, int) else env.action_from_string
        read = functools.partial(of_action, jax.device_get(env.from_string(position)))
    with pytest.raises(ValueError, match=r"expected|names no move|the cell next to") as error:
        read(text)
    assert all(part in str(error.value) for part in parts)


@each_game
def test_error_about_a_long_text_is_short(cases: Cases) -> None:
    """A wrong text may have a million characters, which are not repeated."""
    env, million = jaxgames.make(cases.id), 1_000_000
    board, move = env.to_string(start(env)), min(legal(env, start(env)))
    for text in ("x" * million, "1 " * million, board + "0" * million, move + "x" * million):
        for read in (env.from_string, functools.partial(env.action_from_string, start(env))):
            with pytest.raises(ValueError, match=r"^expected .*\.\.\.$") as error:
                read(text)
            assert len(str(error.value)) <= 203


# -- programs when they are traced -------------------------------------------------------------------------------------


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


@each_game
def test_key_is_not_used(cases: Cases) -> None:
    """`init` and `step` take a key in every game; nothing is random in these."""
    env = jaxgames.make(cases.id)
    state, key = env.init(), jax.random.key(0)
    init = jax.make_jaxpr(lambda key: env.init(key))(key)
    step = jax.make_jaxpr(lambda state, action, key: env.step(state, action, key))(state, jnp.int32(0), key)
    for program in (init.jaxpr, step.jaxpr):
        key_in = program.invars[-1]
        assert all(key_in is not used for equation in program.eqns for used in equation.invars)
        assert all(key_in is not out for out in program.outvars)


def play(game: jaxgames.Env[Any], key: jax.Array) -> Any:
    """Calls every traced function of a game."""
    state = game.init(key)
    after = game.step(state, random_action(key, game.legal_action_mask(state)))
    after = game.step(after, game.random_legal_action(after, key))
    seats = (game.observe(after), game.observe(after, 0), game.observe(after, after.current_player))
    return game.winners(after), seats


@pytest.mark.usefixtures("every_form")
@of_each_game("env", lambda cases: [*cases.fast, cases.slow[0]])
def test_game_is_traced_without_implicit_promotion(cases: Cases, env: str) -> None:
    """Under `jax_numpy_rank_promotion=raise` and `jax_numpy_dtype_promotion=strict`, which look at types alone."""
    game = jaxgames.make(env)
    text = game.to_string(game.init())
    with jax.numpy_rank_promotion("raise"), jax.numpy_dtype_promotion("strict"):
        jax.eval_shape(jax.vmap(functools.partial(play, game)), jax.random.split(jax.random.key(0), 2))
        game.from_string(text)


@pytest.mark.usefixtures("every_form")
@of_each_game("env", lambda cases: cases.fast)
def test_game_is_lowered_with_x64_after_it_was_without(cases: Cases, env: str) -> None:
    """JAX keeps parts of traced programs, with the tables in them, as long as one of the programs lives."""
    game, key = jaxgames.make(env), jax.random.key(0)
    with_and_without: list[Any] = []  # both live at the same time
    for x64 in (False, True):
        with jax.enable_x64(x64):
            with_and_without.append(jax.jit(lambda key: (play(game, key), action_scores(game, game.init()))))
            with_and_without[-1].lower(key)
