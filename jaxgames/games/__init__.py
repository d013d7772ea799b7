"""One file per game: state, rules, outcome, observation, notation. `<game>_<part>.py` has its board or its files."""
