"""The alpha-beta search that all players on the host share, and the agent `alphabeta`."""
