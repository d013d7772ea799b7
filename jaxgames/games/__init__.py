"""One file per game: state, rules, outcome, observation, notation; `<game>_board.py` holds geometry."""
