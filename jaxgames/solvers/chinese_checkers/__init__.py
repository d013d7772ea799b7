"""The shortest game of a lone player on the star: the module and command `lone_player`."""
