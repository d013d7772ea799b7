"""Material that cannot mate, in words, against the slow reference."""

from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgames.games.minichess.search_moves import Pieces, cannot_mate
from tests.games.minichess.reference import is_dead

LETTERS = "pnbrqk"  # kinds 1 to 6


@settings(max_examples=200, deadline=None, database=None)
@given(
    cells=st.permutations(range(25)),
    kinds=st.lists(st.sampled_from("bbbbn"), max_size=4) | st.lists(st.sampled_from("pnbrq"), max_size=2),
)
def test_material_cannot_mate_if_the_reference_says_so(cells: list[int], kinds: list[str]) -> None:
    """Bishops stand on cells of one colour in about half of the boards that have two."""
    pieces = dict(zip(cells, ["k", "k", *kinds], strict=False))
    bits = (sum(1 << cell for cell, letter in pieces.items() if (LETTERS.index(letter) + 1) & bit) for bit in (1, 2, 4))
    assert cannot_mate(Pieces(0, *bits)) == is_dead({divmod(cell, 5): letter for cell, letter in pieces.items()})
