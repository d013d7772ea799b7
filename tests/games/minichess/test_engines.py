"""Random games beside engines that share no code with ours: Pgx's `gardner_chess`, and pyffish (Fairy-Stockfish)."""

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pgx
import pyffish
import pytest

import jaxgames
from tests.games.minichess.cases import START
from tests.games.minichess.pictures import STANDARD
from tests.helpers.positions import batched, board, random_actions, repeated, start

BOARDS = 25  # of the fast tests: one batch size to compile for

# -- Pgx --------------------------------------------------------------------------------------------------


class Seen(NamedTuple):
    """Returns the compared parts of a batch of Pgx's boards."""

    mask: np.ndarray
    observation: np.ndarray  # the planes that ours has too: the pieces, Black to move, occurred before
    terminated: np.ndarray
    rewards: np.ndarray
    plies: np.ndarray


@functools.cache
def pgx_compiled() -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """Boards at the start, what is seen of them, and a step. Pgx's states stay on the device: they are large."""
    env: Any = pgx.make("gardner_chess")

    def begin(key: jax.Array) -> Any:
        return env.init(key).replace(current_player=jnp.int32(0))  # Pgx draws who plays White

    def look(state: Any) -> Seen:
        planes = state.observation[..., np.array([*range(12), 112, 13])] > 0
        return Seen(state.legal_action_mask, planes, state.terminated, state.rewards, state._step_count)

    step = jax.jit(jax.vmap(env.step), compiler_options={"xla_backend_optimization_level": 3})  # long to run, if not
    return jax.jit(jax.vmap(begin)), jax.jit(jax.vmap(look)), step


@jax.jit
def restarted(which: jax.Array, fresh: Any, states: Any) -> Any:
    """A batch with some of its boards at the start again."""
    return jax.vmap(lambda again, new, old: jax.tree.map(lambda n, o: jnp.where(again, n, o), new, old))(
        which, fresh, states
    )


def play_beside_pgx(games: int, boards: int, seed: int) -> Counter[str]:
    """Plays and compares `games` games, `boards` at a time; returns how they ended."""
    rng = np.random.default_rng(seed)
    step, _, look = batched(STANDARD)
    pgx_start, pgx_look, pgx_step = pgx_compiled()
    fresh = repeated(start(STANDARD), boards), pgx_start(jax.random.split(jax.random.key(0), boards))
    ours, theirs = fresh
    seen = jax.device_get(pgx_look(theirs))
    ends: Counter[str] = Counter()
    started, live = boards, np.ones(boards, bool)
    while live.any():
        masks, observations, _ = jax.device_get(look(ours))
        np.testing.assert_array_equal(masks[live], seen.mask[live])
        np.testing.assert_array_equal(observations[live][..., :14], seen.observation[live])
        actions = random_actions(rng, masks)
        wrong = live & (rng.random(boards) < 0.001)
        actions[wrong] = random_actions(rng, ~masks)[wrong]
        ours, theirs = jax.device_get(step(ours, actions)), pgx_step(theirs, actions)
        seen = jax.device_get(pgx_look(theirs))
        over = ours.terminated | ours.truncated
        np.testing.assert_array_equal(over[live], seen.terminated[live])
        # Pgx calls a game terminated that the limit of plies truncated.
        np.testing.assert_array_equal(seen.plies[live & ours.truncated], STANDARD.max_steps)
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
            seen = jax.device_get(pgx_look(theirs))
    return ends


@pytest.mark.slow  # Pgx takes long to compile; pyffish and the reference play whole games too
def test_pgx_agrees_on_whole_games() -> None:
    """Actions, legal moves, observations, rewards and ends, with illegal actions and finished boards among them."""
    ends = play_beside_pgx(games=2 * BOARDS, boards=2 * BOARDS, seed=0)
    assert ends.total() == 2 * BOARDS
    assert ends["White"] + ends["Black"] >= 5
    assert ends["draw"] >= 25
    assert ends["illegal"] >= 1


@pytest.mark.slow
def test_pgx_agrees_on_ten_thousand_games() -> None:
    """Random players also do as well as is known: White wins 13.0 %, Black 13.7 %, the rest are draws."""
    ends = play_beside_pgx(games=10_000, boards=512, seed=1)
    played = 10_000 - ends["illegal"]
    assert ends["truncated"]
    assert abs(ends["White"] / played - 0.130) < 0.015
    assert abs(ends["Black"] / played - 0.137) < 0.015


# -- Fairy-Stockfish --------------------------------------------------------------------------------------

# Fairy-Stockfish has no rule of this name, but pieces whose loss loses: a king that is a common piece of that kind.
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
    env, variant = jaxgames.make("minichess", rules=rules), VARIANTS[rules]
    step, mask, _ = batched(env)
    states = repeated(start(env), games)
    moves: list[list[str]] = [[] for _ in range(games)]
    ends: Counter[str] = Counter()
    live = np.ones(games, bool)
    while live.any():
        masks = np.asarray(mask(states))
        for i in np.flatnonzero(live & (rng.random(games) < share)):
            state = board(states, i)
            legal = {env.action_to_string(state, int(action)) for action in np.flatnonzero(masks[i])}
            assert legal == set(pyffish.legal_moves(variant, START, moves[i]))
            ends["asked"] += 1
            if ends["asked"] % 3 == 0:
                assert env.to_string(state) == pyffish.get_fen(variant, START, moves[i])
                assert not pyffish.is_optional_game_end(variant, START, moves[i])[0]
        actions = random_actions(rng, masks)
        for i in np.flatnonzero(live):
            moves[i].append(env.action_to_string(board(states, i), int(actions[i])))
        states = jax.device_get(step(states, actions))
        ends["truncated"] += int((live & states.truncated).sum())
        live &= ~states.truncated
        for i in np.flatnonzero(live & states.terminated):
            live[i] = False
            end = end_of_king_capture(moves[i]) if rules == "king_capture" else end_of_standard(moves[i])
            winner = 1 - states.current_player[i]
            result = [1 if seat == winner else -1 for seat in range(2)] if end in ("mate", "captured") else [0, 0]
            assert states.rewards[i].tolist() == result
            ends[end] += 1
    return ends


def end_of_standard(moves: list[str]) -> str:
    """Returns the kind of end that pyffish finds. The game must be over for pyffish too."""
    stuck = not pyffish.legal_moves("gardner", START, moves)
    mate = stuck and pyffish.gives_check("gardner", START, moves)
    dead = pyffish.has_insufficient_material("gardner", START, moves) == (True, True)
    drawn, value = pyffish.is_optional_game_end("gardner", START, moves)
    assert stuck or dead or (drawn and value == 0)
    return "mate" if mate else "stalemate" if stuck else "dead" if dead else "drawn"


def end_of_king_capture(moves: list[str]) -> str:
    """The same; only a player without a move draws."""
    assert not pyffish.legal_moves("kingcapture", START, moves)
    captured, value = pyffish.is_immediate_game_end("kingcapture", START, moves)
    assert captured == (value < 0)
    return "captured" if captured else "stalemate"


def test_pyffish_agrees_on_a_sample_of_positions_and_on_ends() -> None:
    ends = play_beside_pyffish("standard", games=BOARDS, share=0.05, seed=0)
    assert ends["asked"] >= 75
    assert ends["mate"] >= 5
    assert ends["stalemate"]
    assert ends["dead"]
    assert ends["drawn"]


@pytest.mark.slow
def test_pyffish_agrees_on_every_position_of_whole_games() -> None:
    ends = play_beside_pyffish("standard", games=100, share=1.0, seed=1)
    assert ends["asked"] >= 7_000


def test_pyffish_agrees_on_games_of_king_capture() -> None:
    """Every tenth position of 25 games, and every end."""
    ends = play_beside_pyffish("king_capture", games=BOARDS, share=0.1, seed=0)
    assert ends["asked"] >= 60
    assert ends["captured"] >= 23


@pytest.mark.slow
def test_pyffish_agrees_on_ten_thousand_games_of_king_capture() -> None:
    """Every twentieth position, and every end."""
    ends = play_beside_pyffish("king_capture", games=10_000, share=0.05, seed=1)
    assert ends["captured"] >= 9_900
    assert ends["captured"] + ends["stalemate"] + ends["truncated"] == 10_000


# -- results known from elsewhere ---------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rules", "white", "draws", "black", "plies"),
    [("standard", 0.130, 0.733, 0.137, 80.6), ("king_capture", 0.494, 0.001, 0.505, 36.3)],
)
def test_random_players_have_the_known_results(
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
