"""The contract of learners: a run is a function of its key, which advances, and it learns a solved game.

A learner is an entry of `CASES`. The game of most is `tests.helpers.sticks`.
"""

import dataclasses
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.policies.policy import PolicyEvaluate
from tests.helpers import toy_learner
from tests.helpers.networks import clipped_norm
from tests.helpers.sticks import Sticks
from tests.train.test_runs import of_labels
from train import alphazero, imitation, klent, ppo
from train.agents import learner_type
from train.driver.learner import Learner
from train.ops.sharding import keys_to_data

GAME = Sticks(num_players=2, sticks=9)
STICKS: dict[str, Any] = {"env": "sticks(num_players=2, sticks=9)", "num_envs": 32, "gamma": 1.0, "hidden_sizes": (32,)}
PPO: dict[str, Any] = STICKS | {
    "total_steps": 40 * 32 * 32,
    "rollout_length": 32,
    "update_epochs": 4,
    "num_minibatches": 4,
    "learning_rate": 0.02,
    "max_grad_norm": 0.001,  # shorter than any gradient of the run
    "ent_coef": 0.05,  # enough to visit every position until the end
}
KLENT: dict[str, Any] = {
    **{name: value for name, value in PPO.items() if name != "ent_coef"},
    "entropy_weight": 0.1,
}
ALPHAZERO: dict[str, Any] = STICKS | {
    "total_steps": 40 * 32 * 16,
    "rollout_length": 16,
    "simulations": 8,
    "random_starts": 0.5,
    "random_plies": 6,
    "replay_size": 4 * 32 * 16,
    "num_updates": 8,
    "minibatch_size": 128,
    "learning_rate": 5e-3,
    "max_grad_norm": 1e-4,
    "ema": 0.9,
}
DRAWN: list[tuple[bytes, bytes]] = []  # the key and the positions of each minibatch of a run of imitation


class Drawing(imitation.Imitation):
    """Imitation that records what it draws."""

    def minibatch_of(self, key: jax.Array, labels: Any, rows: jax.Array) -> imitation.Minibatch:
        words = jax.random.key_data(key)
        jax.debug.callback(lambda words, rows: DRAWN.append((words.tobytes(), rows.tobytes())), words, rows)
        return super().minibatch_of(key, labels, rows)

    def loss(self, train_state: Any, params: Any, minibatch: Any, dropout_key: Any = None) -> Any:
        loss, (metrics, statistics) = super().loss(train_state, params, minibatch, dropout_key)
        return loss, (metrics | {"of_dropout": jax.random.uniform(dropout_key)}, statistics)  # no other use is allowed


def of_solved_boxes(folder: Path) -> Learner:
    """Imitation of the positions of a board with seven edges, under random symmetries."""
    sizes: dict[str, Any] = {"total_steps": 40 * 16 * 40, "num_minibatches": 16, "batch_size": 40}
    rates: dict[str, Any] = {"learning_rate": 0.02, "max_grad_norm": 1e-4, "value_coef": 1.0, "symmetries": True}
    config = of_labels(folder).config
    return Drawing(dataclasses.replace(config, **sizes, **rates, hidden_sizes=(64,), activation="relu"))


CASES: dict[str, Callable[[Path], Learner]] = {
    "toy": lambda _: toy_learner.ToyLearner(toy_learner.Config()),
    "ppo": lambda _: ppo.PPO(ppo.Config(**PPO)),
    "klent": lambda _: klent.KLENT(klent.Config(**KLENT)),
    "alphazero": lambda _: alphazero.AlphaZero(alphazero.Config(**ALPHAZERO)),
    "imitation": of_solved_boxes,
}


class Case(NamedTuple):
    learner: Any
    run: Callable[..., tuple[list[Any], list[dict[str, jax.Array]]]]
    """(seed, iterations) -> the train states from the first one on, and the metrics of each iteration.

    A further argument changes the train state before the last iteration.
    """


def of_each(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", names, indirect=True)


@pytest.fixture(scope="module")
def case(request: pytest.FixtureRequest, sticks: None, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """A learner whose iteration is compiled once. JAX refuses it if it uses a key twice, or returns one that is used.

    Only the key of imitation stays the same.
    """
    learner: Any = CASES[request.param](tmp_path_factory.mktemp("files"))
    data, init = jax.device_put(learner.load_data()), jax.jit(learner.init)
    traces = itertools.count()

    @jax.jit
    def iterate(train_state: Any, *data: Any) -> Any:
        assert next(traces) == 0, "it is traced again"
        if request.param == "imitation":
            return learner.iterate(train_state._replace(key=jax.random.clone(train_state.key)), *data)
        after, metrics = learner.iterate(train_state, *data)
        used = jax.random.bits(after.key)
        return after._replace(key=jax.random.clone(after.key)), metrics | {"used": used}

    def run(seed: int, iterations: int, change: Callable[[Any], Any] | None = None) -> Any:
        train_states, rows = [init(jax.random.key(seed))], list[dict[str, jax.Array]]()
        for number in range(iterations):
            if change is not None and number == iterations - 1:
                train_states[-1] = change(train_states[-1])
            with jax.debug_key_reuse(True):
                train_state, metrics = iterate(train_states[-1], *data)
            train_states.append(train_state)
            rows.append(metrics)
        return train_states, rows

    return Case(learner, run)


@pytest.fixture(scope="module")
def trained(case: Case) -> Any:
    """The last train state and the last metrics of a whole run."""
    DRAWN.clear()
    train_states, rows = case.run(0, case.learner.config.num_iterations)
    return jax.device_get((train_states[-1], rows[-1]))


def differ(params: Any, others: Any) -> Any:
    """Whether each array has a number that is another one there."""
    return jax.tree.map(lambda x, y: bool((x != y).any()), params, others)


@of_each(*CASES)
def test_run_is_a_function_of_its_key_which_advances(case: Case) -> None:
    """The same key gives the same bits, another key another run; each iteration counts, and changes every array."""
    first, again, other = (keys_to_data(case.run(seed, 2)) for seed in (1, 1, 2))
    jax.tree.map(np.testing.assert_array_equal, first, again)  # NaN where no game ended
    start, _, end = first[0]
    assert (start.iteration, end.iteration) == (0, 2)
    assert (start.key != end.key).any() == (case.learner.name != "imitation")
    for unlike in (start, other[0][-1]):
        changed = differ(end.params, unlike.params)
        assert jax.tree.all(changed) or (case.learner.name == "toy" and changed["preference"])


@of_each("alphazero")
def test_alphazero_learns_from_its_samples_and_an_average_plays(case: Case) -> None:
    """With other values in the replay buffer, an iteration leads to other parameters."""
    (*_, end), _ = case.run(1, 2)
    assert jax.tree.all(differ(end.params, end.learning))
    assert end.games[0].replay.position.any()

    def change(train_state: Any) -> Any:
        game = train_state.games[0]
        return train_state.with_game(0, game._replace(replay=game.replay._replace(values=game.replay.values + 1)))

    (*_, other), _ = case.run(1, 2, change)
    assert any(jax.tree.leaves(differ(end.learning, other.learning)))


@of_each("ppo", "klent", "alphazero", "imitation")
def test_gradients_are_clipped_to_their_largest_norm(case: Case, trained: Any) -> None:
    """Adam's second moments, a mean of squared gradients, then add up to the square of the norm."""
    assert clipped_norm(trained[0].opt_state) == pytest.approx(case.learner.config.max_grad_norm, rel=1e-4)


@of_each("ppo", "klent", "alphazero")
def test_network_alone_learns_optimal_play_and_values(case: Case, trained: Any) -> None:
    """Positions with 4 or 8 sticks are lost. In all others the mover takes as many as leave 8, 4 or none."""
    left, seats = np.divmod(np.arange(18), 2)

    @jax.jit
    def found(params: Any) -> tuple[jax.Array, jax.Array]:
        positions = jax.vmap(GAME.at)(jnp.asarray(left + 1), jnp.asarray(seats))
        actions = case.learner.agent(params, temperature=0.0).act(jax.random.key(0), positions)
        return actions, PolicyEvaluate(GAME, case.learner.policy)(params, positions).values

    actions, values = jax.device_get(found(trained[0].params))
    for sticks_left in (1, 2, 3, 5, 6, 7, 9):
        assert actions.reshape(9, 2)[sticks_left - 1].tolist() == [sticks_left % 4 - 1] * 2
    np.testing.assert_array_equal(values[:, 0], -values[:, 1])
    of_mover = values[np.arange(18), seats].reshape(9, 2)
    assert (of_mover[[3, 7]] < -0.5).all()
    assert (of_mover[[0, 1, 2, 4, 5, 6, 8]] > 0.8).all()


@of_each("imitation")
def test_imitation_learns_the_best_actions_from_new_orders_and_keys_in_every_minibatch(
    case: Case, trained: Any
) -> None:
    assert trained[1]["top_1/train"] > 0.95
    assert trained[1]["value_error/train"] < 0.5  # about 1 of a network that has learned nothing
    jax.effects_barrier()
    keys, rows = (list(each) for each in zip(*DRAWN, strict=True))
    count, iterations = case.learner.config.num_minibatches, case.learner.config.num_iterations
    assert len(keys) == len({*keys}) == count * iterations
    assert len({*zip(*(rows[first::count] for first in range(count)), strict=True)}) == iterations


OF_THREE = ALPHAZERO | {"env": "sticks", "total_steps": 80 * 32 * 16, "random_plies": 4, "max_grad_norm": 1.0}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "settings"),
    [
        ("ppo", PPO | {"env": "sticks", "total_steps": 100 * 32 * 32}),
        ("klent", KLENT | {"env": "sticks", "total_steps": 100 * 32 * 32}),
        ("alphazero", OF_THREE),
        ("alphazero", OF_THREE | {"seats": "max_n"}),
    ],
    ids=["ppo", "klent", "paranoid", "max_n"],
)
def test_three_seats_play_and_value_sticks_as_solved(make: str, settings: dict[str, Any], sticks: None) -> None:
    """With up to three sticks the mover takes them all and wins 2, with four the next seat; values are divided by 2."""
    of_learner: Any = learner_type(make)
    learner = of_learner(of_learner.config_type(**settings))
    train_state, _ = jax.jit(learner.train)(jax.random.key(0))
    left, movers = np.divmod(np.arange(12), 3)
    boards = jax.vmap(Sticks().at)(jnp.asarray(left + 1), jnp.asarray(movers))
    actions = np.asarray(learner.agent(train_state.params, temperature=0.0).act(jax.random.key(0), boards))
    np.testing.assert_array_equal(actions[:9], np.repeat([0, 1, 2], 3))
    values = np.asarray(learner.outputs(train_state.params, boards)[1]).reshape(4, 3, -1)  # the mover's, then others
    expected = np.array([[1, -0.5, -0.5]] * 3 + [[-0.5, 1, -0.5]])[:, None, : values.shape[2]]
    np.testing.assert_allclose(values, np.broadcast_to(expected, values.shape), atol=0.25)


# -- against a fixed opponent --------------------------------------------------------------------------------------

EPSILON = 0.5  # of the opponent


def best_reply_values(left: int) -> list[float]:
    """The values of taking 1, 2, ... sticks against the opponent that takes one, or with EPSILON a random number."""

    def after(left: int) -> float:
        """The learner's value where the opponent is to move."""
        most = min(3, left)
        chances = [EPSILON / most + (1 - EPSILON) * (take == 1) for take in range(1, most + 1)]
        results = [-1.0 if take == left else max(best_reply_values(left - take)) for take in range(1, most + 1)]
        return sum(chance * result for chance, result in zip(chances, results, strict=True))

    return [1.0 if take == left else after(left - take) for take in range(1, min(3, left) + 1)]


@pytest.mark.slow
def test_greedy_policy_against_a_fixed_opponent_is_the_best_reply_to_it(sticks: None) -> None:
    """It takes one of four sticks, where all moves lose against a perfect opponent."""
    against = {"env": "sticks(num_players=2, sticks=7)", "opponents": ("first",), "opponent_epsilon": EPSILON}
    settings: dict[str, Any] = PPO | against | {"total_steps": 100 * 32 * 32}
    learner = ppo.PPO(ppo.Config(**settings))
    with jax.debug_key_reuse(True):  # refuses a key that is used twice
        train_state, _ = jax.jit(learner.train)(jax.random.key(0))
    left, seats = np.divmod(np.arange(14), 2)
    boards = jax.vmap(Sticks(num_players=2, sticks=7).at)(jnp.asarray(left + 1), jnp.asarray(seats))
    actions = np.asarray(learner.agent(train_state.params, temperature=0.0).act(jax.random.key(0), boards))
    assert np.argmax(best_reply_values(4)) == 0
    for sticks_left, found in enumerate(actions.reshape(7, 2), start=1):
        values = np.array(best_reply_values(sticks_left))
        assert sticks_left == 1 or values.min() < values.max()
        assert {*found.tolist()} <= {*np.flatnonzero(values >= values.max() - 1e-9).tolist()}, f"{values}"
