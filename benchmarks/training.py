"""Where an iteration of train.ppo or train.alphazero spends its time.

    python -m benchmarks.training --games chinese_checkers checkers --picture docs/pictures/plots/ppo_breakdown.svg
    python -m benchmarks.training --learner alphazero --games "chinese_checkers_diamond(size=4, pieces=3)" minichess

One row per game, with the settings of its recipe: microseconds per environment step of whole iterations, and the shares
of their parts.

Parts of one compiled program cannot be timed from outside, and the compiler fuses across their borders. So programs
are timed that each do a little more than the one before, in loops of the same shapes. A part is a difference:

    rules       random play: mask, observation, a uniformly random action, step, restart
    policy      play with actions sampled from the network, with their log-probabilities, minus the program before
    store       PPO.collect (writes out all transitions, counts episodes) and PPO.advantages (bootstrap values), minus
                the program before
    network     the network forward and backward on a minibatch, from a gradient as simple as its outputs, times the
                minibatches of an iteration
    update      PPO.update minus `network`: the loss, the optimiser, gathered minibatches with their observations
    rest        the iteration minus all of the above: metrics

The parts of AlphaZero:

    rules       random play, once for every board that a search adds and for the step that is played
    tree        AlphaZero.collect with zeros in place of the network's outputs, minus `rules`
    network     the same with the network, minus the program before
    update      AlphaZero.update
    rest        the iteration minus all of the above: value targets, the replay buffer, metrics

Zeros lead a search to other boards than a network does, so the border between tree and network is not sharp. A
difference of medians can be negative: by noise, or where the compiler fuses the larger program better. The table shows
it as it is, the picture as zero. Each program reads or carries on all that it computes, so that nothing is optimised
away.
"""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
from matplotlib.figure import Figure

import jaxgames
from benchmarks import harness, loops
from benchmarks.harness import Command
from train import alphazero, plot, ppo
from train.alphazero import AlphaZero
from train.driver.commands import progress_over, stamp
from train.driver.tables import Column, table_of
from train.models.policy import Params, Policy
from train.ops.masked_categorical import sample_and_log_prob
from train.ppo import PPO, Minibatch, TrainState
from train.recipes import ALPHAZERO, RECIPES

GAMES = {
    "ppo": tuple(sorted(RECIPES)),
    "alphazero": tuple(sorted({*ALPHAZERO} - {"chinese_checkers"})),  # the star's compiles for minutes
}
COLOURS = ("#7fb069", "#c9ada7", "#6d6875", "#16425b", "#ca3c25", "#bbbbbb")
Time = Callable[..., float]  # (function, *arguments) -> microseconds per step of function(train_state, *arguments)


@dataclass(frozen=True)
class Arguments(harness.BenchmarkArguments):
    learner: Literal["ppo", "alphazero"] = "ppo"
    games: tuple[str, ...] = ()
    """Rows of the table: games with their parameters; none for all that have a recipe."""
    repeats: int = 5
    picture: Path | None = None
    """A file for the stacked bars, such as ppo_breakdown.svg."""


def measure_training(arguments: Arguments) -> dict[str, Any]:
    harness.check_positive(arguments, "repeats")
    games = arguments.games or GAMES[arguments.learner]
    learners = {game: learner_of(arguments.learner, game) for game in games}
    rows: list[dict[str, Any]] = []
    result = {"learner": arguments.learner, "rows": rows, **stamp()}
    for game, learner in progress_over(learners.items(), "games"):
        rows.append(measure_parts(learner, arguments.repeats, game))
        harness.save(arguments, result)
    harness.log(table_of(rows, columns(rows[0]["shares"])))
    return result


def columns(parts: Sequence[str]) -> dict[str, Column]:
    """The columns of the table of rows with these parts."""
    shares = {part: f"{{shares[{part}]:.0%}}" for part in parts}
    return {"game": "`{game}`", "microseconds per step": "{whole:.0f}", **shares}


def learner_of(name: str, game: str) -> PPO | AlphaZero:
    if name == "alphazero":
        return AlphaZero(alphazero.config_for(game))
    return PPO(ppo.config_for(game))


def measure_parts(learner: PPO | AlphaZero, repeats: int, game: str) -> dict[str, Any]:
    """The row of a game: microseconds per step of an iteration, and the share of every part."""
    config, train_state = learner.config, jax.jit(learner.init)(jax.random.key(0))

    def time(function: Callable[..., Any], *arguments: Any) -> float:
        """The train state has a new key in each repeat."""

        def program(key: jax.Array, state: Any, *arguments: Any) -> Any:
            return function(state._replace(key=key), *arguments)

        return harness.time_program(
            program, (train_state, *arguments), config.steps_per_iteration, repeats
        ).microseconds

    whole = time(learner.iterate)
    if isinstance(learner, PPO):
        parts = ppo_parts(learner, train_state, time, repeats)
    else:
        parts = alphazero_parts(learner, time, repeats)
    shares = {part: spent / whole for part, spent in (parts | {"rest": whole - sum(parts.values())}).items()}
    return {"game": game, "env": config.env, "whole": whole, "shares": shares, "boards": config.num_envs}


# -- PPO --------------------------------------------------------------------------------------------------


def ppo_parts(learner: PPO, train_state: TrainState, time: Time, repeats: int) -> dict[str, float]:
    """Returns microseconds per step of every part but the rest."""
    config, policy = learner.config, learner.policy

    def sample(params: Params, key: jax.Array, observation: jax.Array, mask: jax.Array, seat: jax.Array) -> Any:
        """An action sampled from the policy; its log-probability and the value go into the checksum."""
        logits, value = policy.apply(params, observation, seat)
        action, log_prob = sample_and_log_prob(key, logits, mask)
        return action, log_prob.sum() + value.sum()

    def collect(train_state: TrainState) -> Any:
        train_state, steps = learner.collect(train_state)
        return learner.advantages(train_state.params, steps), train_state.boards

    def squares(params: Params, minibatch: Minibatch) -> jax.Array:
        logits, value = policy.apply(params, minibatch.observation, minibatch.seat)
        return 0.5 * (jnp.square(logits).sum() + jnp.square(value).sum())

    rules, playing = (
        loops.measure_play(
            learner.env, config.num_envs, config.rollout_length, repeats, choose, train_state.params
        ).microseconds
        for choose in (None, sample)
    )
    collecting, ((steps, advantages), _) = time(collect), jax.jit(collect)(train_state)
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:])[: config.minibatch_size], (steps, advantages))
    minibatch = ppo.minibatch_of(learner.env, flat[0], flat[1], flat[1])
    of_one = time(lambda state, minibatch: jax.grad(squares)(state.params, minibatch), minibatch)
    network = of_one * config.num_minibatches * config.update_epochs
    parts = {"rules": rules, "policy": playing - rules, "store": collecting - playing, "network": network}
    return parts | {"update": time(learner.update, steps, advantages) - network}


# -- AlphaZero --------------------------------------------------------------------------------------------


class Zeros(Policy):
    """A policy whose network is not run: all of its outputs are zeros."""

    def apply(self, params: Params, observation: jax.Array, seat: jax.Array) -> tuple[jax.Array, jax.Array]:
        logits, values = jax.eval_shape(super().apply, params, observation, seat)
        return jnp.zeros(logits.shape, logits.dtype), jnp.zeros(values.shape, values.dtype)


class WithoutNetwork(AlphaZero):
    """AlphaZero with zeros in place of the outputs of its network."""

    def make_policy(self, env: jaxgames.Env[Any]) -> Policy:
        policy = super().make_policy(env)
        return Zeros(**{field.name: getattr(policy, field.name) for field in dataclasses.fields(policy)})


def alphazero_parts(learner: AlphaZero, time: Time, repeats: int) -> dict[str, float]:
    """Returns microseconds per step of every part but the rest."""
    config = learner.config
    if config.other_envs:
        raise ValueError("expected one game")

    def collecting(learner: AlphaZero) -> float:
        def collect(train_state: Any) -> Any:
            train_state, steps = learner.collect(train_state)
            return train_state.games[0].boards, steps

        return time(collect)

    play = loops.measure_play(learner.env, config.num_envs, config.rollout_length, repeats).microseconds
    searches = (config.rollout_length + 1) / config.rollout_length  # for every step: one more gives the last values
    rules = (config.simulations * searches + 1) * play
    with_zeros, with_network = collecting(WithoutNetwork(config)), collecting(learner)
    parts = {"rules": rules, "tree": with_zeros - rules, "network": with_network - with_zeros}
    return parts | {"update": time(learner.update)}


# -- picture ----------------------------------------------------------------------------------------------


def draw_bars(arguments: Arguments, result: dict[str, Any]) -> Figure:
    """One bar per game, divided into the parts of an iteration."""
    rows = result["rows"]
    picture, (axes,) = plot.new_picture(9, 0.6 * len(rows) + 1.6)
    axes.grid(visible=False)
    totals = [sum(max(0.0, share) for share in row["shares"].values()) for row in rows]
    start = [0.0] * len(rows)
    for part, colour in zip(rows[0]["shares"], COLOURS, strict=False):
        shares = [100 * max(0.0, row["shares"][part]) / total for row, total in zip(rows, totals, strict=True)]
        axes.barh([row["game"] for row in rows], shares, left=start, color=colour, label=part)
        start = [left + share for left, share in zip(start, shares, strict=True)]
    axes.invert_yaxis()
    axes.set(xlim=(0, 100), xlabel="% of an iteration")
    picture.legend(loc="outside lower center", ncols=6, frameon=False)
    return picture


COMMANDS = (Command("training", Arguments, measure_training, draw=draw_bars),)

if __name__ == "__main__":
    harness.run(*COMMANDS)
