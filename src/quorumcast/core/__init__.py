"""The vocabulary of everything else: ids, thresholds, messages, records, machines, limits, errors.

Nothing else of Quorumcast may be imported here. No I/O, no clock, no randomness.
"""
