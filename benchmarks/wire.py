"""What encoding, decoding, sealing and opening cost, in microseconds."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from quorumcast.core.ids import Lane, Stream
from quorumcast.core.messages import Held, Message, Publish, ReadyUpTo
from quorumcast.events import Schema, build_event
from quorumcast.wire import Framer, Memo, Opener, Sealer, decode_payload, encode_payload

RUN = 64
BODY = build_event(Schema(), b"x" * 56, timestamp=1)
"""The compact record of one event with a payload of 56 bytes."""

RECEIVERS = 4
KEY = b"k" * 32
STREAM = Stream("alerts", "probe-7", b"s" * 32, Lane.NORMAL)

PUBLISH = Publish(STREAM, 1, (BODY,) * RUN)
SIGNED = Publish(STREAM, 1, (BODY,) * RUN, b"g" * 64 * RUN)
HELD = Held(STREAM, 1, b"d" * 32 * RUN)
READY = ReadyUpTo(STREAM, 12, b"c" * 32)
LARGE = Publish(STREAM, 1, (b"b" * 100_000,))


def cost(action: Callable[[], object], *, rounds: int = 7, seconds: float = 0.02) -> float:
    """Microseconds for one call: the best of some rounds."""
    calls = 1
    while True:
        spent = _spent(action, calls)
        if spent >= seconds:
            break
        calls *= 2
    best = min(spent, *(_spent(action, calls) for _ in range(rounds - 1)))
    return best / calls * 1e6


def _spent(action: Callable[[], object], calls: int) -> float:
    start = perf_counter()
    for _ in range(calls):
        action()
    return perf_counter() - start


def _both(message: Message) -> tuple[Callable[[], object], Callable[[], object]]:
    payload, bodies = encode_payload([message])
    detached = b"".join(bodies)
    return lambda: encode_payload([message]), lambda: decode_payload(payload, detached)


def _to_receivers(shared: bool) -> Callable[[], object]:
    """A turn that says the same to several receivers."""
    sealers = [Sealer(KEY) for _ in range(RECEIVERS)]
    said = [HELD, SIGNED, READY]

    def turn() -> None:
        memo: Memo | None = {} if shared else None
        for sealer in sealers:
            sealer.seal(said, memo)

    return turn


def _open(message: Message) -> Callable[[], object]:
    """Opening alone: a new opener takes the first frame again and again."""
    frame = Sealer(KEY).seal([message])
    return lambda: Opener(KEY).open(frame)


def _feed() -> Callable[[], object]:
    """A read of 64 KiB that begins and ends within a frame."""
    frame = Sealer(KEY).seal([HELD])
    stream = frame * (65_536 // len(frame) + 2)
    framer = Framer()
    place = 0

    def read() -> None:
        nonlocal place
        framer.feed(stream[place : place + 65_536])
        place = (place + 65_536) % len(frame)

    return read


def run() -> list[tuple[str, float]]:
    """Every figure, by what was measured."""
    figures: list[tuple[str, float]] = []
    for name, message, share in (
        (f"a body of {len(BODY)} bytes in a Publish of {RUN}", PUBLISH, RUN),
        (f"the same, signed, in a Publish of {RUN}", SIGNED, RUN),
        (f"a Held of {RUN}", HELD, 1),
        ("a ReadyUpTo", READY, 1),
        ("a body of 100 kB, detached", LARGE, 1),
    ):
        encode, decode = _both(message)
        figures.append((f"wire: encode {name}", cost(encode) / share))
        figures.append((f"wire: decode {name}", cost(decode) / share))
    for name, message in (("a Held", HELD), ("a ReadyUpTo", READY)):
        sealer = Sealer(KEY)
        seal = [message]
        figures.append((f"wire: seal {name}", cost(lambda s=sealer, m=seal: s.seal(m))))
        figures.append((f"wire: open {name}", cost(_open(message))))
    for shared, how in ((False, "encoded each time"), (True, "encoded once")):
        name = f"wire: seal a turn for {RECEIVERS} receivers, {how}"
        figures.append((name, cost(_to_receivers(shared))))
    figures.append(("wire: cut a read of 64 KiB into frames", cost(_feed())))
    return figures
