"""What `make bench` measures: costs in microseconds, and the simulator's speed.

Numbers of one run compare with each other; those of another machine or day do not.
"""
