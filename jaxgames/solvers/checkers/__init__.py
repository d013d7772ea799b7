"""The alpha-beta player of checkers."""
