"""The study of Adhikari and Gu 2024 (arXiv:2405.18733), figure by figure; docs/papers/parameter_sharing.md.

    __main__           three ways of sharing parameters                              Figure 2
    sweeps             the entropy weight                                            Figure 5
                       numbers of seats, schemes of rewards, a star with chance and one
                       with unequal seats, variants that need fewer turns    sections 3.1.8, 4.1, 4.3, 5
    heat_maps          pegs by turn and iteration                                    Figure 3
    head_to_head       the three ways against each other                             Figure 4
    end_boards         last boards on larger stars                                   Figure 6
    blanked_seats      policies that do not see the other seats
    mixed_opponents    opponents between random players and the policy itself       section 4.4
    whole_turns        whole turns of positions beside their submoves                abstract, section 3.1.3
    lone_player        the fewest turns alone                                        section 4.1
    traditional        stars of size 3 and 4
    turn_search        the agent `race`, which searches its own turns

Shared by them: `study` (its settings, figures and curves, and the table of Figure 2), `runs` (training with games
against random players after every iteration), `running_sums` and `separate_encoders` (rewards and network of the
published code), `chance_moves` and `unequal_seats` (the other games).
"""
