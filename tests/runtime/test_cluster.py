"""Four replicas, publishers and subscribers on real sockets in one process."""

from __future__ import annotations

from quorumcast.core.messages import AskHeads
from quorumcast.runtime.bounds import Bounds
from tests.runtime.kit import LOOPS, PLACES, Cluster, Loops, Stranger, addresses, credentials, run

COUNT = 1000
BODIES = [f"body {number}".encode() for number in range(COUNT)]


@LOOPS
@PLACES
def test_a_thousand_publications_arrive_in_order(loops: Loops, place: str) -> None:
    async def work() -> None:
        with addresses(place, 4) as places:
            async with Cluster(places) as cluster:
                screens = [cluster.subscriber("screen-1"), cluster.subscriber("screen-2")]
                machine, probe = cluster.publisher("probe-1")
                for body in BODIES:
                    probe.driver.call(machine.publish, "alerts", body)
                await probe.until(lambda: probe.acknowledged == COUNT)
                for screen in screens:
                    await screen.until(lambda screen=screen: len(screen.delivered) >= COUNT)
                    assert screen.delivered == BODIES

    run(work, loops)


@LOOPS
def test_links_that_are_lost_come_back_and_nothing_is_missing(loops: Loops) -> None:
    async def work() -> None:
        with addresses("tcp", 4) as places:
            async with Cluster(places) as cluster:
                screen = cluster.subscriber("screen-1")
                machine, probe = cluster.publisher("probe-1")
                for number, body in enumerate(BODIES, 1):
                    probe.driver.call(machine.publish, "alerts", body)
                    if number % 250 == 0:
                        await probe.until(lambda number=number: probe.acknowledged >= number // 2)
                        replica = f"r{number // 250}"
                        for client in (screen, probe):
                            link = client.diallings[replica].link
                            assert link is not None
                            link.abort()
                        for dialling in cluster.nodes["r4"].diallings.values():
                            if dialling.link is not None:
                                dialling.link.abort()
                await probe.until(lambda: probe.acknowledged == COUNT)
                await screen.until(lambda: len(screen.delivered) >= COUNT)
                assert screen.delivered == BODIES
                # Not only were there enough others: every link is there again.
                for client in (screen, probe):
                    links = client.diallings.values()
                    await client.until(lambda links=links: all(each.link for each in links))

    run(work, loops)


def test_a_replica_that_is_away_is_not_needed_and_catches_up() -> None:
    async def work() -> None:
        with addresses("tcp", 4) as places:
            async with Cluster(places) as cluster:
                screen = cluster.subscriber("screen-1")
                machine, probe = cluster.publisher("probe-1")
                away = cluster.nodes["r4"]
                address = away.listening.address
                for each in away.diallings.values():
                    await each.close()
                await away.listening.close()
                for body in BODIES:
                    probe.driver.call(machine.publish, "alerts", body)
                await probe.until(lambda: probe.acknowledged == COUNT)
                await screen.until(lambda: len(screen.delivered) >= COUNT)
                assert screen.delivered == BODIES
                assert not away.disk.store.streams

                away.listening.address = address
                await away.listening.start()
                away.dial(cluster.where)
                streams = away.disk.store.streams
                await away.disk.signal.until(
                    lambda: sum(each.head for each in streams.values()) >= COUNT
                )

    run(work)


def test_those_who_misbehave_harm_nobody_else() -> None:
    """Garbage, half frames, wrong tags, huge lengths, silence: all while others publish."""

    async def work() -> None:
        with addresses("tcp", 4) as places:
            async with Cluster(places, Bounds(strangers=8)) as cluster:
                address = cluster.nodes["r1"].listening.address
                screen = cluster.subscriber("screen-1")
                machine, probe = cluster.publisher("probe-1")

                silent = [await Stranger.at(address) for _ in range(20)]
                garbage = await Stranger.at(address)
                garbage.say(b"GET / HTTP/1.1\r\n\r\n")
                huge = await Stranger.at(address)
                huge.say(b"\xff\xff\xff\xff")
                known = [await Stranger.at(address) for _ in range(3)]
                for stranger, name in zip(known, ("probe-2", "screen-2", "r3"), strict=True):
                    await stranger.shake(credentials(name), "r1", b"n" * 32)
                frame = known[0].sealer.seal([AskHeads("alerts", 0)])
                known[0].say(frame[:-1])
                known[1].say(known[1].sealer.seal([AskHeads("alerts", 0)])[:-1] + b"?")
                known[2].say((2**31).to_bytes(4, "big"))

                for body in BODIES:
                    probe.driver.call(machine.publish, "alerts", body)
                await probe.until(lambda: probe.acknowledged == COUNT)
                await screen.until(lambda: len(screen.delivered) >= COUNT)
                assert screen.delivered == BODIES
                for stranger in (garbage, huge, known[1], known[2]):
                    await stranger.ended()
                assert len(silent) == 20

    run(work)
