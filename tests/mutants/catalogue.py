"""All mutants: what is replaced, whose mistake it is, and which test sees it."""

from __future__ import annotations

from tests.mutants import counting, engine, limits, secrets
from tests.mutants.killers import KILLERS
from tests.mutants.mutant import Mutant

_QUORUM = "core.quorum:Quorum.byzantine"

_ROWS = (
    ("Freeman, algorithms 3 and 6", "broadcast.path:common_digests", counting.any_content_counts),
    ("counting messages", "broadcast.tally:Cover.state", counting.messages_count),
    ("Freeman 3.1, Jehl-Meling 3.1", _QUORUM, counting.votes_are_2f_plus_1),
    ("rule of certain votes", _QUORUM, counting.certain_at_q_plus_f_minus_1),
    ("rule of one word", _QUORUM, counting.one_word_is_enough),
    ("Bracha's thresholds", _QUORUM, counting.confirmed_at_f_plus_1_ready),
    ("FIT-Broker 3.1", _QUORUM, counting.two_f_plus_1_replicas_suffice),
    ("FIT-Broker 3.3", _QUORUM, counting.gap_on_f_plus_1_floors),
    ("rule of confirmed", "broadcast.tally:Tally._imply", counting.confirmed_is_not_ready),
    ("rule of prefixes", "broadcast.path:Path.chain", counting.ready_without_prefix),
    ("equivocation", "broadcast.tally:Run.merge", counting.last_vote_counts),
    ("Freeman, listing 6.12", "auth.digests:lengths", secrets.fields_without_lengths),
    ("Freeman 6.6 and 7.1", "auth.tags:tag", secrets.tag_without_key),
    ("a field outside the tag", "auth.tags:check_tag", secrets.tag_without_counter),
    ("mixed instances", "auth.digests:origin", secrets.stream_without_channel),
    ("mixed epochs", "auth.keys:pair_info", secrets.keys_of_all_epochs),
    ("reflection", "auth.keys:pair_info", secrets.keys_without_direction),
    ("replay", "wire.link:Opener._check", secrets.frames_replayed),
    ("tags as proof", "auth.signatures:check_proof", secrets.tags_as_proof),
    (
        "tags as proof",
        "auth.signatures:publication_message",
        secrets.signature_without_position,
    ),
    ("a field outside the tag", "wire.runs:_read_detached", secrets.body_is_not_checked),
    ("decoders", "wire.runs:read_bodies", secrets.allocates_before_checking),
    ("decoders", "wire.primitives:_utf8", secrets.decoder_crashes),
    ("equivocation", "broadcast.intake:Intake._compare", engine.second_vote),
    (
        "rule of one vote",
        "broadcast.stream:ReplicaStream.restore",
        engine.votes_forgotten,
    ),
    ("rule of READY", "broadcast.stream:ReplicaStream.restore", engine.ready_forgotten),
    ("rule of READY", "broadcast.stream:ReplicaStream.make_ready", engine.ready_not_stored),
    (
        "rule of incarnations",
        "broadcast.context:Replicas.may_vote",
        engine.votes_in_any_incarnation,
    ),
    ("rule of incarnations", "client.publisher:Publisher._outdated", engine.incarnation_ignored),
    ("rule of 2α", "broadcast.stream:ReplicaStream.limit", engine.no_limit),
    (
        "rule of replaced slots",
        "broadcast.stream:ReplicaStream.install",
        engine.later_votes_dropped,
    ),
    (
        "rule of replaced slots",
        "broadcast.stream:ReplicaStream.install",
        engine.slots_not_replaced,
    ),
    ("rule of 2α", "broadcast.stream:ReplicaStream.taint", engine.taint_forgotten),
    ("Freeman 5.8", "broadcast.telling:Teller.due", engine.tail_never_told),
    ("Freeman 6.2", "broadcast.telling:Teller._tell_held", engine.within_put_off),
    ("Freeman 6.2", "broadcast.telling:Teller.repeat", engine.said_once),
    ("Freeman, figure 3.2", "broadcast.repair:Repair.run", engine.no_repair),
    ("rule of order", "broadcast.intake:Intake._wait", engine.early_ones_voted),
    ("rule of 2α", "broadcast.repair:Repair._want", engine.adoption_waits_for_sessions),
    ("rule of resending", "client.session:Session.repeat", engine.publisher_sends_once),
    ("rule of pulling", "client.pulling:Pulling.pull", engine.subscriber_waits),
    ("rule of delivery", "client.follower:Follower._confirmed_upto", engine.chain_taken_on_trust),
    ("rule of floors", "client.follower:Follower.floor", engine.unconfirmed_floor_confirms),
    ("order by time", "broadcast.intake:Intake.publish", engine.order_by_arrival),
    ("trusting the sender field", "broker.arrivals:Arrivals.add", limits.sender_not_compared),
    ("trusting the sender field", "broker.desk:Desk.step", limits.clients_vote),
    ("Freeman 6.2", "broker.admission:Admission._share", limits.busy_for_everybody),
    ("Freeman 6.4", "broker.shelf:Shelf.heard_of", limits.streams_without_bound),
    ("rule of 2α", "broker.admission:Admission._counts", limits.sessions_without_bound),
    ("Freeman 6.4", "broadcast.intake:Intake._wait", limits.early_without_bound),
    ("Jehl-Meling 4", "broker.rates:Bucket.take", limits.questions_without_bound),
    ("Freeman 6.4", "broadcast.tally:Run.trim", limits.nothing_forgotten),
    ("unbounded topics", "client.copies:Copies.add", limits.copies_without_bound),
    ("rule of one word", "client.follower:Follower.believed", limits.one_replica_announces),
    ("rule of one word", "client.session:Session.status", limits.one_rejection_is_final),
)

MUTANTS: dict[str, Mutant] = {}
for _source, _target, _make in _ROWS:
    _name = _make.__name__.replace("_", "-")
    assert _name not in MUTANTS, _name
    MUTANTS[_name] = Mutant(_name, _source, _target, _make, KILLERS.get(_name, ""))
