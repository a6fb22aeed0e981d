"""Broadcast protocols: how replicas agree on what stands at each position of a stream.

`stream` is the engine of `ab`, `bracha` and `plain`; `registry` says what each promises. May import
`core`, `auth` and `wire`. No I/O, no clock, no randomness.
"""
