"""The experiments of Sun and Tan 2021 on minichess (arXiv:2112.13666), a module each; docs/papers/alpha_mini.md."""
