"""What every game promises, asked of every game and every parameter."""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.testing import check_env

GAMES = [
    "checkers",
    "checkers(draw_rule='openspiel', max_plies=50)",
    "chinese_checkers(size=1, num_players=3)",
    "chinese_checkers(size=2, num_players=2, reward='win_loss', max_rounds=10)",
    "chinese_checkers(size=2, num_players=4, reward='goal')",
    "chinese_checkers(size=3, num_players=6, reward='sparse')",
    "chinese_checkers_diamond(size=3, pieces=1)",
    "chinese_checkers_diamond(size=4, pieces=3)",
    "chinese_checkers_diamond(size=5, pieces=6, tip_lock=True, max_plies=40)",
    "dots_and_boxes(rows=1, cols=1, reward='margin')",
    "dots_and_boxes(rows=2, cols=3, reward='boxes')",
    "minichess",
    "minichess(board='mallet', reward='material', double_step=True, promotion='queen')",
    "minichess(board='baby', rules='king_capture', max_plies=30)",
    "minichess(rules='king_capture', reward='material')",
]


def combinations(game: str, **values: Sequence[Any]) -> list[str]:
    """The game with every combination of the parameters' values."""
    sets = (dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values()))
    return [f"{game}({', '.join(f'{name}={value!r}' for name, value in chosen.items())})" for chosen in sets]


MANY = [
    *combinations("checkers", draw_rule=["wcdf", "openspiel"], max_plies=[20, 200]),
    *combinations("chinese_checkers", size=[1, 2, 3, 4], num_players=[2, 3, 4, 6]),
    *combinations("chinese_checkers", size=[1], reward=["sparse", "goal", "movement", "positive_sum", "win_loss"]),
    *combinations("chinese_checkers", size=[8], num_players=[2, 6]),
    *combinations("chinese_checkers_diamond", size=[2, 4, 5, 7, 9], pieces=[1]),
    *combinations("chinese_checkers_diamond", size=[3, 6, 8], pieces=[3], max_plies=[30]),
    *combinations("chinese_checkers_diamond", size=[4, 5, 7, 9], pieces=[6], tip_lock=[False, True]),
    *combinations("chinese_checkers_diamond", size=[5, 9], pieces=[10]),
    *combinations("dots_and_boxes", rows=[1, 4, 16], cols=[1, 5, 16], reward=["win_loss", "boxes"]),
    *combinations(
        "minichess",
        board=["gardner", "baby", "mallet"],
        rules=["standard", "king_capture"],
        reward=["win_loss", "material"],
        double_step=[False, True],
        promotion=["all", "queen"],
    ),
]


@pytest.mark.parametrize("game", GAMES)
def test_every_game_keeps_the_contract(game: str) -> None:
    check_env(jaxgames.make(game))


@pytest.mark.slow
@pytest.mark.parametrize("game", MANY)
def test_every_set_of_parameters_keeps_the_contract(game: str) -> None:
    check_env(jaxgames.make(game), games=16, steps=150, seed=1)


def test_every_game_and_parameter_is_among_those_checked() -> None:
    assert {game.split("(")[0] for game in GAMES} == set(jaxgames.list_games())
    for game in jaxgames.list_games():
        default = jaxgames.make(game)
        others = [jaxgames.make(text) for text in MANY if text.startswith(f"{game}(")]
        for parameter in (f.name for f in dataclasses.fields(type(default)) if f.init):  # pyright: ignore[reportArgumentType]  # every env is a dataclass
            assert len({getattr(env, parameter) for env in (default, *others)}) > 1, f"{game}: {parameter}"


@pytest.mark.parametrize("game", jaxgames.list_games())
def test_every_function_is_traced_once(game: str) -> None:
    """Once for all states, actions, seats and envs that are equal: also when the state comes from text."""
    functions = {
        "init": lambda env, key: env.init(key),
        "step": lambda env, state, action: env.step(state, action),
        "mask": lambda env, state: env.legal_action_mask(state),
        "observe": lambda env, state: env.observe(state),
        "observe for a seat": lambda env, state, seat: env.observe(state, seat),
    }
    chex.clear_trace_counter()
    once = {name: jax.jit(chex.assert_max_traces(f, n=1), static_argnums=0) for name, f in functions.items()}
    rng = np.random.default_rng(0)
    for equal_env in (jaxgames.make(game), jaxgames.make(str(jaxgames.make(game)))):
        state = once["init"](equal_env, jax.random.key(0))
        for _ in range(4):
            legal = np.flatnonzero(once["mask"](equal_env, state))
            state = once["step"](equal_env, state, jnp.int32(rng.choice(legal)))
            once["observe"](equal_env, state)
            once["observe for a seat"](equal_env, state, jnp.int32(rng.integers(equal_env.num_players)))
            state = equal_env.from_string(equal_env.to_string(state))


@pytest.mark.parametrize("game", jaxgames.list_games())
def test_a_key_changes_nothing(game: str) -> None:
    """`init` and `step` take one as every game does; nothing is random in any of these."""
    env = jaxgames.make(game)
    state = env.init(jax.random.key(0))
    chex.assert_trees_all_equal(state, env.init(jax.random.key(1)))
    step = jax.jit(env.step)
    action = jnp.int32(np.flatnonzero(env.legal_action_mask(state))[0])
    chex.assert_trees_all_equal(step(state, action), step(state, action, jax.random.key(0)))
