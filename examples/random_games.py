"""Plays one game between random players: prints its moves and its outcome, and draws it as an animated picture.

python -m examples.random_games
python -m examples.random_games "minichess(rules=king_capture)" --seed 3 --output runs/random_game.svg
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import jax
import tyro

import jaxgames


@dataclass(frozen=True)
class Arguments:
    env: Annotated[str, tyro.conf.Positional] = "dots_and_boxes(rows=3, cols=3)"
    """The game, with its parameters."""
    seed: int = 0
    output: Path | None = None
    """The picture, an SVG, PNG or GIF file; none if not given."""
    step: int | None = None
    """Draw only the board of this step; if not given, draw the whole game, animated."""
    moves_of: int | str | None = None
    """A cell of the mover, whose moves are drawn on the board of `step`."""


def main() -> None:
    arguments = tyro.cli(Arguments, prog="python -m examples.random_games", description=__doc__)
    if arguments.step is None and arguments.moves_of is not None:
        sys.exit("examples.random_games: --moves-of needs --step, which names the board")
    env = jaxgames.make(arguments.env)
    states, actions = random_game(env, jax.random.key(arguments.seed))
    for number, (state, action) in enumerate(zip(states, actions, strict=False), start=1):
        print(f"{number:3}. seat {int(state.current_player)} plays {env.action_to_string(state, action)}")
    print(env.to_string(states[-1]))
    if arguments.output is not None:
        if arguments.step is None:
            picture = jaxgames.render.animate(env, states, actions)
        else:
            picture = jaxgames.render.svg(env, states[arguments.step], moves_of=arguments.moves_of)
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        picture.save(arguments.output)


def random_game(env: jaxgames.Env[Any], key: jax.Array) -> tuple[list[Any], list[int]]:
    """Returns the states of one game, the start included, and the actions between them."""

    @jax.jit
    def play(state: Any, key: jax.Array) -> tuple[Any, jax.Array]:
        action_key, step_key = jax.random.split(key)
        action = env.random_legal_action(state, action_key)
        return env.step(state, action, step_key), action

    key, init_key = jax.random.split(key)
    states, actions = [env.init(init_key)], list[int]()
    while not (states[-1].terminated or states[-1].truncated):
        key, subkey = jax.random.split(key)
        state, action = play(states[-1], subkey)
        states.append(state)
        actions.append(int(action))
    return states, actions


if __name__ == "__main__":
    main()
