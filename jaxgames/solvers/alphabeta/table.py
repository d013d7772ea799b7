"""The transposition tables of the alpha-beta searches, on arrays of words.

An entry of a search to a limited depth has three words: two hold the whole position, so no two positions are confused.
The third packs the generation of the entry, its value, what the value is (EXACT, LOWER or UPPER), the remaining depth
and the best action. A win or a loss is stored by its distance from the position, not from the root. An entry is used
at the same remaining depth only, and only in the search that has stored it: each search has its generation.

An entry of a search to the end of the game has two words: the key of a position, and bounds of its value. The bounds
of a key are in one of `ways` neighbouring entries.
"""

from jaxgames.solvers.alphabeta.compiled import Ints, compiled

MAX_DEPTH = 64
WIN = 100_000  # a win at the root
MIN_WIN_VALUE = WIN - 1_000  # above every evaluation, at most the value of every win
MINUS_INFINITY = -2 * WIN

ENTRY_WORDS = 3
EXACT, LOWER, UPPER = 0, 1, 2  # what the value of an entry is

# Numbers of values of the parts of an entry's third word, the lowest part last.
GENERATION_RADIX = 1 << 22
VALUE_RADIX = 1 << 19
BOUND_RADIX = 4
DEPTH_RADIX = 128
ACTION_RADIX = 2048

BOUNDS_WORDS = 2
BOUNDS_OFFSET = 128  # makes a bound a positive number of one byte


@compiled
def clear(table: Ints) -> None:
    """Makes a table empty."""
    for place in range(len(table)):
        table[place] = 0


# -- entries of a search to a limited depth ----------------------------------------------------------------------------


@compiled
def slot_of(table: Ints, first_word: int, second_word: int) -> int:
    """Returns the place of the entry of a position."""
    key = (first_word ^ second_word * 0x1C69B3F74AC4AE35) * 0x1E3779B97F4A7C15 >> 32
    return ENTRY_WORDS * (key & (len(table) // ENTRY_WORDS - 1))


@compiled
def probe(table: Ints, slot: int, first_word: int, second_word: int, generation: int) -> int:
    """Returns the third word of the entry at a place; -1 if it has another position or another generation."""
    entry = table[slot + 2]
    if (
        table[slot] == first_word
        and table[slot + 1] == second_word
        and entry // (VALUE_RADIX * BOUND_RADIX * DEPTH_RADIX * ACTION_RADIX) == generation
    ):
        return entry
    return -1


@compiled
def action_in(entry: int) -> int:
    """Returns the best action of an entry."""
    return entry % ACTION_RADIX


@compiled
def value_in(entry: int, plies: int) -> int:
    """Returns the value of an entry, for a position that is some plies from the root."""
    return from_table_value(entry // (ACTION_RADIX * DEPTH_RADIX * BOUND_RADIX) % VALUE_RADIX - VALUE_RADIX // 2, plies)


@compiled
def causes_cutoff(entry: int, plies: int, depth: int, alpha: int, beta: int) -> bool:
    """Returns whether the value of an entry replaces a search at a remaining depth within a window."""
    if entry // ACTION_RADIX % DEPTH_RADIX != depth:
        return False
    bound, value = entry // (ACTION_RADIX * DEPTH_RADIX) % BOUND_RADIX, value_in(entry, plies)
    return bound == EXACT or (bound == LOWER and value >= beta) or (bound == UPPER and value <= alpha)


@compiled
def pack_entry(generation: int, value: int, plies: int, alpha: int, beta: int, depth: int, action: int) -> int:
    """Returns the third word of an entry; `value` is the mover's, by a search within the window (alpha, beta)."""
    bound = LOWER if value >= beta else UPPER if value <= alpha else EXACT
    entry = generation * VALUE_RADIX + to_table_value(value, plies) + VALUE_RADIX // 2
    return ((entry * BOUND_RADIX + bound) * DEPTH_RADIX + depth) * ACTION_RADIX + action


@compiled
def to_table_value(value: int, plies: int) -> int:
    """Returns a value with wins and losses by their distance from the position, which is some plies from the root."""
    if value >= MIN_WIN_VALUE:
        return value + plies
    return value - plies if value <= -MIN_WIN_VALUE else value


@compiled
def from_table_value(value: int, plies: int) -> int:
    """Returns a value with wins and losses by their distance from the root, the inverse of `to_table_value`."""
    if value >= MIN_WIN_VALUE:
        return value - plies
    return value + plies if value <= -MIN_WIN_VALUE else value


# -- entries of a search to the end ------------------------------------------------------------------------------------


@compiled
def bounds_slot(table: Ints, key: int, ways: int) -> int:
    """Returns the place of the first of the entries in which the bounds of a key can be."""
    mixed = key * 0x1E3779B97F4A7C15 >> 30  # its low bits depend on all bits of the key
    return BOUNDS_WORDS * (mixed & (len(table) // BOUNDS_WORDS - ways))


@compiled
def probe_bounds(table: Ints, slot: int, ways: int, key: int) -> int:
    """Returns the packed bounds of a key, or 0; see `lower_in` and `upper_in`."""
    for place in range(slot, slot + BOUNDS_WORDS * ways, BOUNDS_WORDS):
        if table[place] == key:
            return table[place + 1]
    return 0


@compiled
def lower_in(bounds: int) -> int:
    """Returns the lower bound."""
    return (bounds & 255) - BOUNDS_OFFSET


@compiled
def upper_in(bounds: int) -> int:
    """Returns the upper bound."""
    return (bounds >> 8 & 255) - BOUNDS_OFFSET


@compiled
def store_bounds(table: Ints, slot: int, ways: int, key: int, lower: int, upper: int, work: int) -> int:
    """Stores the bounds of a key, from -127 to 127; returns 1 if that takes an empty entry, otherwise 0.

    A new key takes an empty entry if there is one, otherwise the entry with the least `work`, a number of at least 0.
    """
    replaced, least = slot, -1
    for place in range(slot, slot + BOUNDS_WORDS * ways, BOUNDS_WORDS):
        if table[place + 1] == 0 or table[place] == key:
            replaced = place
            break
        stored = table[place + 1] >> 16
        if least < 0 or stored < least:
            replaced, least = place, stored
    is_empty = table[replaced + 1] == 0
    table[replaced] = key
    table[replaced + 1] = lower + BOUNDS_OFFSET | upper + BOUNDS_OFFSET << 8 | work << 16
    return 1 if is_empty else 0
