"""Experiments on real clusters: what runs through them, what goes wrong in them, what is measured.

Everything below may be imported here; only `cli` may import from here. What is measured is what
users see: publications by what `publish` and `subscribe` told their callers, replicas by their own
statements.

- `playground`: a cluster of processes in a folder that is gone afterwards
- `probes`: readings of this host; `load`: a generator of bursts
- `outages`: when which replica is killed and comes back
- `ledger`: what was published against what was delivered; `meter`: rates, latencies, votes
- `showcase`: all of it at once, as `quorumcast demo` shows it; `summary`: what came of it
"""
