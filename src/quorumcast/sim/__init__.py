"""The deterministic world: machines, network, disks, clocks, adversaries and checkers, one seed.

Everything below may be imported here; nothing but `api`, `lab`, `spark`, `console` and `cli` may
import from here. Nothing in this room reads the computer's clock or draws randomness of its own:
the same scenario with the same seed gives the same transcript, on every machine.
"""
