"""Whole games: who plays which seat, what is counted, and what the commands that play them print."""

import json
from pathlib import Path
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import State
from train import evaluate, match, play
from train.driver.run_folder import RunFolder
from train.models.policy import Policy
from train.play import RANDOM, Games
from train.ppo import PPO, Config

# One peg a seat: hops are possible, and random players often get home before the limit.
ENV = jaxgames.make("chinese_checkers", size=1, num_players=3, max_rounds=20)
GAMES = 40

init = jax.jit(ENV.init)
step = jax.jit(ENV.step)
start: Any = jax.jit(lambda key, num_games: play.start(ENV, key, num_games), static_argnums=1)


class Taste:
    """A pilot that likes actions as its parameters say, whatever it sees; float[num_actions]."""

    def apply(self, params: jax.Array, observation: jax.Array, seat: jax.Array) -> tuple[jax.Array, jax.Array]:
        rows = observation.shape[0]
        return jnp.broadcast_to(params, (rows, *params.shape)), jnp.zeros(rows)


TASTE = cast(Policy, Taste())
DIRECTION = np.append(np.tile(np.arange(6), ENV.num_actions // 6), -1)  # of an action; -1 ends the turn
HOMEWARDS = jnp.asarray(np.where(DIRECTION >= 4, 10.0, 0.0))  # down, towards the goal
NEVER_HOME = jnp.asarray(np.where(DIRECTION >= 4, -10.0, 0.0))


def played(
    params: list[jax.Array], pilots: Any, *, seed: int = 0, temperature: float = 1.0, max_steps: int | None = None
) -> Games:
    pilots = jnp.asarray(pilots, jnp.int32)
    games = start(jax.random.key(seed), pilots.shape[0])
    return cast(Games, compiled(params, pilots, games, jax.random.key(seed), temperature, max_steps))


compiled: Any = jax.jit(
    lambda params, pilots, games, key, temperature, max_steps: play.play(
        ENV, [TASTE] * len(params), params, pilots, games, key, temperature=temperature, max_steps=max_steps
    ),
    static_argnums=(4, 5),
)


def same(a: Any, b: Any) -> bool:
    return jax.tree.all(jax.tree.map(np.array_equal, *jax.device_get((a, b))))


# -- counting: against games played again, one board at a time, in plain Python -----------------------------------


@pytest.fixture(scope="module")
def recorded() -> tuple[Games, np.ndarray]:
    """Games of three random players, and the actions [steps, games]."""
    pilots = jnp.full((GAMES, 3), RANDOM)

    def run(key: jax.Array) -> Any:
        return play.record(ENV, [], [], pilots, play.start(ENV, key, GAMES), key, 120)

    games, _, actions = jax.jit(run)(jax.random.key(0))
    return games, np.asarray(actions)


@pytest.fixture(scope="module")
def counted(recorded: tuple[Games, np.ndarray]) -> list[dict[str, Any]]:
    """Length, turns, returns and end of each game, and its longest chain, counted from its actions alone."""
    rows: list[dict[str, Any]] = []
    for actions in recorded[1].T:
        state, movers, returns = init(jax.random.key(0)), list[int](), np.zeros(3)
        for action in actions:
            if state.terminated | state.truncated:
                break
            movers.append(int(state.current_player))
            state = step(state, action)
            returns += np.asarray(state.rewards)
        begun = [seat for seat, before in zip(movers, [-1, *movers], strict=False) if seat != before]
        rows.append(
            {
                "length": len(movers),
                "turns": [begun.count(seat) for seat in range(3)],
                "returns": returns,
                "terminated": bool(state.terminated),
                "truncated": bool(state.truncated),
            }
        )
    return rows


def test_the_games_hold_chains_and_both_ends(counted: list[dict[str, Any]]) -> None:
    """Without them the next tests would prove little."""
    assert any(row["length"] > sum(row["turns"]) for row in counted)
    assert any(row["terminated"] for row in counted)
    assert any(row["truncated"] for row in counted)
    assert all(row["terminated"] != row["truncated"] for row in counted)


@pytest.mark.parametrize("name", ["length", "turns", "returns"])
def test_counts_are_those_of_the_games_played_again(
    name: str, recorded: tuple[Games, np.ndarray], counted: list[dict[str, Any]]
) -> None:
    """A chain of hops is one turn; a finished board counts and pays nothing more."""
    np.testing.assert_allclose(getattr(recorded[0], name), [row[name] for row in counted], atol=1e-4)


def test_a_summary_is_that_of_the_games_played_again(
    recorded: tuple[Games, np.ndarray], counted: list[dict[str, Any]]
) -> None:
    """Of a pilot who sits on seat 0, 1, 2, 0, 1, ... of the games."""
    seats = np.arange(GAMES) % 3
    pilots = np.where(np.arange(3) == seats[:, None], 0, RANDOM)
    won = [
        row["terminated"] and all(row["returns"][seat] > row["returns"][other] for other in range(3) if other != seat)
        for row, seat in zip(counted, seats, strict=True)
    ]
    assert any(won)
    turns = [row["turns"][seat] for row, seat, win in zip(counted, seats, won, strict=True) if win]
    expected = {
        "win_rate": np.mean(won),  # the truncated games among them
        "draw_rate": 0,  # a terminated game has its winner here
        "truncated_rate": np.mean([row["truncated"] for row in counted]),
        "mean_turns": np.mean(turns),
        "mean_reward": np.mean([row["returns"][seat] for row, seat in zip(counted, seats, strict=True)]),
    }
    found = play.summary(recorded[0], jnp.asarray(pilots))
    assert set(found) == set(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-4)


# -- counting: positions -------------------------------------------------------------------------------------------


def from_position(text: str, likes: list[str], max_steps: int | None = None) -> Games:
    """A single game from a position, in which every seat likes the first of these moves best that it may play."""
    state = ENV.from_string(text)
    taste = np.zeros(ENV.num_actions)
    for place, move in enumerate(likes):
        taste[ENV.action_from_string(state, move)] = len(likes) - place
    games = start(jax.random.key(0), 1)._replace(boards=jax.tree.map(lambda x: x[None], state))
    pilots = jnp.zeros((1, 3), jnp.int32)
    key = jax.random.key(0)
    return cast(Games, compiled([jnp.asarray(taste)], pilots, games, key, 0, max_steps))


# Seat 0 at the top can hop over the peg of seat 1; seat 2 is far away.
CHAIN = "0/.1../.../...2/. 0 - 0"


def test_a_chain_and_its_end_are_one_turn() -> None:
    hop = "0=>5"
    games = from_position(CHAIN, [hop, "end"], max_steps=2)
    assert (games.turns.tolist(), games.length.tolist()) == ([[1, 0, 0]], [2])
    assert games.boards.current_player.tolist() == [1]
    games = from_position(CHAIN, [hop, "end"], max_steps=3)
    assert (games.turns.tolist(), games.length.tolist()) == ([[1, 1, 0]], [3])


def test_the_winning_turn_counts() -> None:
    games = from_position("./...1/.../.02./. 0 - 3", ["9->12"])
    assert games.won.tolist() == [[True, False, False]]
    assert games.turns.tolist() == [[1, 0, 0]]
    assert play.summary(games, jnp.array([[0, RANDOM, RANDOM]]))["mean_turns"] == 1


def ended(*games: tuple[bool, list[float]]) -> Games:
    """Games that are over, given by whether they terminated (or else were truncated) and their returns."""
    terminated = jnp.array([by_rules for by_rules, _ in games])
    returns = jnp.array([returns for _, returns in games], jnp.float32)
    count = len(games)
    boards = State(
        current_player=jnp.zeros(count, jnp.int32),
        rewards=jnp.zeros_like(returns),
        terminated=terminated,
        truncated=~terminated,
    )
    turns = jnp.arange(1, returns.size + 1).reshape(returns.shape)
    return Games(boards, returns, turns, jnp.full(count, 9), jnp.zeros(count, jnp.int32))


def test_a_win_is_the_strictly_highest_return_of_a_terminated_game() -> None:
    games = ended((True, [5, 1]), (True, [2, 2]), (False, [5, 1]), (True, [-1, 0]))
    assert games.won.tolist() == [[True, False], [False, False], [False, False], [False, True]]


def test_truncated_and_drawn_games_count_as_games() -> None:
    games = ended((True, [5, 1]), (True, [2, 2]), (False, [5, 1]), (True, [-1, 0]))
    found = play.summary(games, jnp.array([[0, RANDOM]] * 4))
    assert found["win_rate"] == found["draw_rate"] == found["truncated_rate"] == 1 / 4
    assert found["mean_turns"] == 1  # the won game's, not the others' 3, 5, 7
    assert found["mean_reward"] == (5 + 2 + 5 - 1) / 4


def test_without_a_win_there_are_no_turns_to_average() -> None:
    assert np.isnan(play.summary(ended((False, [5, 1])), jnp.array([[0, RANDOM]]))["mean_turns"])


def test_a_pilot_on_several_seats_wins_with_any_of_them() -> None:
    games = ended((True, [5, 1, 0]), (True, [0, 1, 5]), (True, [0, 5, 1]))
    found = play.summary(games, jnp.array([[0, 1, 0]] * 3))
    np.testing.assert_allclose(found["win_rate"], 2 / 3, rtol=1e-6)
    assert found["mean_turns"] == (1 + 6) / 2
    assert found["mean_reward"] == (5 + 0 + 0 + 5 + 0 + 1) / 6
    np.testing.assert_allclose(play.summary(games, jnp.array([[0, 1, 0]] * 3), 1)["win_rate"], 1 / 3, rtol=1e-6)


# -- playing -------------------------------------------------------------------------------------------------------


def test_play_ends_with_the_last_game() -> None:
    games = played([HOMEWARDS], [[0, RANDOM, RANDOM]] * GAMES)
    assert games.over.all()
    assert (games.boards.terminated != games.boards.truncated).all()
    assert (games.length > 0).all()


def test_a_slice_is_at_most_as_long_as_asked() -> None:
    games = played([HOMEWARDS], [[0, RANDOM, RANDOM]] * GAMES, max_steps=3)
    assert (games.length == 3).all()
    assert not games.over.any()


def test_slices_add_up_to_whole_games() -> None:
    """Exactly so where nothing is random."""
    pilots = jnp.zeros((GAMES, 3), jnp.int32)
    whole = played([HOMEWARDS], pilots, temperature=0)
    games, slices = start(jax.random.key(9), GAMES), 0
    while not games.over.all():
        games = compiled([HOMEWARDS], pilots, games, jax.random.key(slices), 0, 3)
        slices += 1
    assert slices > 1
    assert same(games, whole)


def test_temperature_0_leaves_nothing_to_chance() -> None:
    pilots = [[0, 1, 0]] * GAMES
    first, second = (played([HOMEWARDS, NEVER_HOME], pilots, seed=seed, temperature=0) for seed in (0, 1))
    assert same(first, second)
    assert same(first.boards, jax.tree.map(lambda x: np.broadcast_to(x[:1], x.shape), first.boards))


def test_temperature_1_draws() -> None:
    first, second = (played([HOMEWARDS, NEVER_HOME], [[0, 1, 0]] * GAMES, seed=seed) for seed in (0, 1))
    assert not same(first.length, second.length)
    assert len(set(first.length.tolist())) > 1


def test_every_seat_is_played_by_its_pilot() -> None:
    """The one that goes home wins, wherever it sits among those that never do."""
    seats = np.arange(GAMES) % 3
    games = played([HOMEWARDS, NEVER_HOME], np.where(np.arange(3) == seats[:, None], 0, 1))
    winners = np.asarray(games.won).argmax(-1)[np.asarray(games.won).any(-1)]
    assert len(winners) > GAMES / 2
    assert (winners == seats[np.asarray(games.won).any(-1)]).mean() > 0.9


@pytest.mark.parametrize("seat", [0, 1, 2])
def test_a_fixed_seat_is_the_pilots_in_every_game(seat: int) -> None:
    pilots = play.one_seat(jax.random.key(0), 50, 3, seat)
    assert pilots.tolist() == [[0 if other == seat else RANDOM for other in range(3)]] * 50


def test_a_drawn_seat_is_any_of_them_equally_often() -> None:
    pilots = np.asarray(play.one_seat(jax.random.key(0), 3000, 3, None))
    assert ((pilots == 0).sum(1) == 1).all()
    assert ((pilots == RANDOM).sum(1) == 2).all()
    assert (np.abs((pilots == 0).mean(0) - 1 / 3) < 0.045).all()  # five standard deviations


@pytest.mark.parametrize(("num_players", "num_runs", "seats_each"), [(2, 2, 1), (6, 3, 2), (6, 2, 2), (4, 3, 1)])
def test_runs_get_their_number_of_seats_at_uniform_places(num_players: int, num_runs: int, seats_each: int) -> None:
    pilots = np.asarray(match.places(jax.random.key(0), 2000, num_players, num_runs, seats_each))
    for run in range(num_runs):
        assert ((pilots == run).sum(1) == seats_each).all()
        assert (np.abs((pilots == run).mean(0) - seats_each / num_players) < 0.056).all()  # five standard deviations
    assert ((pilots == RANDOM).sum(1) == num_players - num_runs * seats_each).all()


def test_against_random_a_good_taste_wins_on_any_seat() -> None:
    for seat in (None, 1):
        found = jax.jit(lambda key, seat=seat: play.against_random(ENV, TASTE, HOMEWARDS, key, GAMES, seat=seat))(
            jax.random.key(0)
        )
        assert found["win_rate"] > 0.6  # a third by chance
        assert found["mean_turns"] < 10


# -- the commands ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two runs on the same game, never trained, and one on another game."""
    folders = [tmp_path_factory.mktemp("runs") / name for name in ("first", "second", "other")]
    for seed, folder in enumerate(folders):
        players = 3 if folder.name == "other" else 2
        config = Config(
            env=f"chinese_checkers(size=1, num_players={players}, max_rounds=40)",
            hidden_sizes=(8,),
            num_envs=2,
            rollout_length=4,
            num_minibatches=1,
        )
        run = RunFolder.create(folder, PPO(config))
        run.save(jax.jit(PPO(config).init)(jax.random.key(seed)))
        run.close()
    return folders


def call(command: Any, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["command", *words])
    command.main()


def refused(command: Any, words: list[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """The message that a command ends with, without a traceback."""
    with pytest.raises(SystemExit) as end:
        call(command, words, monkeypatch)
    assert isinstance(end.value.code, str)  # goes to standard error, and the status is 1
    return end.value.code


def test_evaluate_prints_its_numbers(
    runs: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call(evaluate, [str(runs[0]), "--opponents", "random", "--games", "100"], monkeypatch)
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert set(result) == {"games", "win_rate", "draw_rate", "truncated_rate", "mean_turns", "mean_reward"}
    assert result["games"] == 100
    # an untrained policy is as good as the random player it meets
    assert abs(result["win_rate"] - (1 - result["truncated_rate"]) / 2) < 0.25


def test_evaluate_is_a_function_of_its_seed(
    runs: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in ("1", "1", "2"):
        call(evaluate, [str(runs[0]), "--games", "100", "--seed", seed], monkeypatch)
    first, again, other = capsys.readouterr().out.splitlines()
    assert first == again != other


def test_a_run_against_itself_wins_half(
    runs: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call(match, [str(runs[0]), str(runs[0]), "--games", "400"], monkeypatch)
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (result["games"], result["seats_each"]) == (400, 1)
    first, second = (run["wins"] for run in result["runs"])
    assert [run["run"] for run in result["runs"]] == [str(runs[0])] * 2
    assert [run["win_rate"] for run in result["runs"]] == [first / 400, second / 400]
    assert first + second == pytest.approx(400 * (1 - result["truncated_rate"]))  # no game is won twice
    assert first + second > 100
    assert abs(first - second) < 4 * np.sqrt(first + second)


def test_a_missing_folder_is_named(tmp_path: Path, runs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    missing = str(tmp_path / "nothing")
    assert f"{missing} holds no run" in refused(evaluate, [missing], monkeypatch)
    assert f"{missing} holds no run" in refused(match, [str(runs[0]), missing], monkeypatch)
    assert not Path(missing).exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--games", "0"], "games must be positive, not 0"),
        (["--temperature", "-1"], "temperature must be 0 or more, not -1"),
        (["--seat", "2"], "seat must be from 0 to 1, not 2"),
        (["--seat", "-1"], "seat must be from 0 to 1, not -1"),
    ],
)
def test_evaluate_refuses(words: list[str], message: str, runs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    assert message in refused(evaluate, [str(runs[0]), *words], monkeypatch)


def test_match_refuses(runs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, other = map(str, runs)
    assert "two or more runs" in refused(match, [first], monkeypatch)
    assert "the runs must share a game" in refused(match, [first, other], monkeypatch)
    assert "seats_each must be from 1 to 1" in refused(match, [first, second, "--seats-each", "2"], monkeypatch)
    assert "games must be positive" in refused(match, [first, second, "--games", "0"], monkeypatch)


def test_a_run_without_a_checkpoint_is_named(tmp_path: Path, runs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    RunFolder.create(tmp_path / "young", RunFolder.open(runs[0], PPO).learner).close()
    assert "has no checkpoint yet" in refused(evaluate, [str(tmp_path / "young")], monkeypatch)
