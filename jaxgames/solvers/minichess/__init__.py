"""The alpha-beta player of minichess."""
