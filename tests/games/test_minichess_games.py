"""Whole games of 5 x 5 chess, move by move, beside three engines that share no code with ours.

- `minichess_reference`, the rules in slow plain Python: everything that the contract promises, every parameter.
- Pgx's `gardner_chess`: the numbers of the actions, the legal moves, the view, who wins and what is a draw.
- pyffish (Fairy-Stockfish), variant `gardner`: the legal moves in notation, and every kind of end.

Players move at random. Somebody plays an illegal action now and then, and finished boards are played on.
"""

import dataclasses
import functools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pgx
import pyffish
import pytest

import jaxgames
from jaxgames import Env
from tests.games.minichess.reference import Position, Reference, from_fen, uci

START = "rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1"


@functools.cache
def compiled(env: Env[Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Batched functions of a state: what is seen of it, and what follows."""

    def look(state: Any) -> tuple[jax.Array, ...]:
        views = [env.observe(state), env.observe(state, 0), env.observe(state, jnp.int32(1))]
        return env.legal_action_mask(state), *views

    return jax.jit(jax.vmap(look)), jax.jit(jax.vmap(lambda state, action: env.step(state, action)))


def batch(states: Sequence[Any]) -> Any:
    return jax.tree.map(lambda *leaves: np.stack(leaves), *states)


def board(states: Any, i: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf[i], states)


def at_random(rng: np.random.Generator, masks: np.ndarray) -> np.ndarray:
    """int32[boards], a random action of each mask, 0 where there is none."""
    return (masks * rng.random(masks.shape)).argmax(-1).astype(np.int32)


# -- the reference ----------------------------------------------------------------------------------------


class Played:
    """Games of one set of parameters, played on both sides and compared after every move."""

    def __init__(self, games: int, seed: int, max_plies: int, **parameters: Any) -> None:
        self.rng, self.games = np.random.default_rng(seed), games
        self.env = jaxgames.make("minichess", max_plies=max_plies, **parameters)
        self.reference = Reference(
            king_capture=parameters.get("rules") == "king_capture",
            material=parameters.get("reward") == "material",
            double_step=parameters.get("double_step", False),
            queen_only=parameters.get("promotion") == "queen",
            max_plies=max_plies,
        )
        self.look, self.step = compiled(self.env)
        self.ends: Counter[str] = Counter()
        self.repeated = 0

    def play(self, fens: list[str] | None = None, limit: int | None = None) -> "Played":
        """Plays all games, from the start or from `fens`, to their ends or for `limit` plies."""
        if fens is None:
            states = batch([self.env.init(jax.random.key(0))] * self.games)
            positions = [from_fen(self.env.to_string(board(states, 0)))] * self.games
        else:
            states = batch([self.env.from_string(fen) for fen in fens])
            positions = [self.settled(from_fen(fen)) for fen in fens]
        plies = 0
        while not all(position.over for position in positions) and plies != limit:
            moves = [self.reference.legal(position) for position in positions]
            self.compare(plies, positions, moves, states)
            actions = np.array([self.action(*both) for both in zip(positions, moves, strict=True)], np.int32)
            states = jax.device_get(self.step(states, actions))
            after = [self.reference.step(*each) for each in zip(positions, actions.tolist(), moves, strict=True)]
            for position, legal, action, new in zip(positions, moves, actions.tolist(), after, strict=True):
                if new.over and not position.over:
                    self.ends[how(new) if action in legal else "illegal"] += 1
            positions = after
            self.repeated += sum(position.occurred > 0 for position in positions)
            plies += 1
        self.compare(plies, positions, [self.reference.legal(position) for position in positions], states)
        assert limit is not None or plies <= (self.env.max_steps or 0)
        return self

    def settled(self, position: Position) -> Position:
        """A position as it is read, its past forgotten: it may be over already."""
        position = dataclasses.replace(position, before=(), rewards=(0.0, 0.0), terminated=False, truncated=False)
        _, over = self.reference.ended(position)
        truncated = not over and position.ply >= self.reference.max_plies
        return dataclasses.replace(position, terminated=over, truncated=truncated)

    def action(self, position: Position, moves: dict[int, Any]) -> int:
        """A finished board gets any action, and so does one in 500."""
        if position.over or self.rng.random() < 0.002:
            return int(self.rng.integers(-2, 1227))
        captures = [action for action, move in moves.items() if move[1] in position.board]
        return int(self.rng.choice(captures if captures and self.rng.random() < 0.2 else list(moves)))

    def compare(self, plies: int, positions: list[Position], moves: list[dict[int, Any]], states: Any) -> None:
        """Everything that can be asked of a state, beside the reference's answer."""
        masks, *views = jax.device_get(self.look(states))
        expected = np.zeros((self.games, 1225), bool)
        for i, legal in enumerate(moves):
            expected[i, list(legal)] = True
        np.testing.assert_array_equal(masks, expected)
        for viewer, view in zip((None, 0, 1), views, strict=True):
            seen = np.stack([self.reference.observation(position, viewer) for position in positions])
            np.testing.assert_array_equal(view, seen)
        paid = np.array([position.rewards for position in positions], np.float32)
        np.testing.assert_allclose(states.rewards, paid, atol=1e-6, rtol=1e-6)
        lowest, highest = self.env.reward_range
        assert lowest <= states.rewards.min()
        assert states.rewards.max() <= highest
        assert not states.rewards.sum(-1).any()
        np.testing.assert_array_equal(states.terminated, [position.terminated for position in positions])
        np.testing.assert_array_equal(states.truncated, [position.truncated for position in positions])
        np.testing.assert_array_equal(states.current_player, [not position.white for position in positions])
        for i, position in enumerate(positions):
            assert self.env.to_string(board(states, i)) == position.fen

        # what costs more is asked of one board at a time, in turn
        i = plies % self.games
        state, position = board(states, i), positions[i]
        for action, move in moves[i].items():
            assert self.env.action_to_string(state, action) == uci(move)
            assert self.env.action_from_string(state, uci(move)) == action
        settled = self.settled(position)
        if (settled.terminated, settled.truncated) == (position.terminated, position.truncated):
            read = self.env.from_string(position.fen)  # which knows neither the past nor what was paid
            kept = {"rewards": state.rewards, "occurred": state.occurred, "history": state.history}
            chex.assert_trees_all_equal(dataclasses.replace(read, **kept), state)
            chex.assert_trees_all_equal_dtypes(read, state)


def how(position: Position) -> str:
    """The way in which a game has ended."""
    if position.truncated:
        return "truncated"
    if position.rewards != (0, 0):
        return "won"
    return "third occurrence" if position.occurred >= 2 else "hundred plies" if position.quiet >= 100 else "draw"


SETS: list[dict[str, Any]] = [
    {"max_plies": 256},
    {"board": "baby", "double_step": True, "promotion": "queen", "max_plies": 90},
    {"board": "mallet", "reward": "material", "max_plies": 256},
    {"rules": "king_capture", "max_plies": 200},
    {"rules": "king_capture", "board": "mallet", "double_step": True, "promotion": "queen", "max_plies": 30},
    {"rules": "king_capture", "board": "baby", "reward": "material", "double_step": True, "max_plies": 25},
]


@pytest.mark.parametrize("parameters", SETS, ids=str)
def test_whole_games_follow_the_reference(parameters: dict[str, Any]) -> None:
    """Masks, views, rewards, ends and texts are the reference's, in games that end in every way."""
    played = Played(games=20, seed=2, **parameters).play()
    if parameters["max_plies"] < 100:
        assert played.ends["truncated"]
    if played.reference.king_capture:
        assert played.ends["won"] >= 3
    else:
        assert played.repeated >= 1
        assert played.ends["draw"] or played.ends["truncated"]


@pytest.mark.slow
@pytest.mark.parametrize("parameters", SETS, ids=str)
def test_many_whole_games_follow_the_reference(parameters: dict[str, Any]) -> None:
    """The same at length."""
    played = Played(games=60, seed=3, **parameters).play()
    assert played.ends["illegal"]
    assert played.ends["won"] >= 3


CAGES = [  # nothing but kings and rooks, or knights: positions come again, and nobody captures for long
    "k3r/5/5/5/R3K w - - 0 1",
    "kn3/5/5/5/3NK b - - 90 70",
    "1k1p1/3P1/5/1p3/KP3 w - - 80 1",
]


@pytest.mark.parametrize("reward", ["win_loss", "material"])
def test_bare_boards_come_again_and_stay_quiet(reward: str) -> None:
    """Third occurrences and draws by a hundred plies, with the exact past on the reference's side."""
    played = Played(games=24, seed=4, max_plies=100_000, reward=reward).play(CAGES * 8)
    assert played.ends["third occurrence"]
    assert played.ends["hundred plies"]


def random_fen(rng: np.random.Generator, kings: bool) -> str:
    """Any number of any pieces anywhere; at most one king a side if `kings`."""
    cells = np.where(
        rng.random(25) < rng.random(), rng.choice(list("PNBRQpnbrqPp" if kings else "PNBRQKpnbrqk"), 25), "1"
    )
    if kings:
        cells[rng.choice(25, 2, replace=False)] = [king if rng.random() < 0.9 else "1" for king in "Kk"]
    rows = "/".join("".join(row) for row in cells.reshape(5, 5))
    for gap in (5, 4, 3, 2):
        rows = rows.replace("1" * gap, str(gap))
    return f"{rows} {rng.choice(['w', 'b'])} - - {rng.integers(0, 103)} {rng.integers(1, 55)}"


@pytest.mark.parametrize("parameters", SETS, ids=str)
def test_any_placement_follows_the_reference(parameters: dict[str, Any]) -> None:
    """Crowds that never come up in play: pawns on any rank, kings in check out of turn, or none, or many."""
    rng = np.random.default_rng(7)
    played = Played(games=200, seed=5, **parameters)
    fens = [random_fen(rng, not played.reference.king_capture) for _ in range(played.games)]
    played.play(fens, limit=3)
    assert played.ends["won"] + played.ends["draw"] >= 5


# -- Pgx --------------------------------------------------------------------------------------------------


class Seen(NamedTuple):
    """What is compared of a batch of Pgx's boards."""

    mask: np.ndarray
    view: np.ndarray  # as far as ours goes: the pieces, Black to move, occurred before
    terminated: np.ndarray
    rewards: np.ndarray
    plies: np.ndarray


@functools.cache
def pgx_compiled() -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """Boards at the start, what is seen of them, and a step after which some begin again. States stay on the device."""
    env: Any = pgx.make("gardner_chess")

    def start(key: jax.Array) -> Any:
        return env.init(key).replace(current_player=jnp.int32(0))  # Pgx draws who plays White

    def look(state: Any) -> Seen:
        view = state.observation[..., np.array([*range(12), 112, 13])] > 0
        return Seen(state.legal_action_mask, view, state.terminated, state.rewards, state._step_count)

    step = jax.jit(jax.vmap(env.step), compiler_options={"xla_backend_optimization_level": 3})  # long to run, if not
    return jax.jit(jax.vmap(start)), jax.jit(jax.vmap(look)), step


@jax.jit
def restarted(which: jax.Array, fresh: Any, states: Any) -> Any:
    """A batch with some of its boards at the start again."""
    return jax.vmap(lambda again, new, old: jax.tree.map(lambda n, o: jnp.where(again, n, o), new, old))(
        which, fresh, states
    )


def play_beside_pgx(games: int, boards: int, seed: int) -> Counter[str]:
    """Plays so many games on so many boards, comparing all the way; returns how they ended."""
    rng = np.random.default_rng(seed)
    env = jaxgames.make("minichess")
    look, step = compiled(env)
    pgx_start, pgx_look, pgx_step = pgx_compiled()
    fresh = batch([env.init(jax.random.key(0))] * boards), pgx_start(jax.random.split(jax.random.key(0), boards))
    ours, theirs = fresh
    ends: Counter[str] = Counter()
    started, live = boards, np.ones(boards, bool)
    while live.any():
        masks, views, *_ = jax.device_get(look(ours))
        seen = jax.device_get(pgx_look(theirs))
        np.testing.assert_array_equal(masks[live], seen.mask[live])
        np.testing.assert_array_equal(views[live][..., :14], seen.view[live])
        actions = at_random(rng, masks)
        wrong = live & (rng.random(boards) < 0.0003)
        actions[wrong] = at_random(rng, ~masks)[wrong]
        ours, theirs = jax.device_get(step(ours, actions)), pgx_step(theirs, actions)
        seen = jax.device_get(pgx_look(theirs))
        over = ours.terminated | ours.truncated
        np.testing.assert_array_equal(over[live], seen.terminated[live])
        # Pgx calls a game terminated that the limit of plies cut off.
        np.testing.assert_array_equal(seen.plies[live & ours.truncated], env.max_steps)
        np.testing.assert_array_equal(ours.rewards[live], seen.rewards[live])
        again = np.zeros(boards, bool)
        for i in np.flatnonzero(live & over):
            won = "White" if ours.rewards[i, 0] > 0 else "Black"
            end = "truncated" if ours.truncated[i] else won if ours.rewards[i].any() else "draw"
            ends["illegal" if wrong[i] else end] += 1
            live[i] = again[i] = started < games
            started += int(again[i])
        if again.any():
            ours, theirs = restarted(again, fresh[0], ours), restarted(again, fresh[1], theirs)
    return ends


def test_pgx_agrees_on_whole_games() -> None:
    """Actions, legal moves, views, rewards and ends, with illegal actions and finished boards among them."""
    ends = play_beside_pgx(games=200, boards=200, seed=0)
    assert ends.total() == 200
    assert ends["White"] + ends["Black"] >= 20
    assert ends["draw"] >= 100
    assert ends["illegal"] >= 1


@pytest.mark.slow
def test_pgx_agrees_on_ten_thousand_games() -> None:
    """And random players do as well as is known: White wins 13.0 %, Black 13.7 %, the rest are draws."""
    ends = play_beside_pgx(games=10_000, boards=512, seed=1)
    played = 10_000 - ends["illegal"]
    assert ends["truncated"]
    assert abs(ends["White"] / played - 0.130) < 0.015
    assert abs(ends["Black"] / played - 0.137) < 0.015


# -- Fairy-Stockfish --------------------------------------------------------------------------------------


# Fairy-Stockfish knows no rule of this name, but pieces whose loss loses: a king that is a common piece of that kind.
pyffish.load_variant_config("""
[kingcapture:gardner]
king = -
commoner = k
extinctionValue = loss
extinctionPieceTypes = k
stalemateValue = draw
nMoveRule = 0
nFoldRule = 0
""")
VARIANTS = {"standard": "gardner", "king_capture": "kingcapture"}


def play_beside_pyffish(rules: str, games: int, share: float, seed: int) -> Counter[str]:
    """Plays whole games and asks pyffish about a share of the positions, and about every end."""
    rng = np.random.default_rng(seed)
    env, variant = jaxgames.make("minichess", rules=rules, max_plies=1000), VARIANTS[rules]
    look, step = compiled(env)
    states = batch([env.init(jax.random.key(0))] * games)
    moves: list[list[str]] = [[] for _ in range(games)]
    ends: Counter[str] = Counter()
    live = np.ones(games, bool)
    while live.any():
        masks = jax.device_get(look(states)[0])
        for i in np.flatnonzero(live & (rng.random(games) < share)):
            state = board(states, i)
            legal = {env.action_to_string(state, int(action)) for action in np.flatnonzero(masks[i])}
            assert legal == set(pyffish.legal_moves(variant, START, moves[i]))
            assert env.to_string(state) == pyffish.get_fen(variant, START, moves[i])
            assert not pyffish.is_optional_game_end(variant, START, moves[i])[0]
            ends["asked"] += 1
        actions = at_random(rng, masks)
        for i in np.flatnonzero(live):
            moves[i].append(env.action_to_string(board(states, i), int(actions[i])))
        states = jax.device_get(step(states, actions))
        for i in np.flatnonzero(live & (states.terminated | states.truncated)):
            live[i] = False
            how = end_of_king_capture(moves[i]) if rules == "king_capture" else end_of_standard(moves[i])
            winner = 1 - states.current_player[i]
            result = [1 if seat == winner else -1 for seat in range(2)] if how in ("mate", "captured") else [0, 0]
            assert states.rewards[i].tolist() == result
            assert states.terminated[i]
            assert not states.truncated[i]
            ends[how] += 1
    return ends


def end_of_standard(moves: list[str]) -> str:
    """How a game has ended that pyffish holds to be over, too."""
    stuck = not pyffish.legal_moves("gardner", START, moves)
    mate = stuck and pyffish.gives_check("gardner", START, moves)
    dead = pyffish.has_insufficient_material("gardner", START, moves) == (True, True)
    drawn, value = pyffish.is_optional_game_end("gardner", START, moves)
    assert stuck or dead or (drawn and value == 0)
    return "mate" if mate else "stalemate" if stuck else "dead" if dead else "drawn"


def end_of_king_capture(moves: list[str]) -> str:
    """The same; there is no draw but for want of a move."""
    assert not pyffish.legal_moves("kingcapture", START, moves)
    captured, value = pyffish.is_immediate_game_end("kingcapture", START, moves)
    assert captured == (value < 0)
    return "captured" if captured else "stalemate"


def test_pyffish_agrees_on_a_sample_of_positions_and_on_ends() -> None:
    ends = play_beside_pyffish("standard", games=60, share=0.12, seed=0)
    assert ends["asked"] >= 300
    assert ends["mate"] >= 8
    assert ends["stalemate"]
    assert ends["dead"]
    assert ends["drawn"]


@pytest.mark.slow
def test_pyffish_agrees_on_every_position_of_whole_games() -> None:
    """As many games as a minute allows."""
    ends = play_beside_pyffish("standard", games=100, share=1.0, seed=1)
    assert ends["asked"] >= 7_000


def test_pyffish_agrees_on_games_of_king_capture() -> None:
    """Every tenth position of 200 games, and every end."""
    ends = play_beside_pyffish("king_capture", games=200, share=0.1, seed=0)
    assert ends["asked"] >= 500
    assert ends["captured"] >= 190


@pytest.mark.slow
def test_pyffish_agrees_on_ten_thousand_games_of_king_capture() -> None:
    """Every twentieth position, and every end."""
    ends = play_beside_pyffish("king_capture", games=10_000, share=0.05, seed=1)
    assert ends["captured"] >= 9_900
    assert ends["captured"] + ends["stalemate"] == 10_000


# -- counts known from elsewhere ----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rules", "white", "draws", "black", "plies"),
    [("standard", 0.130, 0.733, 0.137, 80.6), ("king_capture", 0.494, 0.001, 0.505, 36.3)],
)
def test_random_players_do_as_well_as_is_known(
    rules: str, white: float, draws: float, black: float, plies: float
) -> None:
    """Over 10,000 games; the standard error of a percentage is 0.5."""
    env = jaxgames.make("minichess", rules=rules)
    games, length = 10_000, env.max_steps or 0

    @jax.jit
    def play(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        def body(carry: Any, key: jax.Array) -> Any:
            states, paid, plies = carry
            masks = jax.vmap(env.legal_action_mask)(states)
            actions = jax.vmap(jaxgames.random_action)(jax.random.split(key, games), masks)
            plies += ~(states.terminated | states.truncated)
            states = jax.vmap(env.step)(states, actions)
            return (states, paid + states.rewards[:, 0], plies), None

        states = jax.vmap(env.init)(jax.random.split(key, games))
        begin = (states, jnp.zeros(games), jnp.zeros(games, jnp.int32))
        return jax.lax.scan(body, begin, jax.random.split(key, length))[0][1:]

    result, played = jax.device_get(play(jax.random.key(0)))
    shares = [(result == 1).mean(), (result == 0).mean(), (result == -1).mean()]
    np.testing.assert_allclose(shares, [white, draws, black], atol=0.02)
    assert abs(played.mean() - plies) < 0.02 * plies
