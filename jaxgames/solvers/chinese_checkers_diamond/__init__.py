"""The exact solution of Chinese Checkers on the diamond."""
