"""Carries a schedule's decisions out in a world."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from quorumcast.sim.network import Weather
from quorumcast.sim.rig import Rig
from quorumcast.sim.schedule import Crash, Cut, Decision, Publish, Resubscribe, Storm


class Faults:
    """Lets decisions happen at their ticks, and undoes them when the network heals."""

    def __init__(self, rig: Rig, decisions: Iterable[Decision]) -> None:
        self._rig = rig
        self._world = rig.world
        self._calm = rig.world.network.weather  # as calm as it gets before it heals
        self._healed = False
        self._back: dict[str, Crash] = {}
        for decision in decisions:
            self._plan(decision)

    def _plan(self, decision: Decision) -> None:
        at, tick = self._world.at, max(1, decision.tick)
        match decision:
            case Publish(_, party, channel, lane, count, size):
                at(tick, lambda: self._rig.publish(party, channel, lane, count, size))
            case Resubscribe(_, party, channel, patterns, start):
                at(tick, lambda: self._rig.subscribe(party, channel, patterns, start))
            case Crash():
                at(tick, lambda: self._crash(decision))
                if decision.back is not None:
                    at(max(tick + 1, decision.back), lambda: self._restart(decision.node))
            case Cut():
                at(tick, lambda: self._cut(decision))
                at(max(tick + 1, decision.until), lambda: self._join(decision))
            case Storm(_, until, loss, stray):
                worse = msgspec.structs.replace(self._calm, loss=loss, stray=stray)
                at(tick, lambda: self._weather(worse, str(decision)))
                at(max(tick + 1, until), lambda: self._weather(self._calm, "the storm is over"))

    # -- crashes -------------------------------------------------------------------------------

    def _crash(self, decision: Crash) -> None:
        node = self._world.nodes[decision.node]
        if not node.up:
            return
        self._world.note(str(decision))
        self._back[node.name] = decision
        if decision.back is None and node.disk is not None:
            self._rig.lost[node.name] = None
        if decision.how == "now" or node.disk is None:
            self._world.crash(node, lose_tail=decision.disk == "tail lost")
        else:
            node.doom = decision.how

    def _restart(self, name: str) -> None:
        node = self._world.nodes[name]
        decision = self._back.pop(name, None)
        if decision is None:
            return
        if node.up:  # its doom has not come: it wrote nothing in the meantime
            self._world.crash(node, lose_tail=decision.disk == "tail lost")
        if decision.disk != "kept" and node.disk is not None:
            self._rig.lose(node, decision.disk)
        self._world.note(f"{name} runs again")
        self._world.start(node)
        self._resume(name)

    def _resume(self, name: str) -> None:
        """A subscriber's user subscribes again after a restart."""
        if name not in self._rig.scenario.subscriber_names:
            return
        node = self._world.nodes[name]
        before = node.name if node.boots == 2 else f"{node.name}#{node.boots - 1}"
        for channel in self._rig.channels:
            calls = self._rig.trace.subscribed.get(before, [])
            mine = [call for call in calls if call.channel == channel.name]
            if mine and mine[-1].patterns:
                self._rig.subscribe(name, channel.name, mine[-1].patterns, "earliest")

    # -- network -------------------------------------------------------------------------------

    def _cut(self, decision: Cut) -> None:
        if self._healed:
            return
        self._world.note(str(decision))
        self._world.network.cut(decision.senders, decision.receivers)
        if decision.both:
            self._world.network.cut(decision.receivers, decision.senders)

    def _join(self, decision: Cut) -> None:
        self._world.network.join(decision.senders, decision.receivers)
        if decision.both:
            self._world.network.join(decision.receivers, decision.senders)
        if not decision.flap:
            return
        nodes = self._world.nodes
        for one in decision.senders:
            for other in decision.receivers:
                self._world.renew(nodes[one], nodes[other])

    def _weather(self, weather: Weather, note: str) -> None:
        if not self._healed:
            self._world.note(note)
            self._world.network.weather = weather

    def heal(self) -> None:
        """The faulty phase ends: the network is calm, and whoever comes back is back."""
        self._healed = True
        self._world.network.heal()
        self._world.note("the network heals")
        for name, decision in sorted(self._back.items()):
            if decision.back is not None:
                self._restart(name)
            elif self._world.nodes[name].up:  # doomed for good, but it never wrote again
                self._world.crash(self._world.nodes[name])
