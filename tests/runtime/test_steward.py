"""What processes say beside the protocol, over real sockets: charters handed on, and reports."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable

import pytest

from quorumcast.auth.handshake import Credentials
from quorumcast.auth.identity import Identity
from quorumcast.auth.names import OPERATOR
from quorumcast.core.channel import Channel
from quorumcast.core.errors import ConfigError, QuorumcastError
from quorumcast.core.ids import Party
from quorumcast.core.messages import (
    AskHeads,
    AskReport,
    CharterAt,
    CharterIs,
    Message,
    Report,
)
from quorumcast.runtime.addresses import Tcp
from quorumcast.runtime.channels import ChannelSettings
from quorumcast.runtime.charter import Charter
from quorumcast.runtime.dialling import Dialling
from quorumcast.runtime.driver import Driver
from quorumcast.runtime.listening import Listening
from quorumcast.runtime.steward import BANNED, Steward
from quorumcast.wire.frames import LENGTH
from tests.runtime.kit import RING, Signal, Stranger, credentials, dialling, entropy, run
from tests.runtime.office import Clerk, Diary


def charter(version: int, *names: str, revoked: tuple[str, ...] = ()) -> Charter:
    channels = tuple(ChannelSettings(Channel(name)) for name in names)
    return Charter(version, channels, revoked).signed(RING.operator, RING.manifest.cluster_id)


def at(made: Charter) -> CharterAt:
    return CharterAt(made.version, made.digest())


OLD, NEW, LATER = charter(1, "alerts"), charter(2, "alerts", "more"), charter(3)


class House(Signal):
    """A process with a driver and a steward; a replica listens, and a client dials."""

    def __init__(self, name: Party, known: Charter = OLD) -> None:
        super().__init__()
        loop = asyncio.get_running_loop()
        self.name = name
        self.adopted: list[Charter] = []
        self.now = 0.0
        self.refuses: QuorumcastError | None = None
        self.diary = Diary()
        self.driver = Driver(Clerk(self.diary), loop=loop)
        self.driver.aside = self.steward = Steward(
            RING.manifest,
            known,
            loop=loop,
            apply=self._apply,
            report=(lambda: b'{"state":"ready"}') if name in RING.cluster.replicas else None,
            clock=lambda: self.now,
        )
        self.steward.on_change = self.changed
        self.listening: Listening | None = None
        self.dialled: list[Dialling] = []

    def _apply(self, made: Charter) -> None:
        if self.refuses is not None:
            raise self.refuses
        self.adopted.append(made)
        self.changed()

    async def listen(self) -> House:
        loop = asyncio.get_running_loop()
        self.listening = Listening(
            Tcp("127.0.0.1", 0),
            credentials(self.name),
            self.driver,
            loop=loop,
            entropy=entropy(self.name),
        )
        await self.listening.start()
        return self

    def dial(self, other: House) -> House:
        assert other.listening is not None
        where = other.listening.address
        self.dialled.append(dialling(self.name, other.name, where, self.driver))
        return self

    async def close(self) -> None:
        self.driver.stop()
        await asyncio.gather(*(each.close() for each in self.dialled))
        if self.listening is not None:
            await self.listening.close()
        assert self.driver.failure is None

    async def visitor(self, who: Party | Credentials) -> Visitor:
        assert self.listening is not None
        stranger = await Visitor.at(self.listening.address)
        assert isinstance(stranger, Visitor)
        me = who if isinstance(who, Credentials) else credentials(who)
        await stranger.shake(me, self.name, os.urandom(32))
        return stranger


class Visitor(Stranger):
    """A proven party that says whatever a test wants."""

    def tell(self, *messages: Message) -> None:
        self.say(self.sealer.seal(list(messages)))

    async def hear(self) -> list[Message]:
        """The messages of the next frame."""
        head = await self.reader.readexactly(LENGTH.size)
        (size,) = LENGTH.unpack(head)
        return self.opener.open(head + await self.reader.readexactly(size))


def in_house(
    work: Callable[[House], Awaitable[None]], name: Party = "r1", known: Charter = OLD
) -> None:
    async def whole() -> None:
        house = await House(name, known).listen()
        try:
            await work(house)
        finally:
            await house.close()

    run(whole)


# -- handing on ------------------------------------------------------------------------------------


def test_it_announces_what_it_knows_and_gives_it_to_who_knows_less() -> None:
    async def work(house: House) -> None:
        visitor = await house.visitor("probe-1")
        assert await visitor.hear() == [at(NEW)]
        visitor.tell(at(OLD))
        assert await visitor.hear() == [CharterIs(NEW.pack())]
        visitor.tell(at(OLD), at(NEW), at(LATER), at(OLD))  # once a link and version
        visitor.tell(at(LATER), CharterIs(LATER.pack()))
        assert await visitor.hear() == [at(LATER)]

    in_house(work, known=NEW)


def test_a_newer_one_is_adopted_and_told_on_all_links() -> None:
    async def work(house: House) -> None:
        visitors = [await house.visitor(name) for name in ("r2", "probe-1", "probe-2")]
        for each in visitors:
            assert await each.hear() == [at(OLD)]
            each.tell(at(OLD))
        assert house.steward.have() == frozenset()
        await house.until(lambda: house.steward.have() == {"r2"})
        visitors[1].tell(at(NEW), CharterIs(NEW.pack()))
        await house.until(lambda: house.adopted)
        assert house.adopted == [NEW]
        assert house.steward.charter == NEW
        assert await visitors[0].hear() == [at(NEW), CharterIs(NEW.pack())]
        assert await visitors[1].hear() == [at(NEW)]
        assert await visitors[2].hear() == [at(NEW), CharterIs(NEW.pack())]
        assert house.steward.have() == frozenset()

    in_house(work)


def test_it_goes_from_house_to_house() -> None:
    """r1 to r2 to r3, and a client that knows it tells a replica as well."""

    async def work() -> None:
        one, two = await House("r1").listen(), await House("r2").listen()
        three, client = House("r3").dial(two), House("probe-1", NEW)
        two.dial(one)
        try:
            client.dial(one)
            await three.until(lambda: three.adopted)
            assert three.adopted == two.adopted == one.adopted == [NEW]
            assert client.adopted == []
        finally:
            for house in (client, three, two, one):
                await house.close()

    run(work)


def test_of_two_with_one_version_all_take_the_same() -> None:
    first, second = charter(2, "a"), charter(2, "b")
    assert second.newer(first)

    async def work() -> None:
        one = await House("r1", first).listen()
        two = House("r2", second).dial(one)
        try:
            await one.until(lambda: one.adopted)
            assert one.adopted == [second]
            await two.until(lambda: two.steward.have() == {"r1"})
            assert two.adopted == []
        finally:
            await two.close()
            await one.close()

    run(work)


def test_ten_thousand_links_are_told_a_few_at_a_time() -> None:
    class End:
        def __init__(self, party: Party) -> None:
            self.party = party
            self.said: list[Message] = []

        def send(self, messages: list[Message], memo: object = None) -> None:
            self.said += messages

    async def work(house: House) -> None:
        ends = [End(f"p{number}") for number in range(1000)] + [End("r2")]
        for end in ends:
            house.steward.linked(end)
            end.said.clear()
        house.steward.adopt(NEW)
        await asyncio.sleep(0)
        told = [end for end in ends if end.said]
        assert 0 < len(told) < 100
        assert ends[-1] in told, "replicas come first"
        house.steward.unlinked(ends[5])
        house.steward.adopt(LATER)  # meanwhile: nobody is told twice of one, all of the last
        for _ in range(100):
            await asyncio.sleep(0)
        assert all(end.said[-1] == at(LATER) and len(end.said) <= 2 for end in ends[6:])
        for end in ends:
            house.steward.unlinked(end)

    in_house(work)


# -- liars -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        [at(LATER), CharterIs(NEW.pack())],  # valid, and not the one announced
        [CharterAt(2**62, bytes(32)), CharterIs(NEW.pack())],
        [at(NEW), CharterIs(b"")],
        [at(NEW), CharterIs(NEW.pack()[:72])],
        [at(NEW), CharterIs(NEW.pack()[:8] + bytes(64) + NEW.pack()[72:])],  # signature of none
        [Report(b"{}")],
    ],
)
def test_a_false_charter_ends_its_link_and_nothing_else(said: list[Message]) -> None:
    async def work(house: House) -> None:
        honest, liar = await house.visitor("probe-1"), await house.visitor("probe-2")
        liar.tell(*said)
        await liar.ended()
        assert await honest.hear() == [at(OLD)]
        honest.tell(at(NEW), CharterIs(NEW.pack()))
        assert await honest.hear() == [at(NEW)]
        assert house.adopted == [NEW]

    in_house(work)


def test_who_handed_on_a_false_one_is_not_believed_for_a_while() -> None:
    async def work(house: House) -> None:
        liar = await house.visitor("probe-2")
        liar.tell(at(NEW), CharterIs(b"x" * 100))
        await liar.ended()
        liar = await house.visitor("probe-2")
        assert await liar.hear() == [at(OLD)]
        liar.tell(at(NEW), CharterIs(NEW.pack()))
        house.changed()
        await house.until(lambda: house.steward._peers)
        liar.tell(AskHeads("alerts", 1))
        await house.diary.until(("step", "probe-2"))
        assert house.adopted == []
        house.now += 61.0
        liar.tell(CharterIs(NEW.pack()))
        await house.until(lambda: house.adopted)

    in_house(work)


def test_announcements_that_nothing_follows_cost_nothing() -> None:
    async def work(house: House) -> None:
        liar = await house.visitor("probe-2")
        for number in range(2000):
            liar.tell(CharterAt(2**62 + number, bytes(32)))
        liar.tell(AskHeads("alerts", 1))
        await house.diary.until(("step", "probe-2"))
        (peer,) = house.steward._peers.values()
        assert peer.said == (2**62 + 1999, bytes(32))
        assert await liar.hear() == [at(OLD)]
        honest = await house.visitor("probe-1")
        honest.tell(at(NEW), CharterIs(NEW.pack()))
        await house.until(lambda: house.adopted)
        assert not house.steward._banned

    in_house(work)


def test_one_replica_alone_cannot_make_a_client_wait() -> None:
    async def work(house: House) -> None:
        first = await house.visitor("r2")
        first.tell(CharterAt(9, bytes(32)))
        client = await house.visitor("probe-1")
        client.tell(CharterAt(9, bytes(32)), AskHeads("alerts", 1))
        await house.diary.until(("step", "probe-1"))
        assert not house.steward.outdated
        second = await house.visitor("r3")
        second.tell(CharterAt(9, bytes(32)))
        await house.until(lambda: house.steward.outdated)

    in_house(work)


def test_what_cannot_take_effect_is_not_adopted_and_is_nobodys_fault(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def work(house: House) -> None:
        house.refuses = ConfigError("channel alerts: protocol cannot change")
        for name in ("probe-1", "probe-2"):
            visitor = await house.visitor(name)
            assert await visitor.hear() == [at(OLD)]
            visitor.tell(at(NEW), CharterIs(NEW.pack()), AskHeads("alerts", 1))
            await house.diary.until(("step", name))
        assert house.steward.charter == OLD
        assert caplog.text.count("channel alerts: protocol cannot change") == 1, "tried once"
        house.refuses = None
        visitor.tell(at(LATER), CharterIs(LATER.pack()))
        await house.until(lambda: house.adopted)

    in_house(work)


def test_liars_that_are_remembered_are_bounded() -> None:
    class End:
        def __init__(self, party: Party) -> None:
            self.party = party
            self.why = ""

        def send(self, messages: list[Message], memo: object = None) -> None:
            pass

        def give_up(self, why: str) -> None:
            self.why = why

    async def work(house: House) -> None:
        for number in range(BANNED + 10):
            end = End(f"p{number}")
            house.steward.linked(end)
            house.steward.received(end, at(NEW))
            house.steward.received(end, CharterIs(b"y" * 90))
            assert end.why == "it hands on another charter than it announced"
            house.steward.unlinked(end)
        assert len(house.steward._banned) == BANNED
        assert not house.steward._peers

    in_house(work)


# -- reports ---------------------------------------------------------------------------------------


def operator(name: Party = OPERATOR) -> Credentials:
    mine = Identity.from_seeds(os.urandom(32), os.urandom(32))
    certificate = RING.manifest.certify(RING.operator, name, mine.public)
    return Credentials(name, mine, RING.manifest, certificate)


def test_a_replica_reports_to_the_operator() -> None:
    async def work(house: House) -> None:
        visitor = await house.visitor(operator())
        visitor.tell(AskReport())
        heard = await visitor.hear() + await visitor.hear()
        assert heard == [at(OLD), Report(b'{"state":"ready"}')]

    in_house(work)


@pytest.mark.parametrize("who", ["probe-1", "r2", "Operator", "operator2"])
def test_others_that_ask_get_nothing_and_go(who: Party) -> None:
    async def work(house: House) -> None:
        known = who in RING.certificates or who in RING.cluster.replicas
        visitor = await house.visitor(who if known else operator(who))
        assert await visitor.hear() == [at(OLD)]
        visitor.tell(AskReport())
        assert await visitor.ended() == b""

    in_house(work)
