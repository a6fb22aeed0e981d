"""Hello and heads: greetings that are repeated, listings that show what was missed."""

from __future__ import annotations

from quorumcast.core.channel import Channel
from quorumcast.core.limits import HEADS_MOST_SECONDS
from quorumcast.core.machine import Ready
from quorumcast.core.messages import AskBodies, AskHeads, AskOpening, AskVotes, Heads, Hello
from tests.broadcast.cast import said, statements
from tests.broker.bench import Bench
from tests.scenarios.story import CHANNEL


def lists(bench: Bench, peer: str, *heads: object, counter: int = 1, more: bool = False) -> Ready:
    """A peer lists streams."""
    return bench.say(peer, Heads(CHANNEL, counter, heads, more))  # type: ignore[arg-type]


def test_everybody_is_greeted_and_peers_are_asked_for_their_heads() -> None:
    bench = Bench(link="")
    ready = bench.link("r2")
    assert [type(each) for each in ready.messages["r2"][:2]] == [Hello, AskHeads]
    ready = bench.link("probe")
    assert [type(each) for each in ready.messages["probe"]] == [Hello]


def test_every_channel_is_asked_about_but_one_without_repair() -> None:
    channels = (
        Channel(CHANNEL, publishers=("*",)),
        Channel("weather"),
        Channel("lossy", confirm=False),
    )
    bench = Bench(channels=channels, link="")
    asked = [each.channel for each in said(bench.link("r2"), AskHeads, "r2")]
    assert asked == [CHANNEL, "weather"]


def test_greetings_are_repeated_with_backoff() -> None:
    bench = Bench()
    bench.link("probe")
    hellos = said(bench.until(300.0), Hello, "probe")
    assert 300.0 / HEADS_MOST_SECONDS <= len(hellos) <= 300.0 / HEADS_MOST_SECONDS + 8
    bench.unlink("probe")
    assert "probe" not in bench.until(400.0).messages


def test_heads_from_a_client_are_rejected() -> None:
    bench = Bench()
    bench.link("probe")
    story = bench.story()
    ready = lists(bench, "probe", story.head(5))
    assert [each.reason for each in ready.rejections] == ["only replicas exchange heads"]
    assert bench.entry(story) is None


def test_heads_before_hello_do_not_count() -> None:
    bench = Bench(link="")
    bench.replica.linked("r2")
    bench.turn()
    story = bench.story()
    assert not lists(bench, "r2", story.head(5)).messages
    assert bench.entry(story) is None


def test_stream_of_which_a_peer_has_more_is_asked_about() -> None:
    bench = Bench()
    story = bench.past("probe", 1, "AB")
    ready = lists(bench, "r2", story.head(4, confirmed=2))
    assert said(ready, AskVotes, "r2") == [story.ask_votes(3)]
    unknown = bench.story("other")
    assert said(lists(bench, "r2", unknown.head(1)), AskVotes, "r2") == [unknown.ask_votes(1)]


def test_stream_of_which_a_peer_has_less_or_as_much_is_not() -> None:
    bench = Bench()
    story = bench.past("probe", 1, "AB")
    for head in (story.head(2, confirmed=2), story.head(1), bench.story("other").head(0)):
        ready = lists(bench, "r2", head)
        assert "r2" not in ready.messages
    assert bench.entry(bench.story("other")) is None


def test_lower_confirmation_here_is_looked_into_though_the_votes_are_here() -> None:
    bench = Bench()
    story = bench.opens()
    bench.say("probe", story.publish("AB"))
    assert said(lists(bench, "r2", story.head(2, confirmed=2)), AskVotes, "r2")


def test_missed_stream_is_repaired_from_its_head_on() -> None:
    bench = Bench()
    story = bench.story()
    for peer in ("r2", "r3"):
        lists(bench, peer, story.head(2))
        bench.say(peer, story.held("AB"))
    assert said(bench.until(0.5), AskOpening, "r2")[0] == story.ask_opening()
    ready = bench.say("r2", story.opening_of())
    ready.messages.update(bench.until(1.0).messages)
    asked = [each for peer in ("r2", "r3") for each in said(ready, AskBodies, peer)]
    assert asked[0] == story.ask_bodies("AB")
    bench.say("r3", story.bodies("AB"))
    assert bench.holds(story) == "AB"


def test_head_of_a_stream_at_rest_reads_it_back_and_then_asks() -> None:
    bench = Bench()
    story = bench.past("probe", 1, "AB")
    bench.shelve(story)
    bench.slow = True
    assert not lists(bench, "r2", story.head(3)).messages
    bench.slow = False
    assert said(bench.answer(), AskVotes, "r2") == [story.ask_votes(3)]


def test_next_page_is_asked_for_at_once() -> None:
    bench = Bench()
    ready = lists(bench, "r2", bench.story().head(1), counter=7, more=True)
    assert said(ready, AskHeads, "r2") == [AskHeads(CHANNEL, 7)]
    assert not said(lists(bench, "r2", counter=7, more=True), AskHeads)  # a page without news


def test_what_was_listed_is_not_asked_for_again_until_the_peer_comes_back() -> None:
    bench = Bench()
    lists(bench, "r2", bench.story().head(1), counter=7)
    lists(bench, "r2", counter=5)
    assert said(bench.until(1.0), AskHeads, "r2")[0].since == 7
    bench.unlink("r2")
    assert said(bench.link("r2"), AskHeads, "r2")[0].since == 0


def test_head_in_another_channel_than_its_page_is_ignored() -> None:
    bench = Bench()
    elsewhere = bench.story(channel="weather")
    assert not lists(bench, "r2", elsewhere.head(3)).messages


def test_peer_that_comes_back_is_told_what_is_unfinished() -> None:
    bench = Bench(protocol="bracha")
    story = bench.opens()
    bench.unlink("r2")
    bench.say("probe", story.publish("AB"))
    bench.until(300.0)
    bench.link("r2")
    assert story.held("AB") in statements(bench.until(300.5), "r2")
