"""Machines as processes: connections, timers, key files, settings, the drivers on an event loop.

Everything below may be imported here, and `store` and `sim` beside it; nothing but `api`, `lab`,
`spark`, `console` and `cli` may import from here. This is where time, entropy, sockets and files
come in. The machines decide what is said and stored; what is here carries it out, in the order
that `core.machine` states.

- `driver`: one machine on one event loop
- `link`: one authenticated connection; `outbox`: what waits to be written on all of them
- `listening`, `dialling`: where links come from
- `addresses`, `bounds`: where a party is found, and what strangers may make us hold
"""
