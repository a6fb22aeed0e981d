"""The tests; folders mirror the rooms of `src/quorumcast`."""
