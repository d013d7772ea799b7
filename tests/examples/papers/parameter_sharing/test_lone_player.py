"""The shortest games of a lone player on the star: legal, as long as they say, and won; agents alone."""

import dataclasses

import pytest

from examples.papers.parameter_sharing.lone_player import GAMES, replay, start_alone, turns_alone
from jaxgames import agents
from jaxgames.games.chinese_checkers import ChineseCheckers
from tests.games.chinese_checkers.reference import Cell, Position, Reference


@pytest.mark.parametrize(("size", "turns"), [(1, 4), (2, 11), (3, 17), (4, 27)])
def test_stored_game_wins_in_the_env_at_its_last_submove(size: int, turns: int) -> None:
    env = ChineseCheckers(size, 2)
    states, actions = replay(env, GAMES[size])
    assert len(GAMES[size]) == turns == states[-1].round + 1
    assert len(actions) == len(states) - 1
    assert env.winners(states[-1]).tolist() == [True, False]
    assert not any(state.terminated for state in states[:-1])


def test_replay_of_a_wrong_game_is_an_error() -> None:
    env, game = ChineseCheckers(2, 2), GAMES[2]
    with pytest.raises(ValueError, match="does not fill the goal"):
        replay(env, game[:-1])
    with pytest.raises(ValueError, match="0=>7 is not legal in"):
        replay(env, ["0=>7", *game])


def test_start_has_the_pegs_of_seat_0_alone() -> None:
    env = ChineseCheckers(2, 6)
    assert env.to_string(start_alone(env)) == "0/00/......." + "/......" + "/....." + "/....../......./../. 0 - 0"


@pytest.mark.slow
def test_no_game_for_size_2_is_shorter_by_the_slow_rules() -> None:
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
    assert len(levels) - 1 == len(GAMES[2])


def _turn_ends(rules: Reference, start: Position, pegs: frozenset[Cell]) -> set[frozenset[Cell]]:
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


@pytest.mark.slow
@pytest.mark.parametrize("max_rounds", [100, 5])
def test_greedy_alone_needs_more_turns_than_the_shortest_game(max_rounds: int) -> None:
    """A game that it does not finish in time is marked."""
    env = ChineseCheckers(2, 2, max_rounds=max_rounds)
    turns = turns_alone(env, agents.make("greedy", env), 100)
    assert turns.shape == (100,)
    assert set(turns.tolist()) <= ({-1} if max_rounds == 5 else {*range(12, 20)})
