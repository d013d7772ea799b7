"""Pure functions of arrays that learners are made of, and how arrays lie on devices."""
