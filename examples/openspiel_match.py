"""Plays an agent against OpenSpiel's MCTS bot in C++, on OpenSpiel's own rules of the same game.

    python -m examples.openspiel_match "runs/boxes(simulations=64)" --env "dots_and_boxes(rows=5, cols=5)"
    python -m examples.openspiel_match "mcts(simulations=1000)" --env "checkers(draw_rule=openspiel)" --games 100

The agent sees the boards of jaxgames, and the bot the boards of OpenSpiel. Both play the same moves side by side, and a
difference in who moves or in the end is an error. The bot plays a random game to the end from each new position. The
games begin with random plies, and each opening is played from both seats. The last line on standard output is JSON.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import jax
import numpy as np
import pyspiel
import tyro

import jaxgames
from jaxgames import Env, ParameterError, arena
from jaxgames._progress import Progress
from jaxgames.agents import Agent
from train import agents
from train.bounds import check_values
from train.driver.commands import GameArguments, run_command

UCT_C = 2.0  # the bot's constant of exploration
MAX_MEMORY_MB = 1000  # of the tree of a bot

# From our action, the mover and OpenSpiel's legal actions to OpenSpiel's action.
TheirAction = Callable[[int, int, list[int]], int]


@dataclass(frozen=True)
class Arguments:
    agent: Annotated[str, tyro.conf.Positional]
    """The agent, such as runs/first or "mcts(simulations=1000)"."""
    env: str
    """The game: dots_and_boxes, or checkers(draw_rule=openspiel)."""
    simulations: int = 1000
    """Simulations of the bot per move."""
    games: int = 100
    """Games, an even number."""
    opening_plies: int = 4
    """The largest number of random plies at the beginning of a game."""
    seed: int = 0
    """Seed of the games."""


def match(arguments: Arguments) -> dict[str, Any]:
    """Returns the result that the command prints: the agent's wins, losses and draws, and its shares with intervals."""
    check_values({"games": arguments.games, "seed": arguments.seed}, GameArguments)
    if arguments.games % 2:
        raise ValueError(f"games must be even, so that each opening is played from both seats, not {arguments.games}")
    env = jaxgames.make(arguments.env)
    game, their_action = counterpart(env)
    agent = agent_for(arguments.agent, env)
    won, drawn = play(env, agent, game, their_action, arguments)
    row = {"env": str(env), "agent": arguments.agent, "simulations": arguments.simulations, "games": arguments.games}
    counts = {"wins": won, "draws": drawn, "losses": arguments.games - won - drawn}
    interval = [round(float(bound), 4) for bound in arena.wilson(won, arguments.games)]
    return row | counts | {"win_rate": won / arguments.games, "win_rate_interval": interval}


def agent_for(text: str, env: Env[Any]) -> Agent:
    """Returns the agent that a text names; a run can have other settings of the game, such as another draw rule.

    Raises ValueError for a run on another game or another board.
    """
    trained_on = agents.env_of(text)
    if trained_on is None:
        return agents.make(text, env)
    if (trained_on.id, trained_on.observation_shape) != (env.id, env.observation_shape):
        raise ValueError(f"{text} was trained on {trained_on}, which has other boards than {env}")
    return agents.make(text, trained_on)


def play(env: Env[Any], agent: Agent, game: Any, their_action: TheirAction, arguments: Arguments) -> tuple[int, int]:
    """Returns the games that the agent won and those that nobody won; all games are played side by side."""
    count = arguments.games
    book = arena.random_openings(env, jax.random.key(arguments.seed), count // 2, arguments.opening_plies)
    openings = jax.device_get(book.for_games(count, games_each=2))
    theirs = [replayed(game, openings.actions[i], their_action) for i in range(count)]
    bots = [make_bot(game, arguments.simulations, arguments.seed + i) for i in range(count)]
    seats, boards, key = np.arange(count) % 2, openings.boards, jax.random.key(arguments.seed)
    choose, step = (jax.jit(agent.act) if agent.on_device else agent.act), jax.jit(jax.vmap(env.step))
    masks_of = jax.jit(jax.vmap(env.legal_action_mask))
    with Progress(total=count, unit="games") as bar:
        while not all(state.is_terminal() for state in theirs):
            key, subkey = jax.random.split(key)
            actions, masks = map(np.array, jax.device_get((choose(subkey, boards), masks_of(boards))))
            live = [i for i in range(count) if not theirs[i].is_terminal()]
            for i in live:
                mover = theirs[i].current_player()
                if mover != boards.current_player[i]:
                    raise AssertionError(f"game {i}: seat {boards.current_player[i]} is to move here, {mover} there")
                if mover != seats[i]:
                    actions[i] = our_action(masks[i], theirs[i], bots[i].step(theirs[i]), their_action)
                theirs[i].apply_action(their_action(int(actions[i]), mover, theirs[i].legal_actions()))
            boards = jax.device_get(step(boards, actions))
            ended = [i for i in live if theirs[i].is_terminal()]
            bar.update(len(ended))
            if any(not (boards.terminated[i] or boards.truncated[i]) for i in ended):
                raise AssertionError("a game is over there and not here")
    returns = np.array([state.returns()[seat] for state, seat in zip(theirs, seats, strict=True)])
    return int((returns > 0).sum()), int((returns == 0).sum())


def make_bot(game: Any, simulations: int, seed: int) -> Any:
    """Returns OpenSpiel's MCTS bot in C++, which values a new position by one random game."""
    evaluator = pyspiel.RandomRolloutEvaluator(1, seed)
    return pyspiel.MCTSBot(game, evaluator, UCT_C, simulations, MAX_MEMORY_MB, True, seed, False)


def replayed(game: Any, actions: np.ndarray, their_action: TheirAction) -> Any:
    """Returns OpenSpiel's state after the actions of an opening, int32[plies]; -1 after the last one."""
    state = game.new_initial_state()
    for action in actions[actions >= 0].tolist():
        state.apply_action(their_action(action, state.current_player(), state.legal_actions()))
    return state


def our_action(mask: np.ndarray, state: Any, action: int, their_action: TheirAction) -> int:
    """Returns our number of an action of OpenSpiel, from the mask of our legal actions: bool[A]."""
    mover, allowed = state.current_player(), state.legal_actions()
    return next(ours for ours in np.flatnonzero(mask).tolist() if their_action(ours, mover, allowed) == action)


def counterpart(env: Env[Any]) -> tuple[Any, TheirAction]:
    """Returns OpenSpiel's game and its numbers of our actions. Raises ParameterError for a game that it lacks."""
    parameters: Any = env
    if env.id == "dots_and_boxes":
        size = {"num_rows": parameters.rows, "num_cols": parameters.cols}
        return pyspiel.load_game("dots_and_boxes", size), lambda action, mover, allowed: action
    if env.id == "checkers" and parameters.draw_rule == "openspiel":
        return pyspiel.load_game("checkers"), checkers_action
    raise ParameterError(f"env must be dots_and_boxes or checkers(draw_rule=openspiel), not {env}")


def checkers_action(action: int, mover: int, allowed: list[int]) -> int:
    """Returns OpenSpiel's number of a step or a jump in checkers.

    Its board is that of seat 0, 8 x 8 with the light squares. Directions are clockwise from up-left, and the last bit
    is 1 for a jump. All legal actions are jumps, or none is.
    """
    square, direction = divmod(action, 4)
    if mover == 1:
        square, direction = 31 - square, (direction + 2) % 4
    row, column = square // 4, 2 * (square % 4) + (square // 4 + 1) % 2
    return 2 * (4 * (8 * row + column) + (direction + 1) % 4) + allowed[0] % 2


main = functools.partial(run_command, "examples.openspiel_match", Arguments, match)

if __name__ == "__main__":
    main()
