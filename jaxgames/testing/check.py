"""Positions and random games, in batches, of which every board is checked; first come the checks of `static`."""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._checks import check_int
from jaxgames.env import Env, Outcome, State
from jaxgames.testing import static
from jaxgames.testing.static import must_return, require

STEPS_BETWEEN_TEXTS = 5  # checks of notation and outcome are slow: they go board by board
STEPS_BETWEEN_SINGLE_BOARDS = 50
SINGLE_BOARDS = 4  # boards of a batch that are compared with the same boards stepped alone

ILLEGAL_ACTION = (
    "an illegal action must end a live board, pay -1 to the mover and 1 / (num_players - 1) to the others and leave "
    "the rest as it was; on a finished board any action must change nothing and pay zero"
)
NO_WINNERS = "winners must be all False on a live, truncated or forfeited board"


def check_env(
    env: Env[Any], *, positions: Sequence[str | State] = (), games: int = 32, steps: int = 200, seed: int = 0
) -> None:
    """Plays `games` random games for up to `steps` steps each and checks that `env` keeps the contract.

    It checks, on all boards of the games and on `positions`, that:

    - the env is hashable, static under `jit`, and equal to the env that `make` returns for its text;
    - shapes and dtypes are as stated, and every function is traced once;
    - the mask of a live board is never empty; rewards, seats and lengths are within the stated bounds;
    - an illegal action, also one out of range, ends a game and pays the penalty; a finished board does not change;
    - only a game that the rules ended has winners, and the outcome has the right kind and a reason;
    - observations are False outside their support, and the default observation is that of the mover's seat;
    - an action that a game draws in a way of its own is legal;
    - texts are read back to the same positions and actions, and wrong texts raise ValueError; a won game is read as
      won, unless its end comes from a counter that its text does not hold;
    - a batch under `vmap` gives the same results as a loop.

    Args:
      env: the game. The games of an `auto_reset` env never end; pass the env inside instead.
      positions: boards that random play hardly reaches, as texts or as states that legal play led to.
      games: the number of boards that are played at once.
      steps: the largest number of steps.
      seed: the seed of the random play.

    Raises:
      AssertionError: the env breaks the contract; the message has the broken rule.
    """
    check_int("games", games, 1, 2**20)
    check_int("steps", steps, 1, 2**20)
    static.check_values(env)
    static.check_shapes(env)
    programs, rng = _Programs(env), np.random.default_rng(seed)
    for boards in _boards_of(programs, positions, games):
        _check_boards(programs, boards, rng)
        _check_texts(programs, boards, np.ones(games, np.bool_))
        _check_step_and_mask_agree(programs, boards, np.flatnonzero(~boards.over))
        _check_single_boards(programs, boards, rng)
    written = np.zeros(games, np.bool_)  # finished boards whose texts have been checked
    for number, boards in enumerate(_random_play(programs, games, steps, rng)):
        _check_boards(programs, boards, rng)
        if number % STEPS_BETWEEN_TEXTS == 0 or boards.over.all():
            _check_texts(programs, boards, ~written)
            _check_step_and_mask_agree(programs, boards, rng.permutation(np.flatnonzero(~boards.over))[:1])
            written |= boards.over
        if number % STEPS_BETWEEN_SINGLE_BOARDS == 0:
            _check_single_boards(programs, boards, rng)
    _check_wrong_texts(env)
    for function, traces in programs.traces.items():
        require(traces == 2, f"{function} must be traced once alone and once under vmap, not {traces} times in all")


# -- boards --------------------------------------------------------------------------------------------


class _Programs:
    """The env's functions, compiled for one board (`step_one`, `look_one`) and for a batch; counts their traces."""

    def __init__(self, env: Env[Any]) -> None:
        self.env = env
        self.traces = {"step": 0, "legal_action_mask, observe and winners": 0}
        self.step_one, self.look_one = jax.jit(self._step), jax.jit(self._look)
        self.step, self.look = jax.jit(jax.vmap(self._step)), jax.jit(jax.vmap(self._look))
        self.draw = jax.jit(jax.vmap(env.random_legal_action))
        self.is_legal = jax.jit(jax.vmap(env._is_legal, (None, 0)))  # pyright: ignore[reportPrivateUsage]  # called by `step`

    def _step(self, state: Any, action: jax.Array, key: jax.Array) -> Any:
        self.traces["step"] += 1
        return self.env.step(state, action, key)

    def _look(self, state: Any) -> tuple[jax.Array, ...]:
        """Returns the mask, the mover's observation, the observations of all seats and the winners of one board."""
        self.traces["legal_action_mask, observe and winners"] += 1
        seats = jnp.arange(self.env.num_players, dtype=jnp.int32)
        observations = jax.vmap(self.env.observe, in_axes=(None, 0))(state, seats)
        return self.env.legal_action_mask(state), self.env.observe(state), observations, self.env.winners(state)


@dataclass(frozen=True)
class _Boards:
    """A batch of boards in play and what the env returns for them, on the host; all arrays have an axis of games."""

    states: Any
    length: np.ndarray  # int[games], steps played
    keys: jax.Array  # [games], for the next step
    mask: np.ndarray  # bool[games, num_actions]
    mover_observation: np.ndarray  # bool[games, *observation_shape]
    seat_observations: np.ndarray  # bool[games, num_players, *observation_shape]
    winners: np.ndarray  # bool[games, num_players]

    @property
    def over(self) -> np.ndarray:
        """bool[games], whether the game has ended."""
        return self.states.terminated | self.states.truncated

    def state(self, game: int) -> Any:
        return jax.tree.map(lambda leaf: leaf[game], self.states)


def _boards_of(programs: _Programs, positions: Sequence[str | State], games: int) -> Iterator[_Boards]:
    """Yields the boards of positions, `games` at a time."""
    read = [programs.env.from_string(each) if isinstance(each, str) else each for each in positions]
    for begin in range(0, len(positions), games):
        states = _stacked(read[begin : begin + games], games)
        keys = jax.random.split(jax.random.key(begin), games)
        yield _Boards(states, np.zeros(games, np.int64), keys, *map(np.asarray, programs.look(states)))


def _stacked(states: list[Any], games: int) -> Any:
    """Returns a batch of `games` boards, for which the programs are compiled; the first of `states` fills it up."""
    padded = map(_to_host, [*states, *states[:1] * (games - len(states))])
    return jax.tree.map(lambda *leaves: (jnp if _is_key(leaves[0]) else np).stack(leaves), *padded)


def _random_play(programs: _Programs, games: int, steps: int, rng: np.random.Generator) -> Iterator[_Boards]:
    """Yields the boards before each of `steps` random legal steps and after the last; ends when all games are over."""
    keys = jax.random.split(jax.random.key(int(rng.integers(2**31))), (steps + 1, games))
    states = jax.jit(jax.vmap(programs.env.init))(keys[0])
    live = not (states.terminated.any() or states.truncated.any() or states.rewards.any())
    require(live, "init must give a live board with rewards of 0")
    length = np.zeros(games, np.int64)
    for number in range(steps + 1):
        boards = _Boards(_to_host(states), length, keys[number], *map(np.asarray, programs.look(states)))
        yield boards
        if boards.over.all():
            return
        length = length + ~boards.over
        states = programs.step(states, _random_actions(rng, boards.mask), boards.keys)


def _random_actions(rng: np.random.Generator, mask: np.ndarray) -> np.ndarray:
    """Returns int32[games], an action that each mask allows; 0 where there is none."""
    return np.where(mask, rng.random(mask.shape), -1).argmax(-1).astype(np.int32)


def _to_host(tree: Any) -> Any:
    """Returns the same pytree in numpy, except for PRNG keys."""
    return jax.tree.map(lambda leaf: leaf if _is_key(leaf) else np.asarray(leaf), tree)


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _assert_same(found: Any, expected: Any, message: str) -> None:
    """Raises AssertionError, with the message and the leaf, unless two pytrees are equal up to rounding."""
    data = [jax.tree.map(lambda x: jax.random.key_data(x) if _is_key(x) else x, tree) for tree in (found, expected)]
    chex.assert_trees_all_close(*data, rtol=1e-6, custom_message=message)


# -- every board ---------------------------------------------------------------------------------------


def _check_boards(programs: _Programs, boards: _Boards, rng: np.random.Generator) -> None:
    """Checks seats, flags, rewards, masks, winners, lengths, observations, and what illegal actions do."""
    env, s, games = programs.env, boards.states, np.arange(len(boards.length))
    require(((s.current_player >= 0) & (s.current_player < env.num_players)).all(), "current_player must be a seat")
    require(not (s.terminated & s.truncated).any(), "terminated and truncated must not be set together")
    require(boards.mask[~boards.over].any(-1).all(), "the mask of a live board must not be empty")
    require(not boards.mask[boards.over].any(), "the mask of a finished board must be all False")
    require(not boards.winners[~s.terminated].any(), NO_WINNERS)
    low, high = bounds = env.reward_range
    inside = (s.rewards >= low) & (s.rewards <= high)
    require(inside.all(), f"rewards must lie in reward_range {bounds}, not {s.rewards.min()} to {s.rewards.max()}")
    if env.zero_sum:
        worst = np.abs(s.rewards.sum(-1)).max()
        require(worst <= 1e-5, f"zero_sum is True, but a step paid {worst} in all")
    if env.max_steps is not None:
        late = (boards.length > env.max_steps) | (~boards.over & (boards.length >= env.max_steps))
        require(not late.any(), f"a game must be over after max_steps = {env.max_steps} steps")
    same = boards.mover_observation == boards.seat_observations[games, s.current_player]
    require(same.all(), "observe(state) must equal observe(state, current_player)")
    seen = boards.seat_observations.any((0, 1))
    require(not (seen & ~env.observation_support).any(), "an observation must be False off the observation_support")
    _check_draw(programs, boards)
    _check_illegal_actions(programs, boards, rng)


def _check_illegal_actions(programs: _Programs, boards: _Boards, rng: np.random.Generator) -> None:
    """Checks that an illegal action ends a live board and pays the penalty, and that finished boards do not change."""
    env, before = programs.env, boards.states
    games = np.arange(len(boards.length))
    actions = _random_actions(rng, ~boards.mask)
    beyond = rng.choice([-1, -(2**31), env.num_actions, 2**31 - 1], len(games))
    actions = np.where(boards.mask[games, actions] | (rng.random(len(games)) < 0.2), beyond, actions).astype(np.int32)
    after = programs.step(before, actions, boards.keys)
    mask, *_, winners = map(np.asarray, programs.look(after))

    penalty = np.full((len(games), env.num_players), 1 / (env.num_players - 1), np.float32)
    penalty[games, before.current_player] = -1
    paid = np.where(boards.over[:, None], np.float32(0), penalty)
    expected = dataclasses.replace(before, rewards=paid, terminated=before.terminated | ~boards.over)
    _assert_same(after, expected, ILLEGAL_ACTION)
    require(not mask.any(), "the mask must be all False after an illegal action")
    require(not winners[~boards.over].any(), NO_WINNERS)
    require((winners == boards.winners)[boards.over].all(), "a finished board must keep its winners")
    again = programs.step(after, _random_actions(rng, ~mask), boards.keys)
    unpaid = dataclasses.replace(expected, rewards=np.zeros_like(penalty))
    _assert_same(again, unpaid, "a finished board must stay as it is and pay zero, whatever is played on it")


def _check_step_and_mask_agree(programs: _Programs, boards: _Boards, games: np.ndarray) -> None:
    """Checks on live boards that `step` accepts exactly the actions of the mask, one beyond either end included."""
    actions = np.arange(-1, programs.env.num_actions + 1, dtype=np.int32)
    for game in games.tolist():
        legal = np.asarray(programs.is_legal(boards.state(game), actions))
        differ = np.flatnonzero(legal != np.pad(boards.mask[game], 1)) - 1
        require(differ.size == 0, f"step and legal_action_mask must agree, not differ on {differ}")


def _check_draw(programs: _Programs, boards: _Boards) -> None:
    """Checks that actions which a game draws in a way of its own are legal."""
    if type(programs.env.unwrapped)._random_legal_action is not Env._random_legal_action:  # pyright: ignore[reportPrivateUsage]  # of a game
        actions = np.asarray(programs.draw(boards.states, boards.keys))
        legal = boards.mask[np.arange(len(actions)), actions % programs.env.num_actions]
        in_range = (actions >= 0) & (actions < programs.env.num_actions)
        require((boards.over | legal & in_range).all(), "random_legal_action must draw a legal action of a live board")


def _check_single_boards(programs: _Programs, boards: _Boards, rng: np.random.Generator) -> None:
    """Checks that the first few boards give alone what they give in a batch under vmap."""
    actions = _random_actions(rng, boards.mask)
    actions[1::2] = rng.integers(-1, programs.env.num_actions + 1, actions[1::2].shape)  # legal or not
    of_batch = _to_host((programs.step(boards.states, actions, boards.keys), programs.look(boards.states)))
    for game, state in enumerate(map(boards.state, range(min(SINGLE_BOARDS, len(actions))))):
        alone = programs.step_one(state, actions[game], boards.keys[game]), programs.look_one(state)
        expected = jax.tree.map(lambda leaf, game=game: leaf[game], of_batch)
        _assert_same(alone, expected, "a board of a batch under vmap must be what it is alone")


# -- on the host: outcome and notation -----------------------------------------------------------------


def _check_outcomes(env: Env[Any], boards: _Boards, finished: np.ndarray) -> None:
    """Checks that the outcome fits the flags and winners: of `finished` boards, of a live one, and of it forfeited."""
    for game in finished.tolist():
        state, winners = boards.state(game), tuple(np.flatnonzero(boards.winners[game]).tolist())
        kind = "truncated" if state.truncated else "win" if winners else "draw"
        found = must_return("outcome", env.outcome, state)
        same = isinstance(found, Outcome) and (found.kind, found.winners) == (kind, winners)
        require(same, f"outcome must be of kind {kind!r} with the winners {winners}, not {found}")
        sound = isinstance(found.reason, str) and found.reason != "" and "\n" not in found.reason
        require(sound, f"outcome must give a reason of one line, not {found.reason!r}")
    for game in np.flatnonzero(~boards.over)[:1].tolist():
        drawn = must_return("to_text", env.to_text, boards.state(game))
        require(max(map(len, drawn.splitlines())) <= 80, "to_text must draw lines of at most 80 characters")
        state, forfeited = boards.state(game), dataclasses.replace(boards.state(game), terminated=np.True_)
        by_mover = Outcome("forfeit", (), f"illegal action by seat {int(state.current_player)}")
        for board, expected in ((state, Outcome("live", (), "")), (forfeited, by_mover)):
            found = must_return("outcome", env.outcome, board)
            require(found == expected, f"outcome must be {expected}, not {found}")


def _check_texts(programs: _Programs, boards: _Boards, chosen: np.ndarray) -> None:
    """Checks the outcomes of chosen boards, and that their positions and legal actions read back from their texts.

    One live board writes all its legal actions, the others two.
    """
    games = np.flatnonzero(chosen)
    env, states = programs.env, [boards.state(game) for game in games.tolist()]
    _check_outcomes(env, boards, np.flatnonzero(boards.over & chosen))
    over, winners, mask = boards.over[games], boards.winners[games], boards.mask[games]
    for number, state in enumerate(states):
        legal = np.flatnonzero(mask[number])[: None if number == over.argmin() else 2].tolist()
        texts = [must_return("action_to_string", env.action_to_string, state, action) for action in legal]
        require(all(isinstance(text, str) for text in texts), f"action_to_string must give texts, not {texts}")
        require(len(set(texts)) == len(texts), f"legal actions must have different texts, not {texts}")
        back = [must_return(f"action_from_string of {text!r}", env.action_from_string, state, text) for text in texts]
        require(back == legal, f"action_from_string must give {legal} for {texts}, not {back}")

    texts = [must_return("to_string", env.to_string, state) for state in states]
    require(all(isinstance(text, str) for text in texts), f"to_string must give a text, not {texts[0]!r}")
    read = [must_return(f"from_string of {text!r}", env.from_string, text) for text in texts]
    require(all(isinstance(state, State) for state in read), "from_string must return a jaxgames.State")
    decided = boards.states.terminated[games] & (winners | (boards.states.rewards[games] != 0)).any(-1)
    for text, state, finished, won in zip(texts, read, over, decided, strict=True):
        require("\n" not in text, f"the text of a position must be one line, not {text!r}")
        again = must_return("to_string of what from_string returns", env.to_string, state)
        require(finished or again == text, f"from_string must read back what to_string wrote: {text!r}, not {again!r}")
        without_counters = dataclasses.replace(state, terminated=np.True_)  # a game may have ended by one
        seen = state.terminated or not won or env.outcome(without_counters).kind == "forfeit"
        require(seen, f"from_string must see that the game is won in {text!r}")
    alike = "from_string must give a state of the shapes and dtypes that init gives"
    chex.assert_trees_all_equal_shapes_and_dtypes(states[0], *read, custom_message=alike)
    require(not any(getattr(leaf, "weak_type", False) for leaf in jax.tree.leaves(read)), f"{alike}, not weakly typed")

    together = _stacked(read, len(boards.over))
    read_mask, *_, read_winners = (np.asarray(found)[: len(read)] for found in programs.look(together))
    seats = together.current_player[: len(read)]
    same = (read_mask == mask).all(-1) & (seats == boards.states.current_player[games])
    for text, sound in zip(texts, same | over, strict=True):
        require(sound, f"{text!r} must read back with the seat to move and the legal actions that it had")
    for text, state, found, expected in zip(texts, read, read_winners.tolist(), winners.tolist(), strict=True):
        same = found == expected or not state.terminated
        require(same, f"{text!r} must read back with the winners {expected}, not {found}")


def _check_wrong_texts(env: Env[Any]) -> None:
    """Checks that texts and actions without a meaning are refused with ValueError."""
    state = _to_host(env.init(jax.random.key(0)))
    for call, ask in (
        ("from_string('no such position')", lambda: env.from_string("no such position")),
        ("action_from_string(state, 'no such move')", lambda: env.action_from_string(state, "no such move")),
        ("action_to_string(state, -1)", lambda: env.action_to_string(state, -1)),
        ("action_to_string(state, num_actions)", lambda: env.action_to_string(state, env.num_actions)),
    ):
        try:
            answer = ask()
        except ValueError as error:
            require(str(error) != "", f"{call} must say what was expected")
        except Exception as error:
            raise AssertionError(f"{call} must raise ValueError, not {type(error).__name__}: {error}") from error
        else:
            raise AssertionError(f"{env}: {call} must raise ValueError, not give {answer!r}")
