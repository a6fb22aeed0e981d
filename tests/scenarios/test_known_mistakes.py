"""Mistakes of systems like this one that no other test has for its subject.

Each is also a mutant: `make mutants` seeds it, and the test here sees it.
"""

from __future__ import annotations

from hashlib import md5

import pytest
from blake3 import blake3

from quorumcast.auth.digests import Digester, origin
from quorumcast.auth.keys import pair_info
from quorumcast.auth.tags import TAG_BYTES, Statement, check_tag, tag
from quorumcast.core.evidence import Weight
from quorumcast.core.ids import Lane, Stream
from quorumcast.core.limits import EVIDENCE_PER_STREAM
from quorumcast.core.messages import Held
from tests.broker.bench import Bench
from tests.scenarios.stage import Stage

KEY = bytes(range(32))
DATA = b"a frame, or a statement"


@pytest.mark.parametrize(
    "made",
    [
        blake3(DATA).digest(TAG_BYTES),
        md5(DATA).digest(),
        md5(KEY + DATA).digest(),
        md5(DATA + KEY).digest(),
        bytes(one ^ other for one, other in zip(md5(DATA).digest(), KEY, strict=False)),
        blake3(KEY + DATA).digest(TAG_BYTES),
    ],
    ids=[
        "hash",
        "md5",
        "md5 of key and data",
        "md5 of data and key",
        "xor",
        "hash of key and data",
    ],
)
def test_only_the_keyed_hash_is_a_tag(made: bytes) -> None:
    """Freeman 6.6 and 7.1 (MD5), PBFT-KV 3.1 (a hash XOR the key): forged or continued."""
    assert len(made) == TAG_BYTES
    assert not check_tag(KEY, DATA, made)
    assert check_tag(KEY, DATA, tag(KEY, DATA))


def test_bytes_that_move_to_the_next_field_make_another_hash() -> None:
    """Freeman, listing 6.12: fields stand without their lengths, and "ab", "c" is "a", "bc"."""
    there, here = Stream("ab", "c", KEY, Lane.NORMAL), Stream("a", "bc", KEY, Lane.NORMAL)
    assert origin(KEY, there) != origin(KEY, here)
    assert pair_info(KEY, KEY, KEY, 1, "ab", "c") != pair_info(KEY, KEY, KEY, 1, "a", "bc")
    one = Statement("echo", KEY, 1, "ab", b"c", KEY)
    assert one.encode() != one._replace(channel="a", instance=b"bc").encode()


@pytest.mark.parametrize("bits", [8, 16, 24, 32, 40, 48, 56, 62])
def test_every_byte_of_a_large_position_is_in_its_digest(bits: int) -> None:
    """Freeman, listing 6.12: ids above what a buffer holds are cut short."""
    digester = Digester(bytes(32), Stream("news", "probe", bytes(32), Lane.NORMAL))
    assert digester.digest(1, b"A") != digester.digest(1 + 2**bits, b"A")


def test_publisher_that_never_pauses_does_not_put_off_what_is_told() -> None:
    """Freeman 6.2: whatever is sent begins the count, or the time, anew."""
    stage = Stage(alpha=100, within_seconds=0.5)
    story = stage.opens("P")
    for position, letter in enumerate("ABCDEFGH", 1):
        stage.say("P", "r1", story.publish(letter, first=position))
        stage.run(0.3)
    told = [each.first + len(each.digests) // 32 - 1 for each in stage.heard("r4", Held, "r1")]
    assert max(told, default=0) == 8


def test_stream_that_was_put_away_unconfirmed_states_its_votes_when_asked() -> None:
    """Rule 13. r1 gave up on a stream and put it away; r2 comes back and asks for its votes."""
    bench = Bench()
    story = bench.opens("probe")
    bench.say("probe", story.publish("AB"))
    bench.shelve(story)
    ready = bench.say("r2", story.ask_votes(1))
    assert Held(story.stream, 1, story.digests("AB")) in ready.messages.get("r2", [])


def test_lies_of_a_replica_leave_room_for_the_proof_against_a_publisher() -> None:
    """Rule 22. r4 votes without signatures as often as it likes; then the publisher lies too."""
    stage = Stage(alpha=20, signed=True, within_seconds=5.0)
    story = stage.opens("P")
    stage.say("P", "r1", story.publish("ABC"))
    stage.flush()
    for _ in range(EVIDENCE_PER_STREAM + 2):
        stage.say("r4", "r1", Held(story.stream, 1, story.digests("XXX"), bytes(3 * 64)))
    stage.flush()
    stage.say("P", "r1", story.publish("Z", first=3))
    stage.flush()
    weights = [each.weight for each in stage.evidence["r1"]]
    assert weights.count(Weight.LOCAL) == EVIDENCE_PER_STREAM
    assert weights.count(Weight.PROOF) == 1
