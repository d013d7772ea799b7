"""PPO by self-play: what is collected, what is learnt from it, and that a run is a function of its key."""

# pyright: reportPrivateUsage=false
# (an iteration is one program; its parts are looked at one by one)

import dataclasses
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from tests.train import advantages_reference
from train.advantages import per_seat_advantages
from train.policy import Sharing
from train.ppo import Config, Learner, Runner, Transition, train

CONFIG = Config(
    env="chinese_checkers(size=1, num_players=2, max_rounds=8, reward=sparse)",  # pays 5 and -1
    sharing="shared",
    total_steps=3 * 16 * 24,
    num_boards=16,
    rollout_length=24,
    epochs=2,
    minibatches=2,
    learning_rate=0.01,
    anneal=True,
    discount=0.9,
    trace_decay=0.8,
    hidden=(8,),
)
LEARNER = Learner(CONFIG)
GAME = LEARNER.env
SHAPE = (CONFIG.rollout_length, CONFIG.num_boards)

init = jax.jit(LEARNER.init)
iterate = jax.jit(chex.assert_max_traces(LEARNER.iterate, n=1))  # every test here would notice another trace
apply = jax.jit(LEARNER.policy.apply)


def key(seed: int) -> jax.Array:
    return jax.random.key(seed)


def same(a: Any, b: Any) -> bool:
    """Bit for bit."""
    return jax.tree.all(jax.tree.map(lambda x, y: x.dtype == y.dtype and bool(np.all(x == y)), *jax.device_get((a, b))))


def unwrapped(runner: Runner) -> Runner:
    """With the key as plain words."""
    return runner._replace(key=jax.random.key_data(runner.key))


@dataclasses.dataclass(frozen=True)
class Collected:
    runner: Runner  # that played
    steps: Transition  # [rollout_length, num_boards]
    bootstrap: np.ndarray
    advantages: np.ndarray  # that the update was given


@pytest.fixture(scope="module")
def collected() -> Collected:
    """An iteration, stopped before its update, of a policy with random biases: no value and no logit is trivial."""
    runner = init(key(0))
    rng = np.random.default_rng(0)
    noise = jax.tree.map(lambda leaf: jnp.asarray(0.5 * rng.normal(size=leaf.shape), jnp.float32), runner.params)
    runner = runner._replace(params=noise)

    def update_nothing(self: Learner, runner: Runner, steps: Transition, advantages: jax.Array) -> Any:
        return runner, {"advantages": advantages}

    def stopped(runner: Runner) -> Any:
        after, steps = LEARNER._collect(runner)
        return steps, LEARNER._bootstrap(after.params, steps), LEARNER.iterate(runner)[1]["advantages"]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Learner, "_update", update_nothing)
        steps, bootstrap, advantages = jax.device_get(jax.jit(stopped)(runner))
    return Collected(runner, steps, bootstrap, advantages.reshape(SHAPE))


@pytest.fixture(scope="module")
def finals(collected: Collected) -> list[list[jaxgames.State]]:
    """The rollout's actions played again, one plain board at a time: the board after each step, [step][board]."""
    start, step = jax.device_get(GAME.init(key(0))), jax.jit(GAME.step)
    columns: list[list[jaxgames.State]] = []
    for actions in np.asarray(collected.steps.action).T:
        state, column = start, list[jaxgames.State]()
        for action in actions:
            state = jax.device_get(step(state, action))
            column.append(state)
            state = start if state.terminated | state.truncated else state
        columns.append(column)
    return [list(row) for row in zip(*columns, strict=True)]


def stacked(boards: list[list[jaxgames.State]]) -> Any:
    """Leaves [rollout_length, num_boards, ...]."""
    rows = [jax.tree.map(lambda *leaves: np.stack(leaves), *row) for row in boards]
    return jax.tree.map(lambda *leaves: np.stack(leaves), *rows)


# -- what is collected -----------------------------------------------------------------------------------------


def test_only_legal_actions_are_played(collected: Collected) -> None:
    mask, action = np.asarray(collected.steps.mask), np.asarray(collected.steps.action)
    assert np.take_along_axis(mask, action[..., None], -1).all()
    assert not mask.all(-1).any()


def test_the_rollout_plays_again(collected: Collected, finals: list[list[jaxgames.State]]) -> None:
    """Views, masks and movers stored with each step are those of the board it was played on."""
    steps, boards = collected.steps, stacked(finals)
    for name in ("terminated", "truncated"):
        np.testing.assert_array_equal(getattr(steps, name), getattr(boards, name))
    np.testing.assert_allclose(steps.rewards, boards.rewards / 5, rtol=1e-6)  # the largest reward is scaled to 1
    start = jax.tree.map(lambda x: np.broadcast_to(x, (1, CONFIG.num_boards, *x.shape)), GAME.init(key(0)))
    before = jax.tree.map(lambda first, rest: np.concatenate([first, rest[:-1]]), start, boards)
    restarted = np.asarray(before.terminated | before.truncated)
    before = jax.tree.map(
        lambda x, first: np.where(restarted.reshape(SHAPE + (1,) * (x.ndim - 2)), first, x), before, start
    )
    np.testing.assert_array_equal(steps.seat, before.current_player)
    np.testing.assert_array_equal(steps.observation, jax.jit(jax.vmap(jax.vmap(GAME.observe)))(before))
    np.testing.assert_array_equal(steps.mask, jax.jit(jax.vmap(jax.vmap(GAME.legal_action_mask)))(before))


def test_the_rollout_holds_both_ways_to_end(collected: Collected) -> None:
    """Without them the tests around this one would prove little."""
    assert collected.steps.terminated.any()
    assert collected.steps.truncated[:-1].any()
    assert not collected.steps.truncated[-1].all()


def test_values_and_log_probabilities_are_the_policys(collected: Collected) -> None:
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), collected.steps._replace(final=None, tally=None))
    logits, values = apply(collected.runner.params, flat.observation, flat.seat)
    np.testing.assert_allclose(flat.value, values, rtol=1e-4, atol=1e-5)
    logits = np.where(flat.mask, np.asarray(logits, np.float64), -np.inf)
    log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    chosen = np.take_along_axis(log_probs, np.asarray(flat.action)[:, None], 1)[:, 0]
    np.testing.assert_allclose(flat.log_prob, chosen, rtol=1e-4, atol=1e-4)


# -- what is learnt from it ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def final_values(collected: Collected, finals: list[list[jaxgames.State]]) -> np.ndarray:
    """float[rollout_length, num_boards, num_players], every seat's value of the board after each step."""
    seats = jnp.arange(GAME.num_players)
    views = jax.jit(jax.vmap(jax.vmap(jax.vmap(GAME.observe, in_axes=(None, 0)), in_axes=(0, None)), in_axes=(0, None)))
    observations = views(stacked(finals), seats).reshape(-1, *GAME.observation_shape)
    count = observations.shape[0] // GAME.num_players
    _, values = apply(collected.runner.params, observations, jnp.tile(seats, count))
    return np.asarray(values).reshape(*SHAPE, GAME.num_players)


def test_a_game_that_was_cut_off_bootstraps_every_seat_from_the_final_board(
    collected: Collected, final_values: np.ndarray
) -> None:
    cut_off = np.asarray(collected.steps.truncated).copy()
    cut_off[-1] |= ~np.asarray(collected.steps.terminated[-1])
    np.testing.assert_allclose(collected.bootstrap[cut_off], final_values[cut_off], rtol=1e-4, atol=1e-5)


def test_the_update_learns_the_advantages_of_the_definition(collected: Collected, final_values: np.ndarray) -> None:
    """Computed slowly from the games as they were played again."""
    steps = collected.steps
    for board in range(CONFIG.num_boards):
        slow = advantages_reference.per_seat_advantages(
            *(np.asarray(x)[:, board] for x in (steps.rewards, steps.value, steps.seat)),
            *(np.asarray(x)[:, board] for x in (steps.terminated, steps.truncated, final_values)),
            discount=CONFIG.discount,
            trace_decay=CONFIG.trace_decay,
        )
        np.testing.assert_allclose(collected.advantages[:, board], slow, rtol=1e-3, atol=1e-4)


def test_the_target_of_a_games_last_move_tells_how_the_game_ended(
    collected: Collected, final_values: np.ndarray
) -> None:
    """After the rules ended it only what was paid counts; after a limit cut it off, also what might have come."""
    steps, targets = collected.steps, collected.advantages + collected.steps.value
    mover = np.asarray(steps.seat)[..., None]
    paid, follows = (np.take_along_axis(np.asarray(x), mover, -1)[..., 0] for x in (steps.rewards, final_values))
    for ended, expected in ((steps.terminated, paid), (steps.truncated, paid + CONFIG.discount * follows)):
        np.testing.assert_allclose(targets[ended], expected[np.asarray(ended)], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("game", ["dots_and_boxes(rows=1, cols=3)", "chinese_checkers_diamond(size=3, pieces=1)"])
def test_in_a_zero_sum_game_every_decision_of_the_loser_carries_the_loss(game: str) -> None:
    """Also where the game ends on the opponent's move. Undiscounted and with values of 0 an advantage is the return."""
    learner = Learner(dataclasses.replace(CONFIG, env=game, rollout_length=40))
    _, steps = jax.device_get(jax.jit(learner._collect)(jax.jit(learner.init)(key(0))))
    nothing = np.zeros_like(steps.rewards)
    advantages = jax.vmap(per_seat_advantages, in_axes=(1, 1, 1, 1, 1, 1, None, None), out_axes=1)(
        steps.rewards, nothing[..., 0], steps.seat, steps.terminated, steps.truncated, nothing, 1.0, 1.0
    )
    by_opponent = 0
    for board in range(CONFIG.num_boards):
        begin = 0
        for end in np.flatnonzero(steps.terminated[:, board]):
            movers = steps.seat[begin : end + 1, board]
            result = steps.rewards[end, board]
            assert sorted(result) == [-1, 1]
            np.testing.assert_array_equal(advantages[begin : end + 1, board], result[movers])
            by_opponent += result[movers[-1]] == 1
            begin = end + 1
    assert by_opponent > CONFIG.num_boards


def test_the_value_loss_falls_on_the_same_steps(collected: Collected) -> None:
    steps = collected.steps._replace(final=None, tally=None)  # pyright: ignore[reportArgumentType]  # as in `iterate`
    learner = Learner(dataclasses.replace(CONFIG, anneal=False, entropy_weight=0.0))
    update = jax.jit(learner._update)
    runner, losses = collected.runner, list[float]()
    for _ in range(10):
        runner, metrics = update(runner, steps, jnp.asarray(collected.advantages))
        losses.append(float(metrics["value_loss"]))
    assert losses[-1] < 0.5 * losses[0]


def test_metrics_are_of_the_games_that_ended(collected: Collected, finals: list[list[jaxgames.State]]) -> None:
    """Lengths and returns counted by hand, over the first rollout of a run, in which every game begins."""
    lengths, returns = list[int](), list[np.ndarray]()
    for column in zip(*finals, strict=True):
        begin, total = 0, np.zeros(GAME.num_players)
        for time, state in enumerate(column, start=1):
            total = total + np.asarray(state.rewards)
            if state.terminated | state.truncated:
                lengths.append(time - begin)
                returns.append(total)
                begin, total = time, np.zeros(GAME.num_players)
    metrics = jax.jit(LEARNER._rollout_metrics)(collected.steps)
    assert int(metrics["games"]) == len(lengths)
    np.testing.assert_allclose(metrics["game_length"], np.mean(lengths), rtol=1e-5)
    np.testing.assert_allclose(metrics["truncated_rate"], collected.steps.truncated.sum() / len(lengths), rtol=1e-5)
    for seat in range(GAME.num_players):
        np.testing.assert_allclose(metrics[f"return_seat_{seat}"], np.mean(returns, 0)[seat], rtol=1e-4, atol=1e-6)


# -- a run is a function of its key --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def runs() -> dict[int, tuple[Runner, list[dict[str, jax.Array]]]]:
    """Runs of two seeds, an iteration at a time."""

    def run(seed: int) -> tuple[Runner, list[dict[str, jax.Array]]]:
        runner, rows = init(key(seed)), list[dict[str, jax.Array]]()
        for _ in range(CONFIG.num_iterations):
            runner, metrics = iterate(runner)
            rows.append(metrics)
        return runner, rows

    return {seed: run(seed) for seed in (1, 2)}


def test_the_same_key_gives_the_same_bits(runs: Any) -> None:
    again, rows = init(key(1)), list[dict[str, jax.Array]]()
    for _ in range(CONFIG.num_iterations):
        again, metrics = iterate(again)
        rows.append(metrics)
    assert same(unwrapped(again), unwrapped(runs[1][0]))
    for row, before in zip(rows, runs[1][1], strict=True):
        jax.tree.map(np.testing.assert_array_equal, row, before)  # NaN where no game ended


def test_another_key_gives_another_run(runs: Any) -> None:
    (first, _), (second, _) = runs[1], runs[2]
    differ = jax.tree.map(lambda a, b: bool(np.any(a != b)), *jax.device_get((first.params, second.params)))
    assert jax.tree.all(differ)


def test_iterations_count_and_change_the_parameters(runs: Any) -> None:
    runner, rows = runs[1]
    assert int(runner.iteration) == CONFIG.num_iterations == len(rows) == 3
    before = init(key(1)).params
    assert jax.tree.all(jax.tree.map(lambda a, b: bool(np.any(a != b)), *jax.device_get((before, runner.params))))


def test_seeds_are_a_vmap_of_whole_runs(runs: Any) -> None:
    """`train` is `init` and iterations: under vmap it gives what each seed's loop gives, metrics included."""
    seeds = (1, 2)
    runners, metrics = jax.jit(jax.vmap(lambda key: train(CONFIG, key)))(jnp.stack([key(seed) for seed in seeds]))
    for place, seed in enumerate(seeds):
        runner, rows = runs[seed]
        jax.tree.map(
            lambda many, one, place=place: np.testing.assert_allclose(many[place], one, rtol=1e-3, atol=1e-4),
            runners.params,
            runner.params,
        )
        assert set(metrics) == set(rows[0])
        for name, values in metrics.items():
            np.testing.assert_allclose(values[place], [row[name] for row in rows], rtol=1e-2, atol=1e-3)


def test_an_annealed_rate_reaches_zero_with_the_last_iteration(runs: Any) -> None:
    """One iteration more changes nothing but the last bits."""
    runner, _ = runs[1]
    after, _ = iterate(runner)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-7), after.params, runner.params)


# -- sharing -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sharing", ["shared_encoder", "independent"])
def test_a_seat_learns_from_its_own_decisions_only(sharing: Sharing) -> None:
    """In one step from the start only seat 0 moves: whatever else is a seat's own stays as it was."""
    config = dataclasses.replace(
        CONFIG, env="chinese_checkers(size=1, num_players=3, max_rounds=5)", sharing=sharing, rollout_length=1
    )
    learner = Learner(config)
    before = jax.jit(learner.init)(key(0))
    before, after = jax.device_get((before.params, jax.jit(learner.iterate)(before)[0].params))
    own = ("encoder", "heads") if sharing == "independent" else ("heads",)
    for part in own:
        for old, new in zip(*(jax.tree.leaves(params[part]) for params in (before, after)), strict=True):
            assert (old[0] != new[0]).any()
            np.testing.assert_array_equal(old[1:], new[1:])


# -- settings ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"env": "chess"}, "chinese_checkers"),
        ({"env": "chinese_checkers(size=9)"}, "size must be an integer from 1 to 8, not 9"),
        ({"total_steps": 0}, "total_steps must be positive, not 0"),
        ({"num_boards": -1}, "num_boards must be positive, not -1"),
        ({"rollout_length": 0}, "rollout_length must be positive"),
        ({"epochs": 0}, "epochs must be positive"),
        ({"minibatches": 0}, "minibatches must be positive"),
        ({"learning_rate": 0.0}, "learning_rate must be positive"),
        ({"discount": 1.1}, "discount must be from 0 to 1, not 1.1"),
        ({"trace_decay": -0.1}, "trace_decay must be from 0 to 1, not -0.1"),
        ({"minibatches": 385}, r"minibatches must be at most num_boards \* rollout_length = 384"),
    ],
)
def test_a_wrong_setting_is_refused_with_what_is_allowed(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(CONFIG, **setting)


def test_a_run_is_rounded_up_to_whole_iterations() -> None:
    assert dataclasses.replace(CONFIG, total_steps=1).num_iterations == 1
    assert dataclasses.replace(CONFIG, total_steps=384).num_iterations == 1
    assert dataclasses.replace(CONFIG, total_steps=385).num_iterations == 2
