"""Whole turns on the star: those of the env and of the greedy agent, the search with its value, the shortest games."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import jaxgames
from examples.papers.parameter_sharing import turn_search as race
from examples.papers.parameter_sharing.lone_player import GAMES, replay
from examples.papers.parameter_sharing.turn_search import learning
from examples.papers.parameter_sharing.turn_search.moves import (
    Weights,
    fill_pegs,
    fill_turns,
    greedy_turn,
    make_star,
    make_work,
    rotate,
    turns_left,
)
from examples.papers.parameter_sharing.turn_search.search import Settings, choose, make_race, static_score
from examples.papers.parameter_sharing.whole_turns import whole_turns
from jaxgames import greedy
from jaxgames.games.chinese_checkers import ChineseCheckers
from jaxgames.games.chinese_checkers.board import tables
from jaxgames.games.chinese_checkers.rules import EMPTY, VISITED

RACE = "examples.papers.parameter_sharing.turn_search:race"
ENV = jaxgames.make("chinese_checkers(size=2, num_players=6)")
T = tables(2)
STAR = make_star(2)
QUICK = Settings(candidates=2, samples=1, rounds=2, near=3.0)
FIRST = learning.first_weights(2)


LEGAL, STEP = jax.jit(ENV.legal_action_mask), jax.jit(ENV.step)


@pytest.fixture(scope="module")
def game() -> list[Any]:
    """The first 120 boards of a random game, on the host."""
    random, states = np.random.default_rng(0), [jax.device_get(ENV.init())]
    while len(states) < 120:
        states.append(jax.device_get(STEP(states[-1], int(random.choice(np.flatnonzero(LEGAL(states[-1])))))))
    return states


def board_of(state: Any) -> np.ndarray:
    return np.maximum(np.asarray(state.board, np.int64), VISITED)


def turns_by_submoves(state: Any, path: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Yields the cells of the moving peg for each end of a turn that submoves of the env reach."""
    for action in np.flatnonzero(LEGAL(state)[:-1]).tolist():
        cell, direction = divmod(action, 6)
        is_hop = int(state.board[T.neighbour[cell, direction]]) >= 0
        to = int((T.beyond if is_hop else T.neighbour)[cell, direction])
        yield (*(path or (cell,)), to)
        if is_hop:
            yield from turns_by_submoves(STEP(state, action), (*(path or (cell,)), to))


def test_turns_are_those_that_submoves_reach(game: list[Any]) -> None:
    """All ways of a peg, and its last cells, also from the middle of a turn, which can end where the peg stands."""
    work, pegs, turns = make_work(STAR), np.zeros(3, np.int64), np.zeros(2 * 3 * STAR.cells, np.int64)
    longest, begun = 0, 0
    for state in game[::6]:
        board, chain = board_of(state), int(state.peg)
        fill_pegs(STAR, board, pegs)
        number = fill_turns(STAR, work, board, pegs, chain, turns)
        np.testing.assert_array_equal(board, board_of(state))
        found = [(int(pegs[index]), int(to)) for index, to in turns.reshape(-1, 2)[:number]]
        expected = [*turns_by_submoves(state)]
        stays = [(chain, chain)] * (chain >= 0)
        assert sorted(found) == sorted({*stays, *((path[0], path[-1]) for path in expected)})
        assert all(LEGAL(state)[race.first_submove(2, board, *turn)] for turn in found)
        if chain < 0:
            assert sorted(whole_turns(2, np.asarray(state.board).tolist())) == sorted(expected)
            longest = max(longest, *map(len, expected))
        begun += chain >= 0
    assert begun > 2
    assert longest >= 4, "no chain of three hops was compared"


def test_whole_greedy_turns_are_those_of_the_greedy_agent(game: list[Any]) -> None:
    """All boards that the agent's best submoves can lead to are found, and no others."""
    observed = jax.jit(lambda state: (ENV.legal_action_mask(state), greedy.action_scores(ENV, state)))
    work = make_work(STAR)

    def ends_of(state: Any, mover: int) -> set[bytes]:
        if bool(state.terminated) or int(state.current_player) != mover:
            return {board_of(jax.device_get(state)).tobytes()}
        mask, scores = map(np.asarray, observed(state))
        best = np.flatnonzero(mask & (scores >= scores[mask].max())).tolist()
        return set[bytes]().union(*(ends_of(STEP(state, action), mover) for action in best))

    for state in [state for state in game if state.peg < 0][:24:4]:
        found = set[bytes]()
        for _ in range(150):
            board = board_of(state)
            assert not greedy_turn(STAR, work, board)
            rotate(STAR, work, board)
            found.add(board.tobytes())
        assert found == ends_of(state, int(state.current_player))


def by_feature(size: int, weights: Weights) -> np.ndarray:
    """Returns the weights in the order of `learning.features`."""
    numbered = [np.unique(shape, return_index=True) for shape in learning.shapes(size)]
    cell, pair = (first[number >= 0] for number, first in numbered)
    return np.concatenate([weights.cell[cell], weights.pair[pair], *map(np.asarray, weights[2:])])


@pytest.mark.parametrize("size", [1, 2])
def test_value_is_the_product_of_weights_and_features(size: int) -> None:
    random, star = np.random.default_rng(size), make_star(size)
    boards = np.array(
        [random.permutation([0] * star.pegs + [1] * 2 + [-1] * (star.cells - star.pegs - 2)) for _ in range(20)]
    )
    left = random.integers(1, 9, 20)
    weights = learning.fitted(size, [learning.Games(boards.astype(np.int8), left)])
    expected = learning.features(size, boards) @ by_feature(size, weights)
    pegs = np.zeros(star.pegs, np.int64)
    for board, value in zip(boards, expected, strict=True):
        fill_pegs(star, board, pegs)
        if (board[-star.pegs :] != 0).any():
            np.testing.assert_allclose(turns_left(star, weights, board, pegs), value, atol=1e-9)


def test_static_score_is_the_same_in_the_middle_of_a_turn(game: list[Any]) -> None:
    """Cells that the peg has left in this turn are empty for the turns after it."""
    search = make_race(2, FIRST)
    seen = 0
    for state in game:
        board, chain = board_of(state), int(state.peg)
        if chain < 0 or not (board == VISITED).any():
            continue
        choose(search, board.copy(), chain, QUICK._replace(samples=0), 0.0)
        number = fill_turns(STAR, search.work, board.copy(), search.pegs, chain, search.turns)
        turns = np.asarray(search.turns).reshape(-1, 2)[:number].tolist()
        scores = np.asarray(search.scores)[:number].copy()
        empty = np.where(board == VISITED, -1, board)
        found = [static_score(search, empty, search.pegs, index, to, search.followers) for index, to in turns]
        np.testing.assert_allclose(scores, found)
        seen += 1
    assert seen > 5


@pytest.mark.slow  # compiles the search
def test_compiled_search_chooses_as_the_plain_one(game: list[Any]) -> None:
    players = [race.RacePlayer(2, FIRST, QUICK, compiled=compiled) for compiled in (True, False)]
    for state in game[::10]:
        first, second = (player.choose(state, 7) for player in players)
        assert first == second


def test_player_wins_at_once_where_it_can() -> None:
    """The seat's last peg stands one step in front of its goal."""
    player = race.RacePlayer(2, FIRST, QUICK, compiled=False)
    board = np.full(STAR.cells, -1)
    board[[-1, -2]] = 0
    last = STAR.cells - 3
    before = next(cell for cell in T.neighbour[last].tolist() if cell < last)
    board[before] = 0
    board[[5, 7]] = 1
    state = dataclasses.replace(jax.device_get(ENV.init()), board=board.astype(np.int8))
    action = player.choose(state, 0)
    assert STAR.neighbour[action] == last
    assert player.choose(state, 0) == action


@pytest.mark.parametrize(("size", "turns"), [(1, 4), (2, 11), (3, 17), (4, 27)])
def test_stored_game_wins_in_the_env_at_its_last_submove(size: int, turns: int) -> None:
    env = ChineseCheckers(size, 2)
    states, actions = replay(env, GAMES[size])
    assert len(GAMES[size]) == turns == states[-1].round + 1
    assert len(actions) == len(states) - 1
    assert env.winners(states[-1]).tolist() == [True, False]
    assert not any(state.terminated for state in states[:-1])


def test_no_game_for_size_2_is_shorter() -> None:
    """Breadth first over the cells of seat 0's pegs; nobody else has pegs, and its frame stays the same."""
    home, goal = frozenset(range(STAR.pegs)), frozenset(range(STAR.cells - STAR.pegs, STAR.cells))
    levels, seen = [{home}], {home}
    while goal not in seen:
        boards = ((pegs, [0 if cell in pegs else EMPTY for cell in range(STAR.cells)]) for pegs in levels[-1])
        levels.append(
            {pegs - {turn[0]} | {turn[-1]} for pegs, board in boards for turn in whole_turns(2, board)} - seen
        )
        seen |= levels[-1]
    assert len(levels) - 1 == len(GAMES[2])


def test_agent_of_a_file_of_weights_is_named_by_its_text(tmp_path: Path) -> None:
    race.save(tmp_path / "2.npz", 2, FIRST)
    for read, written in zip(race.load(tmp_path / "2.npz")[1], FIRST, strict=True):
        np.testing.assert_array_equal(read, written)
    text = f"{RACE}('{tmp_path}/2.npz', candidates=10, samples=2, rounds=10, near=5.0)"
    assert str(jaxgames.agents.make(f"{RACE}({tmp_path}/2.npz, samples=2)", ENV)) == text
    with pytest.raises(jaxgames.ParameterError, match=r"size=2, not for chinese_checkers\(size=3"):
        jaxgames.agents.make(text, jaxgames.make("chinese_checkers(size=3)"))
