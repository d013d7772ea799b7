"""The shortest game of a lone player on the star."""
