"""The alpha-beta search of checkers and minichess, and what all players on the host share.

Public: `agent.make`, which makes the agent `alphabeta`.
"""
