"""One file a game: tables, state, rules, observation, notation."""
