"""The shortest game of a lone player on the star: turns, bounds, replays in the env, and plain players alone."""

import dataclasses
import functools
import itertools
import json
from pathlib import Path

import jax
import numpy as np
import pytest

from jaxgames import agents
from jaxgames._checks import ParameterError
from jaxgames.games.chinese_checkers import ChineseCheckers
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA
from jaxgames.solvers.chinese_checkers import lone_player as solo
from jaxgames.solvers.chinese_checkers import moves as moves
from jaxgames.solvers.chinese_checkers.lone_player import SoloGame, replay, shortest_solo, shortest_without_hops
from jaxgames.solvers.chinese_checkers.lone_player_search import (
    Position,
    Search,
    number_of,
    position_of,
    rotated,
    turns_from,
)
from tests.games.chinese_checkers.reference import Cell, Reference
from tests.games.chinese_checkers.reference import Position as ReferencePosition
from tests.helpers.commands import error_of, last_json, run_command

needs_numba = pytest.mark.skipif(not HAS_NUMBA, reason="takes minutes in plain Python")

GAMES = json.loads((Path(__file__).parents[2] / "data" / "chinese_checkers_lone_player.json").read_text())


@functools.lru_cache
def shortest(size: int) -> SoloGame:
    return shortest_solo(size, compiled=False, progress=False)


def stored(size: int) -> SoloGame:
    """A game of tests/data, as the command printed it."""
    texts = GAMES[str(size)]
    turns = [text.replace("->", " ").replace("=>", " ").split() for text in texts]
    cells = [tuple(int(cell) for cell, _ in itertools.groupby(turn)) for turn in turns]
    return SoloGame(size, tuple(cells), len(texts))


@functools.lru_cache
def distances_from_home(size: int, with_hops: bool = True) -> dict[Position, int]:
    """The turns from the home to every position, breadth first over all positions."""
    home: Position = frozenset(range(size * (size + 1) // 2))
    found = {home: 0}
    for position in (queue := [home]):
        for after, path in turns_from(size, position):
            is_step = path[1] in solo.tables(size).neighbour[path[0]]
            if after not in found and (with_hops or is_step):
                found[after] = found[position] + 1
                queue.append(after)
    return found


# -- the shortest games ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "turns"), [(1, 4), (2, 11)])
def test_shortest_game_of_a_small_board_has_the_turns_of_a_search_over_all_positions(size: int, turns: int) -> None:
    distances = distances_from_home(size)
    goal = rotated(size, next(iter(distances)))
    assert distances[goal] == turns
    game = shortest(size)
    assert (len(game.turns), game.lower_bound, game.is_shortest) == (turns, turns, True)


@pytest.mark.slow
def test_shortest_game_for_size_2_is_that_of_the_slow_rules() -> None:
    """The slow reference knows submoves; its other seat has no pegs and passes."""
    rules = Reference(2, 2)
    start = rules.start()
    home = frozenset(cell for cell, owner in start.pegs.items() if owner == 0)
    goal = frozenset((-q, -r) for q, r in home)
    levels: list[set[frozenset[Cell]]] = [{home}]
    seen = {home}
    while goal not in levels[-1]:
        after = {end for pegs in levels[-1] for end in _turn_ends(rules, start, pegs)}
        levels.append(after - seen)
        seen |= after
    assert len(levels) - 1 == len(shortest(2).turns)
    numbers = {frozenset(rules.index[cell] for cell in pegs): d for d, level in enumerate(levels) for pegs in level}
    assert numbers.items() <= distances_from_home(2).items()


def _turn_ends(rules: Reference, start: ReferencePosition, pegs: frozenset[Cell]) -> set[frozenset[Cell]]:
    """The sets of seat 0's cells after each of its turns."""
    board = {cell: 0 if cell in pegs else None for cell in rules.cells}
    open_positions = [dataclasses.replace(start, pegs=board)]
    ends: set[frozenset[Cell]] = set()
    while open_positions:
        position = open_positions.pop()
        for move in rules.moves(position).values():
            after = rules.after(position, move)
            if move.hop:
                open_positions.append(after)
            else:
                ends.add(frozenset(cell for cell, owner in after.pegs.items() if owner == 0))
    return ends


@needs_numba
@pytest.mark.slow
def test_shortest_game_for_size_3_has_17_turns() -> None:
    game = shortest_solo(3, progress=False)
    assert (len(game.turns), game.lower_bound) == (17, 17)
    assert replay(game).states[-1].terminated


@needs_numba
@pytest.mark.slow
def test_proof_finds_a_shorter_game_than_a_narrow_search() -> None:
    first = shortest_solo(3, width=40, prove=False, progress=False)
    assert len(first.turns) > first.lower_bound
    assert not first.is_shortest
    proven = shortest_solo(3, width=40, progress=False)
    assert (len(proven.turns), proven.is_shortest) == (17, True)


@needs_numba
@pytest.mark.slow
def test_compiled_and_plain_searches_visit_the_same_positions() -> None:
    searches = [Search(2, compiled=compiled, progress=False) for compiled in (True, False)]
    for limit in (10, 11, 14):
        assert searches[0].run(limit) == searches[1].run(limit)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_stored_game_is_played_by_turns_of_the_solver_from_home_to_goal(size: int) -> None:
    game = stored(size)
    assert len(game.turns) == {2: 11, 3: 17, 4: 27}[size]
    position: Position = frozenset(range(size * (size + 1) // 2))
    goal = rotated(size, position)
    for turn in game.turns:
        after = position - {turn[0]} | {turn[-1]}
        assert after in dict(turns_from(size, position))
        position = after
    assert position == goal


# -- bounds ------------------------------------------------------------------------------------------------------------


def test_row_game_never_takes_more_turns_than_the_true_game() -> None:
    search = Search(2, compiled=False, progress=False)
    distances = search.row_distances(np.array([number_of(2, frozenset({0, 1, 2}))]), 0, 100)
    true = distances_from_home(2)
    positions = list(true)
    numbers = np.array([number_of(2, rotated(2, position)) for position in positions])
    bounds = search.distances_of(numbers, distances)
    lengths = np.array([true[position] for position in positions])
    assert (bounds <= lengths).all()
    assert (bounds == lengths).any()
    assert bounds.max() == 10


@pytest.mark.parametrize("depth", [2, 4])
def test_bound_through_a_level_holds_for_every_position_that_is_not_nearer(depth: int) -> None:
    search = Search(2, compiled=False, progress=False)
    true = distances_from_home(2)
    level = np.array(sorted({number_of(2, position) for position, d in true.items() if d == depth}))
    farther = [position for position, d in true.items() if d >= depth]
    numbers = np.array([number_of(2, rotated(2, position)) for position in farther])
    bounds = search.distances_of(numbers, search.row_distances(level, depth, 100))
    assert (bounds <= np.array([true[position] for position in farther])).all()
    weaker = search.distances_of(numbers, search.row_distances(np.array([number_of(2, frozenset({0, 1, 2}))]), 0, 100))
    assert (bounds >= weaker).all()


def test_numbers_of_positions_are_those_of_the_lower_mirror_image() -> None:
    positions = [frozenset(cells) for cells in itertools.combinations(range(13, 25), 3)]
    for position in positions:
        again = position_of(2, number_of(2, position))
        mirrored = {int(moves.make_board(2).mirrored[cell]) for cell in position}
        assert again in (position, mirrored)
    assert position_of(2, number_of(2, frozenset({0, 1, 2}))) == {0, 1, 2}


# -- without hops, and greedy ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "turns"), [(1, 4), (2, 20), (3, 56), (4, 120), (5, 220)])
def test_game_without_hops_fills_the_goal_in_the_fewest_turns(size: int, turns: int) -> None:
    game = shortest_without_hops(size)
    assert len(game.turns) == turns
    assert game.is_shortest
    pegs = set(range(size * (size + 1) // 2))
    last = 6 * size * (size + 1)
    goal = {last - cell for cell in pegs}
    for origin, target in game.turns:
        assert origin in pegs
        assert target not in pegs
        assert target in solo.tables(size).neighbour[origin]
        pegs = pegs - {origin} | {target}
    assert pegs == goal


@pytest.mark.slow
def test_no_game_without_hops_for_size_2_is_shorter() -> None:
    assert distances_from_home(2, with_hops=False)[rotated(2, frozenset({0, 1, 2}))] == 20


@pytest.mark.slow
def test_greedy_alone_needs_more_turns_than_the_shortest_game() -> None:
    env = ChineseCheckers(2, 2)
    turns = solo.turns_alone(env, agents.make("greedy", env), 100)
    assert turns.shape == (100,)
    assert (turns > 11).all()
    assert turns.max() < 20


@pytest.mark.slow
def test_game_that_an_agent_does_not_finish_alone_is_marked() -> None:
    env = ChineseCheckers(2, 2, max_rounds=5)
    assert solo.turns_alone(env, agents.make("greedy", env), 3).tolist() == [-1, -1, -1]


# -- in the env --------------------------------------------------------------------------------------------------------


def test_start_has_the_pegs_of_seat_0_alone() -> None:
    env = ChineseCheckers(2, 6)
    assert env.to_string(solo.solo_start(env)) == "0/00/......." + "/......" + "/....." + "/....../......./../. 0 - 0"


def test_shortest_game_wins_in_the_env_at_its_last_submove() -> None:
    env = ChineseCheckers(2, 2)
    states, actions = replay(shortest(2), env)
    assert len(actions) == len(states) - 1
    assert env.winners(states[-1]).tolist() == [True, False]
    assert states[-1].round == 10
    assert not any(state.terminated for state in states[:-1])


@pytest.mark.slow
@pytest.mark.parametrize(("size", "num_players"), [(2, 6), (3, 2), (4, 2), (4, 6)])
def test_stored_game_wins_in_the_env(size: int, num_players: int) -> None:
    env = ChineseCheckers(size, num_players)
    end = replay(stored(size), env).states[-1]
    assert env.winners(end)[0]
    assert jax.device_get(end.round) == len(GAMES[str(size)]) - 1


def test_replay_of_a_wrong_game_is_an_error() -> None:
    game = shortest(2)
    with pytest.raises(ValueError, match="does not fill the goal"):
        replay(dataclasses.replace(game, turns=game.turns[:-1]))
    with pytest.raises(ValueError, match="0=>7 is not legal in"):
        replay(dataclasses.replace(game, turns=((0, 7), *game.turns)))


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "width", "named"),
    [
        (0, 9, "size .* from 1 to 4, not 0"),
        (5, 9, "size .*, not 5"),
        (2, 0, "width"),
        (2, 1, "width must be larger for size 2: with 1 positions per level no game of at most 20 turns"),
    ],
)
def test_setting_out_of_range_is_refused(size: int, width: int, named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        shortest_solo(size, width=width, compiled=False)


@pytest.mark.slow
def test_command_prints_the_game_with_its_figures(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "solo.svg"
    assert run_command(solo.main, "--size", 2, "--picture", file) is None
    printed = last_json(capsys)
    assert printed["game"] == GAMES["2"]
    assert (printed["turns"], printed["lower_bound"], printed["without_hops"]) == (11, 11, 20)
    assert file.read_text().startswith("<svg")


def test_command_names_a_wrong_size() -> None:
    assert "size must be" in error_of(solo.main, "--size", 7)
