"""The stage of a run: a world with its replicas, publishers and subscribers, some of them liars."""

from __future__ import annotations

from collections.abc import Callable

from quorumcast.broker import Replica
from quorumcast.client import Publisher, Subscriber
from quorumcast.core.channel import Channel
from quorumcast.core.ids import FIRST, Incarnation, Lane, Party
from quorumcast.core.machine import Machine
from quorumcast.core.records import Incarnated
from quorumcast.sim.adversaries import Adversary, Maker, Plot, TwoFaced, adversary_named
from quorumcast.sim.adversaries.twins import TWIN, Rounds
from quorumcast.sim.checkers import Case
from quorumcast.sim.disk import Disk, new_life
from quorumcast.sim.draws import derive
from quorumcast.sim.keys import Keyring
from quorumcast.sim.network import Network, Weather
from quorumcast.sim.node import Node
from quorumcast.sim.scenario import Scenario
from quorumcast.sim.schedule import Fate
from quorumcast.sim.trace import Published, Stored, Subscribed, Trace
from quorumcast.sim.world import World

TAIL = 8
"""Commits between two syncs on a disk that may lose its tail."""


class Rig:
    """A world built from a scenario; `allowed` restricts the adversary's deeds, for shrinking."""

    def __init__(self, scenario: Scenario, allowed: frozenset[int] | None = None) -> None:
        self.scenario = scenario
        self.adversary: Adversary | None = adversary_named(scenario.adversary)
        self.liars = liars_of(scenario, self.adversary)
        self.byzantine_clients = self._byzantine_clients()
        self.channels: list[Channel] = scenario.channels()
        clients = (
            *scenario.publisher_names,
            *scenario.subscriber_names,
            *sorted(self.byzantine_clients),
        )
        self.keys = Keyring(
            scenario.seed, scenario.replica_names, clients, scenario.faults, lab=True
        )
        self.trace = Trace()
        weather = Weather(loss=scenario.loss, repeat=0.02, replay=0.01, damage=0.005, stray=0.03)
        self.world = World(scenario.seed, self.keys, Network(weather), self.trace)
        self.plot = self._plot(allowed)
        self.lost: dict[str, None] = {}
        """Correct replicas that were wiped, or stopped for good."""
        self._numbers: dict[tuple[str, str, Lane], int] = {}
        self._build()

    def _byzantine_clients(self) -> dict[Party, Maker]:
        clients: dict[Party, Maker] = {}
        adversary = self.adversary
        if self.scenario.byzantine_publisher:
            clients["q1"] = TwoFaced
        if adversary is None:
            return clients
        count = 1 if adversary.replicas_lie else self.scenario.liars
        for number in range(1, count + 1):
            if adversary.publisher is not None:
                clients[f"q{number + len(clients)}"] = adversary.publisher
            if adversary.subscriber is not None:
                clients[f"t{number}"] = adversary.subscriber
        return clients

    def _plot(self, allowed: frozenset[int] | None) -> Plot:
        members = (*self.liars, *sorted(self.byzantine_clients))
        plot = Plot(self.scenario.seed, self.keys.cluster, self.channels, members, allowed)
        plot.identities = {party: self.keys.identity(party) for party in members}
        plot.certificates = {
            party: certificate
            for party, certificate in self.keys.certificates.items()
            if party in members
        }
        plot.victims = self._victims
        plot.rebuild = lambda party: self._replica(self.world.nodes[party])
        return plot

    def _victims(self) -> dict[Party, Machine]:
        return {
            node.party: node.machine
            for node in self.world.nodes.values()
            if node.correct and node.machine is not None
        }

    # -- nodes ---------------------------------------------------------------------------------

    def _build(self) -> None:
        scenario, world = self.scenario, self.world
        losing = scenario.faults > len(self.liars)
        adversary = self.adversary
        for name in scenario.replica_names:
            disk = Disk(self.keys.cluster.id, TAIL if losing else 1)
            if name in self.liars and adversary is not None:
                if adversary.twins:
                    self._add(name, self._replica, disk, correct=False)
                    twin = Disk(self.keys.cluster.id)
                    self._add(name + TWIN, self._replica, twin, party=name, correct=False)
                else:
                    boot = self._lying(self._replica, adversary.replica)
                    self._add(name, boot, disk, correct=False)
            else:
                self._add(name, self._replica, disk)
        for name in scenario.publisher_names:
            self._add(name, self._publisher, None)
        for name in scenario.subscriber_names:
            self._add(name, self._subscriber, None)
        for name, maker in sorted(self.byzantine_clients.items()):
            inner = self._subscriber if name.startswith("t") else self._publisher
            self._add(name, self._lying(inner, maker), None, correct=False)
        for node in list(world.nodes.values()):
            world.start(node)
        if adversary is not None and adversary.twins:
            Rounds(world, self.plot, self.liars, scenario.faulty_ticks).start()

    def _add(
        self,
        name: str,
        boot: Callable[[Node], Machine],
        disk: Disk | None,
        *,
        party: Party | None = None,
        correct: bool = True,
    ) -> None:
        self.world.add(name, boot, party=party, disk=disk).correct = correct

    def _lying(
        self, boot: Callable[[Node], Machine], maker: Maker | None
    ) -> Callable[[Node], Machine]:
        assert maker is not None, "the adversary plays this party"
        return lambda node: maker(boot(node), self.plot)

    def _replica(self, node: Node) -> Machine:
        assert node.disk is not None
        life = node.disk.life or self.new_life(node, FIRST)
        node.incarnation = life.valid[-1][0]
        return Replica(node.party, self.keys.cluster, self.channels, life)

    def new_life(self, node: Node, incarnation: Incarnation) -> Incarnated:
        """An incarnation on a node's disk: its first, or another because votes may be gone."""
        assert node.disk is not None
        names = self.keys.cluster.replicas
        old = node.disk.life
        life = new_life(
            names.index(node.party),
            len(names),
            incarnation,
            node.clock.read(self.world.seconds),
            old.seen if old is not None else (),
        )
        node.disk.commit([life])
        node.disk.sync()
        node.incarnation = life.valid[-1][0]
        return life

    def lose(self, node: Node, fate: Fate) -> None:
        """A replica's disk lost something: without its votes it begins a new life."""
        assert node.disk is not None
        self.lost[node.name] = None
        stored = self.trace.stored.setdefault(node.name, [])
        if fate == "bodies lost":
            floors = node.disk.lose_bodies()
            stored += [Stored(self.world.now, node.incarnation, each) for each in floors]
            return
        if fate == "wiped":
            node.disk.wipe()
            stored.append(Stored(self.world.now, node.incarnation, None))
        counter = FIRST.counter + 1 + self.world.now
        draws = derive(self.scenario.seed, "incarnation", node.party, str(counter))
        self.new_life(node, Incarnation(counter, draws.getrandbits(64)))

    def _publisher(self, node: Node) -> Machine:
        draws = derive(self.scenario.seed, "sessions", node.life)
        identity = self.keys.identity(node.party)
        return Publisher(
            node.party,
            self.keys.cluster,
            self.channels,
            self.keys.certificates[node.party],
            lambda: draws.getrandbits(64),
            identity.sign,
        )

    def _subscriber(self, node: Node) -> Machine:
        subscriber = Subscriber(node.party, self.keys.cluster, self.channels)
        if not node.correct:
            subscriber.subscribe(self.channels[0].name, ("*",), "earliest")
        return subscriber

    # -- users ---------------------------------------------------------------------------------

    def publish(self, party: Party, channel: str, lane: Lane, count: int, size: int) -> None:
        """A publisher's user publishes so many bodies, each unlike any other."""
        node = self.world.nodes[party]
        machine = node.machine
        if not isinstance(machine, Publisher):
            return  # it is down: nobody calls
        self.world.note(f"{party} publishes {count} on {channel} ({lane.name.lower()})")
        for _ in range(count):
            number = self._numbers.get((node.life, channel, lane), 0) + 1
            self._numbers[node.life, channel, lane] = number
            body = f"{node.life}/{channel}/{lane.name.lower()}/{number}".encode().ljust(size, b".")
            self.trace.published.append(
                Published(self.world.now, node.life, party, channel, lane, number, body)
            )
            self.world.call(node, machine.publish, channel, body, lane)

    def subscribe(self, party: Party, channel: str, patterns: tuple[str, ...], start: str) -> None:
        """A subscriber's user subscribes, changes the subscription, or ends it."""
        node = self.world.nodes[party]
        machine = node.machine
        if not isinstance(machine, Subscriber):
            return
        calls = self.trace.subscribed.setdefault(node.life, [])
        calls.append(Subscribed(self.world.now, channel, patterns, start))
        if patterns:
            self.world.note(f"{party} subscribes to {', '.join(patterns)} on {channel}, {start}")
            self.world.call(node, machine.subscribe, channel, patterns, start)
        else:
            self.world.note(f"{party} unsubscribes from {channel}")
            self.world.call(node, machine.unsubscribe, channel)

    # -- judgement -----------------------------------------------------------------------------

    def case(self, *, judged: bool, cap_bytes: int, patience_ticks: int) -> Case:
        """What the checkers are given of this run."""
        nodes = self.world.nodes
        return Case(
            self.trace,
            self.keys.cluster,
            {channel.name: channel for channel in self.channels},
            replicas=tuple(name for name in self.scenario.replica_names if nodes[name].correct),
            publishers=frozenset(self.scenario.publisher_names),
            live=frozenset(node.life for node in nodes.values() if node.up and node.correct),
            lost=frozenset(self.lost),
            judged=judged,
            cap_bytes=cap_bytes,
            patience_ticks=patience_ticks,
            healed_tick=self.scenario.faulty_ticks,
        )


def liars_of(scenario: Scenario, adversary: Adversary | None) -> tuple[str, ...]:
    """The replicas that the adversary plays, drawn from the seed.

    >>> len(liars_of(Scenario(adversary="silent"), adversary_named("silent")))
    1
    """
    if adversary is None or not adversary.replicas_lie:
        return ()
    draws = derive(scenario.seed, "liars")
    return tuple(sorted(draws.sample(scenario.replica_names, scenario.liars)))
