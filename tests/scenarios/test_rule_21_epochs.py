"""Rule 21: votes, frames and keys of another epoch never count."""

from __future__ import annotations

import msgspec
import pytest

from quorumcast.auth.keys import connection_key, pair_key
from quorumcast.auth.manifest import Manifest, ReplicaEntry
from quorumcast.auth.tags import Statement, check_statement_tag, make_authenticator, statement_tag
from quorumcast.core.errors import AuthError
from quorumcast.core.ids import Incarnation
from quorumcast.core.messages import Held, Message, Publish, StatusCode
from quorumcast.core.messages import Status as StatusMessage
from quorumcast.wire import Opener, Sealer
from tests.scenarios.stage import Stage
from tests.scenarios.story import OPERATOR, Story, identity, opening

REPLICAS = ("r1", "r2", "r3", "r4")
MINE, THEIRS = b"1" * 32, b"2" * 32
"""Nonces of one connection; equal here, so that nothing but the epoch tells its keys apart."""


def key(epoch: int, sender: str, receiver: str) -> bytes:
    """The key of the connection between two parties in an epoch."""
    cluster = Stage().cluster.id
    keys = pair_key(
        identity(sender), identity(receiver).public.agree, cluster, epoch, sender, receiver
    )
    return connection_key(keys, MINE, THEIRS)


# -- frames ---------------------------------------------------------------------------------------


def test_keys_of_two_epochs_differ() -> None:
    for receiver in ("r2", "P", "S1"):
        assert key(1, "r1", receiver) == key(1, "r1", receiver)
        assert key(1, "r1", receiver) != key(2, "r1", receiver)


@pytest.mark.parametrize("epoch", [1, 2])
def test_votes_of_an_old_epoch_do_not_open_in_the_new_one(epoch: int) -> None:
    stage = Stage(scripted=" ".join(REPLICAS), alpha=5)
    story = stage.opens("P")
    stage.subscriber("S1")
    kept = {
        replica: Sealer(key(1, replica, "S1")).seal([story.held("A"), story.bodies("A")])
        for replica in REPLICAS
    }
    for replica, frame in kept.items():
        opener = Opener(key(epoch, replica, "S1"))
        messages: list[Message] = []
        if epoch == 1:
            messages = opener.open(frame)
        else:
            with pytest.raises(AuthError):
                opener.open(frame)
        stage.say(replica, "S1", *messages)
    stage.run(1.0)
    assert stage.read("S1") == ("A" if epoch == 1 else "")


def test_votes_of_two_epochs_do_not_add_up() -> None:
    stage = Stage(scripted=" ".join(REPLICAS), alpha=5)
    story = stage.opens("P")
    stage.subscriber("S1")
    for replica, epoch in (("r1", 2), ("r2", 2), ("r3", 1)):
        frame = Sealer(key(epoch, replica, "S1")).seal([story.held("A"), story.bodies("A")])
        opener = Opener(key(2, replica, "S1"))
        if epoch == 2:
            stage.say(replica, "S1", *opener.open(frame))
        else:
            with pytest.raises(AuthError):
                opener.open(frame)
    stage.run(1.0)
    assert stage.read("S1") == ""


def test_publication_of_an_old_epoch_is_not_taken_in_the_new_one() -> None:
    stage = Stage(alpha=5)
    story = stage.opens("P")
    frame = Sealer(key(1, "P", "r1")).seal([story.publish("A")])
    with pytest.raises(AuthError):
        Opener(key(2, "P", "r1")).open(frame)
    (publish,) = Opener(key(1, "P", "r1")).open(frame)
    assert isinstance(publish, Publish)
    assert stage.holds("r1", story) == ""


# -- statement tags -------------------------------------------------------------------------------


def test_tags_of_statements_name_their_epoch() -> None:
    stage = Stage()
    digest = stage.opens("P").digests("A")
    said = Statement("chain", stage.cluster.id, 1, "news", b"position 1", digest)
    keys = {replica: key(1, "P", replica) for replica in REPLICAS}
    made = statement_tag(keys["r1"], *said)
    assert check_statement_tag(keys["r1"], made, *said)
    assert not check_statement_tag(keys["r1"], made, *said._replace(epoch=2))

    vector = make_authenticator(keys, said)
    for replica in REPLICAS:
        assert vector.check(replica, keys[replica], said)
        assert not vector.check(replica, keys[replica], said._replace(epoch=2))
        assert not vector.check(replica, key(2, "P", replica), said)


# -- clients and replica sets ---------------------------------------------------------------------


def manifest(replicas: tuple[str, ...], epoch: int) -> Manifest:
    entries = tuple(ReplicaEntry(name, identity(name).public) for name in replicas)
    sign = OPERATOR.public.sign
    return Manifest(nonce=bytes(32), operator=sign, faults=1, replicas=entries, epoch=epoch)


def test_client_that_is_added_changes_no_epoch() -> None:
    cluster = manifest(REPLICAS, 1)
    before = cluster.digest()
    papers = cluster.certify(OPERATOR, "late", identity("late").public)
    assert cluster.check_client(papers).name == "late"
    assert (cluster.digest(), cluster.cluster().epoch) == (before, 1)

    stage = Stage(scripted="", alpha=5, signed=True)
    stage.subscriber("S1")
    stage.publisher("early")
    stage.publish("early", "A")
    stage.run(2.0)
    stage.publisher("late")
    stage.publish("late", "B")
    stage.run(2.0)
    assert stage.read("S1") == "AB"
    assert len(stage.sessions("early")) == 1


def test_certificate_of_a_client_is_good_in_all_epochs() -> None:
    one, two = manifest(REPLICAS, 1), manifest((*REPLICAS, "r5"), 2)
    papers = one.certify(OPERATOR, "P", identity("P").public)
    assert two.check_client(papers).name == "P"
    assert one.digest() != two.digest()


@pytest.mark.parametrize("count", [3, 5])
def test_session_of_another_replica_set_is_rejected(count: int) -> None:
    stage = Stage(alpha=5)
    stage.client("P")
    lives = [Incarnation(1, 100 + index) for index in range(count)]
    story = Story(stage.cluster, opening("P", 1, lives))
    stage.say("P", "r1 r2 r3", story.open(), story.publish("A"))
    stage.flush()
    codes = [each.code for each in stage.heard("P", StatusMessage, "r1")]
    assert StatusCode.REJECTED in codes
    assert stage.holds("r1", story) == ""
    assert stage.said("r1", "*", Held) == []


def test_party_that_is_no_replica_of_this_epoch_has_no_vote() -> None:
    stage = Stage(scripted="r2 r3 r4", alpha=5)
    stage.subscriber("S1")
    story = stage.opens("P")
    stage.client("r9")
    stage.link("r9", "S1")
    stage.say("r2 r3 r9", "S1", story.held("A"), story.bodies("A"))
    stage.say("r2 r9", "r1", story.held("A"), story.ready("A"), story.confirmed("A"))
    stage.run(2.0)
    assert stage.read("S1") == ""
    assert stage.holds("r1", story) == ""
    assert "r9" in {each.sender for each in stage.rejections["S1"]}
    assert "r9" in {each.sender for each in stage.rejections["r1"]}


# -- logs -----------------------------------------------------------------------------------------


def test_log_is_vouched_for_by_digests_in_every_epoch() -> None:
    stage = Stage(alpha=5)
    story = stage.opens("P")
    stage.say("P", "r1 r2 r3", story.publish("ABC"))
    stage.run(3.0)
    stage.cluster = msgspec.structs.replace(stage.cluster, epoch=2)
    for replica in ("r1", "r2", "r3"):
        stage.restart(replica)
    stage.subscriber("S1")
    stage.run(5.0)
    assert stage.read("S1") == "ABC"


def test_session_of_an_old_epoch_takes_nothing_more() -> None:
    stage = Stage(alpha=5)
    story = stage.opens("P")
    stage.say("P", "r1 r2 r3", story.publish("AB"))
    stage.run(3.0)
    stage.cluster = msgspec.structs.replace(stage.cluster, epoch=2)
    for replica in ("r1", "r2", "r3"):
        stage.restart(replica)
    stage.heard_by.clear()
    stage.say("P", "r1 r2 r3", story.open(), story.publish("C", first=3))
    stage.run(3.0)
    codes = {each.code for each in stage.heard("P", StatusMessage, "r1")}
    assert StatusCode.REJECTED in codes
    assert codes <= {StatusCode.REJECTED, StatusCode.WAIT}
    assert [stage.holds(each, story) for each in ("r1", "r2", "r3")] == ["AB"] * 3

    new = stage.opens("P", 1)
    assert new.stream != story.stream
    stage.say("P", "r1 r2 r3", new.publish("C"))
    stage.run(3.0)
    assert [stage.holds(each, new) for each in ("r1", "r2", "r3")] == ["C"] * 3
