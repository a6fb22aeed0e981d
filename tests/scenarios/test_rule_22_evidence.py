"""Rule 22: proof, local evidence and suspicion; who is convicted, and who must not be."""

from __future__ import annotations

import msgspec
import pytest

from quorumcast.auth.signatures import check_proof
from quorumcast.core.evidence import Evidence, SignedDigest, Weight
from quorumcast.core.limits import EVIDENCE_PER_STREAM
from quorumcast.core.messages import AskDigests, Held, Message
from tests.scenarios.stage import Stage
from tests.scenarios.story import Story, identity

CORRECT = ("r1", "r2", "r3")
ALL = "r1 r2 r3 r4"


def convicted(stage: Stage) -> set[str]:
    """Whom anybody holds guilty: by proof, or by what convinces the accuser alone."""
    return {
        party
        for found in stage.evidence.values()
        for each in found
        if each.weight is not Weight.SUSPICION
        for party in each.parties
    }


def found(stage: Stage, name: str, weight: Weight) -> list[Evidence]:
    return [each for each in stage.evidence[name] if each.weight is weight]


def signed_digest(story: Story, letter: str, position: int = 1) -> SignedDigest:
    digest, signature = story.digests(letter, position), story.signatures(letter, position)
    return SignedDigest(position, digest, signature)


# -- proof ----------------------------------------------------------------------------------------


def proven(stage: Stage) -> tuple[Story, Evidence]:
    """P sends two signed contents for one position to r1."""
    story = stage.opens("P")
    stage.say("P", "r1", story.publish("XA"))
    stage.flush()
    stage.say("P", "r1", story.publish("B", first=2))
    stage.flush()
    (evidence,) = stage.evidence["r1"]
    return story, evidence


def test_two_signatures_of_one_publisher_are_a_proof_for_anybody() -> None:
    stage = Stage(alpha=5, signed=True)
    story, evidence = proven(stage)
    assert evidence.weight is Weight.PROOF
    assert evidence.parties == frozenset({"P"})
    assert evidence.stream == story.stream
    assert (evidence.first, evidence.second) == (
        signed_digest(story, "A", 2),
        signed_digest(story, "B", 2),
    )
    assert check_proof(evidence, stage.cluster)


def test_proof_does_not_hold_elsewhere_or_altered() -> None:
    stage = Stage(alpha=5, signed=True)
    story, evidence = proven(stage)
    other_operator = msgspec.structs.replace(stage.cluster, operator=identity("x").public.sign)
    assert not check_proof(evidence, other_operator)
    assert not check_proof(evidence, msgspec.structs.replace(stage.cluster, id=bytes(32)))

    first, other = evidence.first, signed_digest(story, "X")
    changes: list[dict[str, object]] = [
        {"second": first},
        {"second": other},  # another position: no contradiction
        {"second": signed_digest(story.unsigned(), "B", 2)},  # no signature
        {"second": story.held("B", 2)},
        {"weight": Weight.LOCAL},
        {"parties": frozenset({"r1"})},
        {"certificate": b""},
        {"stream": stage.opens("P", 2).stream},
    ]
    for change in changes:
        assert not check_proof(msgspec.structs.replace(evidence, **change), stage.cluster)


def test_forwarded_signature_proves_the_publishers_lie_and_spares_the_replica() -> None:
    stage = Stage(alpha=5, signed=True)
    story = stage.opens("P")
    stage.say("P", "r1", story.publish("A"))
    stage.say("P", "r2 r3", story.publish("B"))
    stage.run(5.0)

    proofs = found(stage, "r2", Weight.PROOF)
    assert proofs != []
    assert all(check_proof(each, stage.cluster) for each in proofs)
    assert {proofs[0].first, proofs[0].second} == {
        signed_digest(story, "A"),
        signed_digest(story, "B"),
    }
    assert convicted(stage) == {"P"}


def test_replica_to_which_alone_a_publisher_sent_is_not_convicted() -> None:
    stage = Stage(alpha=5, signed=True)
    stage.subscriber("S1")
    story = stage.opens("P")
    stage.say("P", "r1", story.publish("A"))
    stage.run(5.0)
    assert convicted(stage) == set()
    first = stage.said("r1", "r2", Held)[0]
    assert first.signatures == story.signatures("A")  # with its first statement about it
    assert [stage.holds(each, story) for each in CORRECT] == ["A", "A", "A"]


@pytest.mark.parametrize("restarts", [False, True])
def test_signature_is_forwarded_after_adoption_and_restart(restarts: bool) -> None:
    stage = Stage(alpha=50, signed=True)
    story = stage.opens("P")
    stage.drop("*", "r1 r2 r3", *[type(story.ready("A")), type(story.confirmed("A"))])
    stage.say("P", "r1", story.publish("AB"))
    stage.run(3.0)
    if restarts:
        stage.restart("r2")
    stage.heard_by.clear()
    stage.say("r4", "r2", story.ask_votes())
    stage.flush()
    assert story.held("AB") in stage.heard("r4", Held, "r2")


# -- content without a signature ------------------------------------------------------------------


def test_vote_without_the_publishers_signature_convicts_the_replica() -> None:
    stage = Stage(alpha=5, signed=True)
    story = stage.opens("P")
    stage.say("P", "r1 r2 r3", story.publish("A"))
    stage.flush()
    unsigned = story.unsigned().held("X")
    forged = msgspec.structs.replace(unsigned, signatures=bytes(64))
    stage.say("r4", "r1", unsigned)
    stage.say("r4", "r2", forged)
    stage.run(1.0)
    for name, said in (("r1", unsigned), ("r2", forged)):
        (evidence,) = found(stage, name, Weight.LOCAL)
        assert evidence.parties == frozenset({"r4"})
        assert (evidence.first, evidence.second) == (signed_digest(story, "A"), said)
    assert convicted(stage) == {"r4"}


@pytest.mark.parametrize("judge", ["r1", "S1"])
def test_vote_without_a_signature_convicts_also_where_i_have_none(judge: str) -> None:
    stage = Stage(alpha=5, signed=True)
    stage.subscriber("S1")
    story = stage.opens("P")
    stage.say("P", "r2", story.publish("A"))
    stage.flush()
    unsigned = story.unsigned()
    stage.say("r4", judge, story.opening_of(), unsigned.held("X"), unsigned.bodies("X"))
    stage.run(3.0)
    assert convicted(stage) == {"r4"}
    assert found(stage, judge, Weight.LOCAL) != []
    assert stage.holds("r1", story) == "A"


def test_publication_without_a_signature_is_rejected() -> None:
    stage = Stage(alpha=5, signed=True)
    story = stage.opens("P")
    stage.say("P", "r1", story.unsigned().publish("A"))
    other = story.publish("B")
    stage.say("P", "r1", msgspec.structs.replace(other, bodies=(b"C",)))
    stage.flush()
    assert stage.holds("r1", story) == ""
    assert len([each for each in stage.rejections["r1"] if each.sender == "P"]) == 2


# -- suspicion ------------------------------------------------------------------------------------


def test_unsigned_channel_suspects_replica_and_publisher_and_convicts_nobody() -> None:
    stage = Stage(alpha=5)
    story = stage.opens("P")
    stage.say("P", "r1", story.publish("A"))
    stage.say("P", "r2 r3", story.publish("B"))
    stage.run(5.0)

    assert convicted(stage) == set()
    suspicions = [each for each in found(stage, "r2", Weight.SUSPICION) if "r1" in each.parties]
    assert suspicions != []
    assert suspicions[0].parties == frozenset({"r1", "P"})
    assert (suspicions[0].first, suspicions[0].second) == (story.held("B"), story.held("A"))
    assert not any(check_proof(each, stage.cluster) for each in suspicions)


def test_lying_replica_of_a_correct_publisher_is_suspected_with_it_and_not_convicted() -> None:
    stage = Stage(alpha=5)
    stage.publisher("p")
    stage.publish("p", "A")
    stage.flush()
    story = stage.story("p")
    stage.hold("*", "*", *[type(story.ready("A")), type(story.confirmed("A"))])
    stage.say("r4", "r1 r2 r3", story.held("X"))
    stage.run(3.0)
    assert {each.parties for each in stage.evidence["r1"]} == {frozenset({"r4", "p"})}
    assert {each.weight for each in stage.evidence["r1"]} == {Weight.SUSPICION}


# -- local: statements of one sender that contradict ----------------------------------------------


def contradictions(story: Story) -> dict[str, tuple[Message, Message]]:
    return {
        "HELD": (story.held("A"), story.held("B")),
        "READY": (story.ready("AA"), story.ready("AB")),
        "CONFIRMED": (story.confirmed("AA"), story.confirmed("AB")),
        "floor": (story.confirmed("AA"), story.floor("AB")),
    }


@pytest.mark.parametrize("kind", ["HELD", "READY", "CONFIRMED", "floor"])
@pytest.mark.parametrize("judge", ["r1", "S1"])
@pytest.mark.parametrize("signed", [False, True])
def test_two_statements_to_me_that_contradict_convince_me(
    kind: str, judge: str, signed: bool
) -> None:
    stage = Stage(scripted="r2 r3 r4", alpha=5, signed=signed)
    stage.subscriber("S1")
    story = stage.opens("P")
    before, after = contradictions(story)[kind]
    stage.say("r4", judge, before)
    stage.flush()
    assert stage.evidence[judge] == []
    stage.say("r4", judge, before, after)
    stage.flush()

    (evidence,) = stage.evidence[judge]
    assert (evidence.weight, evidence.parties) == (Weight.LOCAL, frozenset({"r4"}))
    assert evidence.stream == story.stream
    if kind == "HELD":
        assert isinstance(evidence.first, Held)
        assert isinstance(evidence.second, Held)
        assert (evidence.first.digests, evidence.second.digests) == (
            story.digests("A"),
            story.digests("B"),
        )
    else:
        second = story.confirmed("AB") if kind == "floor" else after  # it counts as CONFIRMED
        assert (evidence.first, evidence.second) == (before, second)
    assert not check_proof(evidence, stage.cluster)


def test_statements_to_different_parties_contradict_for_nobody() -> None:
    stage = Stage(scripted="r3 r4", alpha=5)
    story = stage.opens("P")
    stage.say("r4", "r1", story.held("A"))
    stage.say("r4", "r2", story.held("B"))
    stage.run(1.0)
    assert convicted(stage) == set()


def test_position_within_a_longer_run_is_named() -> None:
    stage = Stage(scripted="r2 r3 r4", alpha=5)
    story = stage.opens("P")
    stage.say("r4", "r1", story.held("ABC"), story.held("BX", first=2))
    stage.flush()
    (evidence,) = stage.evidence["r1"]
    assert (evidence.first, evidence.second) == (story.held("C", 3), story.held("X", 3))


def test_statements_about_prefixes_of_one_chain_agree() -> None:
    stage = Stage(scripted="r2 r3 r4", alpha=5)
    story = stage.opens("P")
    stage.say("P", "r1", story.publish("ABC"))
    for text in ("AB", "A", "ABC", "AB"):
        stage.say("r4", "r1", story.held(text), story.ready(text), story.confirmed(text))
        stage.flush()
    stage.run(1.0)
    assert stage.evidence["r1"] == []


@pytest.mark.parametrize("kind", ["ready", "confirmed"])
@pytest.mark.parametrize("texts", [("AB", "X"), ("X", "AB"), ("A", "XB"), ("XB", "A")])
@pytest.mark.parametrize("judge", ["r1", "S1"])
def test_statements_that_are_not_prefixes_of_one_chain_contradict(
    kind: str, texts: tuple[str, str], judge: str
) -> None:
    stage = Stage(scripted="r2 r3 r4", alpha=5, protocol="bracha")
    stage.subscriber("S1")
    stage.drop("r1", "S1")
    story = stage.opens("P")
    stage.say("P", "r1", story.publish("AB"))
    stage.say("r2 r3", "S1", story.held("AB"), story.bodies("AB"))
    stage.flush()
    longer = max(texts, key=len)

    def names_its_digests(_: str, message: Message) -> list[Message]:
        return [story.digests_under(longer)] if isinstance(message, AskDigests) else []

    stage.answers("r4", names_its_digests)
    said = [getattr(story, kind)(text) for text in texts]
    for statement in said:
        stage.say("r4", judge, statement)
        stage.run(0.3)
    stage.run(3.0)
    (evidence,) = found(stage, judge, Weight.LOCAL)
    assert evidence.parties == frozenset({"r4"})
    assert {evidence.first, evidence.second} == set(said)


@pytest.mark.parametrize("judge", ["r1", "S1"])
def test_held_against_ones_own_later_ready_or_confirmed_is_legal(judge: str) -> None:
    stage = Stage(scripted="r2 r3 r4", alpha=5, protocol="bracha")
    stage.subscriber("S1")
    story = stage.opens("P")
    stage.say("r3", judge, story.held("B"), story.ready("A"))
    stage.run(1.0)
    stage.say("r3", judge, story.confirmed("A"), story.held("B"))
    stage.run(1.0)
    assert convicted(stage) == set()


def test_replica_whose_slot_is_replaced_is_not_convicted() -> None:
    stage = Stage(alpha=5, protocol="bracha")
    stage.subscriber("S1")
    story = stage.opens("P")
    stage.say("P", "r1 r2", story.publish("A"))
    stage.say("P", "r3", story.publish("BC"))
    stage.say("r4", "r1 r2", story.held("A"), story.ready("A"))
    stage.run(3.0)
    assert stage.holds("r3", story) == "AC"
    stage.restart("r3")
    stage.subscriber("S2")
    stage.run(5.0)
    assert convicted(stage) == set()


def test_held_at_or_below_the_confirmed_position_contradicts_nothing() -> None:
    stage = Stage(alpha=5, protocol="bracha")
    story = stage.opens("P")
    stage.say("P", "r1 r2 r3", story.publish("AB"))
    stage.say("r4", "r1", story.held("AB"))
    stage.run(3.0)
    assert stage.confirmed("r1", story) == 2
    stage.say("r4", "r1", story.held("XY"))
    stage.run(1.0)
    assert stage.evidence["r1"] == []


def test_publisher_that_sends_me_two_contents_convinces_me_alone() -> None:
    stage = Stage(alpha=5)
    story = stage.opens("P")
    stage.say("P", "r1", story.publish("A"))
    stage.say("P", "r1", story.publish("B"))
    stage.flush()
    (evidence,) = stage.evidence["r1"]
    assert (evidence.weight, evidence.parties) == (Weight.LOCAL, frozenset({"P"}))
    assert (evidence.first, evidence.second) == (
        SignedDigest(1, story.digests("A"), b""),
        SignedDigest(1, story.digests("B"), b""),
    )
    assert not check_proof(evidence, stage.cluster)


def test_liar_that_repeats_itself_fills_no_report() -> None:
    stage = Stage(scripted="r2 r3 r4", alpha=5)
    stage.subscriber("S1")
    story = stage.opens("P")
    for _ in range(100):
        stage.say("r4", "r1 S1", story.held("A"), story.held("B"), story.held("C"))
        stage.flush()
    assert 1 <= len(stage.evidence["r1"]) <= EVIDENCE_PER_STREAM
    assert 1 <= len(stage.evidence["S1"]) <= EVIDENCE_PER_STREAM
