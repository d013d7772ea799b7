"""The alpha-beta search that all players on the host share. Public: `agent.make`, which makes the agent `alphabeta`."""
