"""The agent `race`: its turns are those of the env, its value is the one that is fitted, and it finishes games."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import jaxgames
import train.agents
from examples.papers.parameter_sharing import turn_search as race
from examples.papers.parameter_sharing.turn_search import learning
from examples.papers.parameter_sharing.turn_search.moves import (
    Weights,
    fill_pegs,
    fill_remaining,
    fill_turns,
    greedy_turn,
    make_star,
    make_work,
    rotate,
    turns_left,
)
from examples.papers.parameter_sharing.turn_search.search import Settings, choose, make_race, static_score
from jaxgames import ParameterError, agents, arena, greedy
from jaxgames.games.chinese_checkers.board import tables
from jaxgames.games.chinese_checkers.rules import VISITED
from jaxgames.games.chinese_checkers.scores import remaining_on_star

RACE = "examples.papers.parameter_sharing.turn_search:race"
ENV = jaxgames.make("chinese_checkers(size=2, num_players=6)")
T = tables(2)
STAR = make_star(2)
QUICK = Settings(candidates=2, samples=1, rounds=2, near=3.0)
FIRST = learning.first_weights(2)


def random_game(seed: int) -> list[Any]:
    """Returns at most 120 boards of a random game on the host, each with its legal actions."""
    legal, step = jax.jit(ENV.legal_action_mask), jax.jit(ENV.step)
    random, states, state = np.random.default_rng(seed), list[Any](), ENV.init()
    while len(states) < 120 and not bool(state.terminated):
        mask = np.asarray(legal(state))
        states.append((jax.device_get(state), mask))
        state = step(state, int(random.choice(np.flatnonzero(mask))))
    return states


@pytest.fixture(scope="module")
def game() -> list[Any]:
    return random_game(0)


def board_of(state: Any) -> np.ndarray:
    return np.maximum(np.asarray(state.board, np.int64), VISITED)


def ends(board: np.ndarray, origin: int, is_begun: bool) -> set[int]:
    """Returns where a peg can stand after the turn: by all chains of hops, and by steps if the turn begins."""
    cells, found, cell = len(board), set[int](), origin
    without = board.copy()
    without[origin] = VISITED

    def hop(cell: int) -> None:
        for over, to in zip(T.neighbour[cell].tolist(), T.beyond[cell].tolist(), strict=True):
            if to < cells and without[over] >= 0 and without[to] == -1 and to not in found:
                found.add(to)
                hop(to)

    hop(cell)
    if is_begun:
        return found | {origin}
    return found | {to for to in T.neighbour[origin].tolist() if to < cells and board[to] == -1}


def test_turns_are_all_legal_ways_of_a_peg(game: list[Any]) -> None:
    work, pegs, turns = make_work(STAR), np.zeros(3, np.int64), np.zeros(2 * 3 * STAR.cells, np.int64)
    for state, mask in game:
        board, chain = board_of(state), int(state.peg)
        fill_pegs(STAR, board, pegs)
        number = fill_turns(STAR, work, board, pegs, chain, turns)
        np.testing.assert_array_equal(board, board_of(state))
        found = [(int(pegs[index]), int(to)) for index, to in turns.reshape(-1, 2)[:number]]
        movers = [chain] if chain >= 0 else np.flatnonzero(board == 0).tolist()
        assert sorted(found) == sorted((peg, to) for peg in movers for to in ends(board, peg, chain >= 0))
        assert all(mask[race.first_submove(2, board, *turn)] for turn in found)


def test_whole_greedy_turns_are_those_of_the_greedy_agent(game: list[Any]) -> None:
    """All boards that the agent's best submoves can lead to are found, and no others."""
    observed = jax.jit(lambda state: (ENV.legal_action_mask(state), greedy.action_scores(ENV, state)))
    step, work = jax.jit(ENV.step), make_work(STAR)

    def ends_of(state: Any, mover: int) -> set[bytes]:
        if bool(state.terminated) or int(state.current_player) != mover:
            return {board_of(jax.device_get(state)).tobytes()}
        mask, scores = map(np.asarray, observed(state))
        best = np.flatnonzero(mask & (scores >= scores[mask].max())).tolist()
        return set[bytes]().union(*(ends_of(step(state, action), mover) for action in best))

    for state, _ in [entry for entry in game if entry[0].peg < 0][:24:4]:
        found = set[bytes]()
        for _ in range(150):
            board = board_of(state)
            assert not greedy_turn(STAR, work, board)
            rotate(STAR, work, board)
            found.add(board.tobytes())
        assert found == ends_of(state, int(state.current_player))


def test_remaining_steps_are_those_of_the_greedy_agent(game: list[Any]) -> None:
    work = make_work(STAR)
    remaining = jax.jit(lambda goal: remaining_on_star(2, goal))
    for state, _ in game[::4]:
        board = board_of(state)
        fill_remaining(STAR, work, board)
        np.testing.assert_array_equal(np.asarray(work.remaining) / 128, remaining(np.asarray(state.board)[-3:]))


def by_feature(size: int, weights: Weights) -> np.ndarray:
    """Returns the weights in the order of `learning.features`."""
    cell, pair = learning.shapes(size)
    return np.concatenate(
        [
            [weights.cell[int(np.flatnonzero(cell == number)[0])] for number in range(cell.max() + 1)],
            [weights.pair[int(np.flatnonzero(pair.ravel() == number)[0])] for number in range(pair.max() + 1)],
            *map(np.asarray, weights[2:]),
        ]
    )


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


@pytest.mark.slow  # two seconds
def test_fit_finds_turns_that_do_not_depend_on_the_steps_to_go() -> None:
    """The turns are two, and three more for every peg that is off the middle line, unlike the first weights."""
    random, star = np.random.default_rng(0), make_star(2)
    boards = np.array([random.permutation([0] * 3 + [-1] * (star.cells - 3)) for _ in range(3000)]).astype(np.int8)
    q, r = T.axial.T
    left = 2 + 3 * ((boards == 0) & (abs(q + r / 2) > 1)).sum(1)
    fitted = learning.fitted(2, [learning.Games(boards[:2500], left[:2500])])
    price = learning.price(2, learning.ADDED_PRICE)
    features = learning.features(2, boards[2500:])

    def error(weights: Weights) -> float:
        return float(abs(features @ by_feature(2, weights) - left[2500:]).mean())

    assert error(fitted._replace(cell=fitted.cell - price)) < 0.3
    assert error(FIRST) > 1


def test_static_score_is_the_same_in_the_middle_of_a_turn(game: list[Any]) -> None:
    """Cells that the peg has left in this turn are empty for the turns after it."""
    search = make_race(2, FIRST)
    seen = 0
    for state, _ in game:
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
    for state, _ in game[::10]:
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
    state = jax.device_get(ENV.init()).__class__(**{**vars(jax.device_get(ENV.init())), "board": board.astype(np.int8)})
    action = player.choose(state, 0)
    assert STAR.neighbour[action] == last
    assert player.choose(state, 0) == action


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a file of weights and another file."""
    monkeypatch.chdir(tmp_path)
    race.save(Path("2.npz"), 2, FIRST)
    np.savez(tmp_path / "other.npz", size=2)
    return tmp_path


@pytest.mark.parametrize("text", [f"{RACE}(2.npz)", f"{RACE}(file=2.npz)", f"{RACE}('2.npz', samples=8)"])
def test_text_of_the_agent_names_it_again(folder: Path, text: str) -> None:
    agent = agents.make(text, ENV)
    assert str(agent) == f"{RACE}('2.npz', candidates=10, samples=8, rounds=10, near=5.0)"
    assert str(agents.make(str(agent), ENV)) == str(agent)
    assert str(train.agents.make(f"{RACE}(2.npz, epsilon=0.5)", ENV)) == f"{str(agent)[:-1]}, epsilon=0.5)"


@pytest.mark.slow
def test_agent_beats_random_players(folder: Path) -> None:
    agent = agents.make(f"{RACE}(2.npz, candidates=3, samples=2)", ENV)
    seats = arena.one_seat(jax.random.key(1), 6, 6)
    games = arena.play(ENV, (agent, agents.make("random", ENV)), seats, jax.random.key(0))
    assert arena.results(ENV, games, seats)["win_rate"] == 1


@pytest.mark.parametrize(
    ("parameters", "game", "error", "named"),
    [
        ("2.npz", "minichess", ParameterError, "six seats, not minichess"),
        ("2.npz", "chinese_checkers(size=3)", ParameterError, "size=2, not for chinese_checkers"),
        ("other.npz", str(ENV), ParameterError, "not a file of weights"),
        ("2.npz, samples=-1", str(ENV), ParameterError, "samples must be an integer from 0"),
        ("none.npz", str(ENV), FileNotFoundError, "none.npz"),
    ],
)
def test_wrong_input_is_refused(folder: Path, parameters: str, game: str, error: type[Exception], named: str) -> None:
    with pytest.raises(error) as refused:
        agents.make(f"{RACE}({parameters})", jaxgames.make(game))
    assert named in str(refused.value)


@pytest.mark.slow  # compiles the search
def test_learning_resumes_games_of_the_same_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    last = len(learning.ROUNDS) - 1
    arguments = learning.Arguments(output=tmp_path, size=1, games=20)
    first = learning.report(arguments).result
    weights = race.load(first["weights"])
    assert weights[0] == 1
    for name in (f"1_round_{last}.npz", "1.npz"):
        (tmp_path / name).unlink()
    played, play = list[int](), learning.play

    def counted(arguments: learning.Arguments, number: int, weights: Weights) -> learning.Games:
        played.append(number)
        return play(arguments, number, weights)

    monkeypatch.setattr(learning, "play", counted)
    learning.report(arguments)
    assert played == [last]
    for one, other in zip(race.load(first["weights"])[1], weights[1], strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
    with pytest.raises(ValueError, match="choose another --output"):
        learning.report(learning.Arguments(output=tmp_path, size=1, games=30))


@pytest.mark.parametrize(("size", "games", "named"), [(1, 9, "games must be at least 10"), (5, 20, "size must be one")])
def test_learning_refuses_wrong_numbers(tmp_path: Path, size: int, games: int, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        learning.report(learning.Arguments(output=tmp_path, size=size, games=games))
