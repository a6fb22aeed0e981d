"""Known bugs, seeded one at a time: the tests must see each of them.

A mutant replaces one named function by a version with a mistake that a published system made, or
that this project's rules warn of. `make mutants` runs them all and prints which test sees which;
`docs/mutants.md` has the same table, and a test compares the two.
"""
