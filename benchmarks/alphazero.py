"""Where an iteration of train.alphazero spends its time.

    python -m benchmarks.alphazero --games "chinese_checkers_diamond(size=4, pieces=3)" minichess

One row per game, with the settings of its recipe: microseconds per environment step, and the parts of an iteration. As
in `benchmarks.training`, programs are timed that each do a little more than the one before, and a part is a difference:

    rules     a step of random play with its mask and observation, once for every board that a search adds and for the
              step that is played
    tree      AlphaZero.collect with zeros in place of the network's outputs, minus `rules`
    network   the same with the network, minus the program before
    update    AlphaZero.update
    rest      AlphaZero.iterate minus all of the above: value targets, the replay buffer, metrics

Zeros lead a search to other boards than a network does, so the border between tree and network is not sharp. A
difference can be negative by noise.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks import harness, loops
from benchmarks.harness import Command
from jaxgames import Env
from train.alphazero import AlphaZero, TrainState, config_for
from train.driver.machine import stamp
from train.models.policy import Params, Policy
from train.recipes import ALPHAZERO

GAMES = tuple(sorted({*ALPHAZERO} - {"chinese_checkers"}))  # the star's compiles for minutes
PARTS = ("rules", "tree", "network", "update", "rest")
TABLE = {
    "game": "`{game}`",
    "microseconds per step": "{whole:.0f}",
    **{part: f"{{shares[{part}]:.0%}}" for part in PARTS},
}


@dataclass(frozen=True)
class Arguments(harness.BenchmarkArguments):
    games: tuple[str, ...] = GAMES
    """Rows of the table: games with their parameters."""
    repeats: int = 3


class Zeros(Policy):
    """A policy whose network is not run: all of its outputs are zeros."""

    def apply(self, params: Params, observation: jax.Array, seat: jax.Array) -> tuple[jax.Array, jax.Array]:
        logits, values = jax.eval_shape(super().apply, params, observation, seat)
        return jnp.zeros(logits.shape, logits.dtype), jnp.zeros(values.shape, values.dtype)


class WithoutNetwork(AlphaZero):
    """AlphaZero with zeros in place of the outputs of its network."""

    def make_policy(self, env: Env[Any]) -> Policy:
        policy = super().make_policy(env)
        return Zeros(**{field.name: getattr(policy, field.name) for field in dataclasses.fields(policy)})


def measure_alphazero(arguments: Arguments) -> dict[str, Any]:
    harness.check_positive(arguments, "repeats")
    progress = harness.Progress(len(arguments.games), "game")
    rows: list[dict[str, Any]] = []
    result = {"rows": rows, **stamp()}
    for game in arguments.games:
        rows.append(measure_parts(game, AlphaZero(config_for(game)), arguments.repeats))
        harness.save(arguments, result)
        progress.finish(f"{game}: {rows[-1]['whole']:,.0f} microseconds per step")
    harness.log(harness.table(TABLE, rows))
    return result


def measure_parts(game: str, learner: AlphaZero, repeats: int) -> dict[str, Any]:
    """The row of a game: microseconds per step of an iteration, and of every part."""
    config, env = learner.config, learner.env
    train_state = jax.jit(learner.init)(jax.random.key(0))

    def collecting(learner: AlphaZero) -> float:
        def program(key: jax.Array, state: TrainState) -> Any:
            state, steps = learner.collect(state._replace(key=key))
            return state.games[0].boards, steps

        return harness.time_program(program, (train_state,), config.steps_per_iteration, repeats).microseconds

    def updating(key: jax.Array, state: TrainState) -> Any:
        return learner.update(state._replace(key=key))

    if config.other_envs or config.first_simulations is not None or config.fast_searches:
        raise ValueError("expected one game, and the same search in every step")
    play = loops.measure_play(env, config.num_envs, config.rollout_length, repeats).microseconds
    searches = (config.rollout_length + 1) / config.rollout_length  # for every step: one more gives the last values
    rules = (config.simulations * searches + 1) * play
    with_zeros, with_network = collecting(WithoutNetwork(config)), collecting(learner)
    of_update = harness.time_program(updating, (train_state,), config.steps_per_iteration, repeats).microseconds
    whole = harness.time_iterations(learner, train_state, config.steps_per_iteration, repeats).microseconds
    rest = whole - with_network - of_update
    parts = (rules, with_zeros - rules, with_network - with_zeros, of_update, rest)
    shares = dict(zip(PARTS, (part / whole for part in parts), strict=True))
    return {"game": game, "env": config.env, "whole": whole, "shares": shares, "boards": config.num_envs}


COMMANDS = (Command("alphazero", Arguments, measure_alphazero),)

if __name__ == "__main__":
    harness.run(*COMMANDS)
