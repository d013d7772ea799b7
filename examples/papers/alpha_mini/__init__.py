"""The experiments of Sun and Tan 2021 on minichess (arXiv:2112.13666), a module per figure or table.

    random_games           White's share of games between two random players, by rules      section 5.1.1
    discounts              win rates by gamma and lambda                                    Table 1
    win_rates              one network as White and as Black, two rules                     section 7
    pretraining            training with and without pretrained values                      Figures 2a, 2b
    policy_improvement     new agents against the last ones, or against all earlier ones    Figures 1, 3, 4
    placements             games from random legal placements                               sections 6.1.2, 7
    sampling               how much a policy explores, and its best moves                   section 2.2

docs/papers/alpha_mini.md has the results.
"""
