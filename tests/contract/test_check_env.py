"""Every game keeps the contract of `jaxgames.testing.check_env`, has the values of its page, and is traced cleanly.

`check_env` is given the boards of the rules, which random play hardly reaches.
"""

import dataclasses
import functools
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.export
import pytest

import jaxgames
from jaxgames import ParameterError, auto_reset
from jaxgames.greedy import action_scores
from jaxgames.sampling import random_action
from jaxgames.testing import check_env
from tests.contract.games import each_game, of_each_game
from tests.contract.test_rules import begun, ended
from tests.helpers.cases import Cases, Rule, WrongText
from tests.helpers.positions import compiled, start


class Checked(NamedTuple):
    """An env with the boards of its rules; those with counters are left out, as play may not reach them."""

    name: str  # of the env
    rules: Sequence[Rule]
    steps: int

    @property
    def slow(self) -> bool:
        return self.steps > 80


def checked(cases: Cases) -> list[Checked]:
    """Returns all envs of a game. The fast ones are `cases.fast` and the one with the most rules."""
    rules: dict[str, list[Rule]] = {env: [] for env in (*cases.fast, *cases.slow)}
    for rule in cases.rules:
        rules.setdefault(rule.env, []).extend([] if rule.counters else [rule])
    most = max(rules, key=lambda env: len(rules[env]))
    steps = {most: 1} | dict.fromkeys(cases.fast, 80)
    return [Checked(env, of_env, steps.get(env, 200)) for env, of_env in rules.items()]


@of_each_game("checked", checked)
def test_game_keeps_the_contract(cases: Cases, checked: Checked) -> None:
    boards = [*map(begun, checked.rules), *(ended(rule) for rule in checked.rules if rule.plays)]
    check_env(jaxgames.make(checked.name), positions=boards, games=32 if checked.slow else 8, steps=checked.steps)


STARS = ("chinese_checkers(size=1, num_players=2)", "chinese_checkers_diamond(size=3, pieces=1)")
WITHOUT_NANS = ["checkers", *STARS, "minichess", "minichess(rules='king_capture')"]


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


def play(game: jaxgames.Env[Any], key: jax.Array) -> Any:
    """Calls every traced function of a game and of the same game that restarts."""
    state, restarting = game.init(key), auto_reset(game, keep_before_reset=True)
    after = game.step(state, random_action(key, game.legal_action_mask(state)))
    after = game.step(after, game.random_legal_action(after, key))
    seats = (game.observe(after), game.observe(after, 0), game.observe(after, after.current_player))
    return game.winners(after), seats, restarting.step(restarting.init(key), 0, key)


@pytest.mark.usefixtures("every_form")
@of_each_game("env", lambda cases: [*cases.fast, cases.slow[0]])
def test_game_is_lowered_for_accelerators_without_implicit_promotion(cases: Cases, env: str) -> None:
    """Under `jax_numpy_rank_promotion=raise` and `jax_numpy_dtype_promotion=strict`. No accelerator is needed."""
    game = jaxgames.make(env)
    text, keys = game.to_string(game.init()), jax.eval_shape(lambda: jax.random.split(jax.random.key(0), 8))
    with jax.numpy_rank_promotion("raise"), jax.numpy_dtype_promotion("strict"):
        batch = jax.jit(jax.vmap(functools.partial(play, game)))
        jax.export.export(batch, platforms=("cuda", "tpu"))(keys)
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
