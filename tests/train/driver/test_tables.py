"""Tables in Markdown."""

import pytest

from train.driver import tables


def test_table_has_a_line_per_row_and_escapes_bars() -> None:
    expected = "| agent | won |\n|---|---|\n| random | 0.5 |\n| a\\|b | 3 |"
    assert tables.markdown(("agent", "won"), [("random", 0.5), ("a|b", 3)]) == expected


def test_padded_table_has_columns_of_equal_width() -> None:
    expected = "| agent  | won |\n|--------|-----|\n| random | 0.5 |\n| a      | 3   |"
    assert tables.markdown(("agent", "won"), [("random", 0.5), ("a", 3)], padded=True) == expected


def test_row_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match=r"2 cells, as the header \['agent', 'won'\] has, not \['random'\]"):
        tables.markdown(("agent", "won"), [("random",)])
