"""The three-move ballots of checkers: openings that tournaments draw, so that games do not all begin alike.

Three plies from the start can be played in 302 ways, which lead to 216 positions. In 42 of these positions, one side
soon loses a man for nothing. The other 174 are the ballots, each written with one of the ways that lead to it.

Of the 174, tournaments of the American Checker Federation draw 156; the others are believed to be lost.

Source of the list: Ed Gilbert's ballots for KingsRow, as pydraughts 0.6.7 has them. The test derives the 174 positions
again, by a search for material.
"""

# Each line has the first two moves, and then every third move that makes a ballot, in PDN numbers.
_BALLOTS = """
9-13 21-17: 5-9 6-9 10-14
9-13 22-17: 13x22
9-13 22-18: 6-9 10-14 10-15 11-15 11-16 12-16
9-13 23-18: 5-9 6-9 10-14 10-15 11-15 11-16 12-16
9-13 23-19: 5-9 6-9 10-14 10-15 11-16
9-13 24-19: 5-9 6-9 10-14 10-15 11-15 11-16
9-13 24-20: 5-9 6-9 10-14 10-15 11-15 11-16 12-16
9-14 22-17: 5-9 6-9 11-15 11-16
9-14 22-18: 5-9 10-15 11-15 11-16 12-16 14-17
9-14 23-18: 14x23
9-14 23-19: 5-9 10-15 11-16 14-18
9-14 24-19: 5-9 10-15 11-15 11-16
9-14 24-20: 5-9 10-15 11-15 11-16
10-14 22-17: 7-10 9-13 11-15 11-16 14-18
10-14 22-18: 6-10 7-10 11-15 11-16 12-16
10-14 23-18: 14x23
10-14 23-19: 6-10 7-10 11-15 11-16 14-18
10-14 24-19: 6-10 7-10 11-15 11-16 14-18
10-14 24-20: 6-10 7-10 11-15 11-16 14-18
10-15 21-17: 6-10 7-10 9-13 9-14 11-16 15-18
10-15 22-17: 6-10 7-10 9-13 9-14 11-16 15-19
10-15 22-18: 15x22
10-15 23-18: 6-10 7-10 9-14 11-16 12-16
10-15 23-19: 6-10 7-10 11-16
10-15 24-19: 15x24
10-15 24-20: 6-10 7-10 11-16 15-19
11-15 21-17: 8-11 9-13 9-14 10-14 15-19
11-15 22-17: 8-11 9-13 15-18 15-19
11-15 22-18: 15x22
11-15 23-18: 8-11 9-14 10-14 12-16 15-19
11-15 23-19: 8-11 9-13 9-14
11-15 24-19: 15x24
11-15 24-20: 8-11 12-16 15-18
11-16 21-17: 7-11 8-11 9-13 9-14 10-14 16-20
11-16 22-17: 7-11 8-11 9-13 16-20
11-16 22-18: 7-11 8-11 10-15 16-19 16-20
11-16 23-18: 7-11 8-11 9-14 10-14 16-20
11-16 23-19: 16x23
11-16 24-19: 7-11 8-11 10-15 16-20
11-16 24-20: 7-11 16-19
12-16 21-17: 9-13 9-14 16-19 16-20
12-16 22-17: 16-19 16-20
12-16 22-18: 16-19 16-20
12-16 23-18: 9-14 16-19 16-20
12-16 23-19: 16x23
12-16 24-19: 16-20
12-16 24-20: 8-12 10-15
"""


def three_move_ballots() -> tuple[str, ...]:
    """Returns the 174 ballots as moves that `Checkers.action_from_string` reads, such as "9-13 21-17 5-9"."""
    lines = [line.split(": ") for line in _BALLOTS.split("\n") if line]
    return tuple(f"{begin} {third}" for begin, thirds in lines for third in thirds.split())
