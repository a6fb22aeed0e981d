"""All mutants: what is replaced, whose mistake it is, and which test sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.mutants import clients, counting, engine, limits, liveness, secrets
from tests.mutants.killers import KILLERS
from tests.mutants.mutant import Mutant

_QUORUM = "core.quorum:Quorum.byzantine"
_INSTALL = "broadcast.stream:ReplicaStream.install"
_RESTORE = "broadcast.stream:ReplicaStream.restore"
_MAKE_READY = "broadcast.stream:ReplicaStream.make_ready"
_PUBLICATION_MESSAGE = "auth.signatures:publication_message"

_Row = tuple[str, str, Callable[[Any], Any]]

_COUNTING: tuple[_Row, ...] = (
    (
        "Freeman, algorithms 3 and 6",
        "broadcast.path:common_digests",
        counting.any_content_counts,
    ),
    ("counted messages", "broadcast.tally:Cover.state", counting.messages_count),
    ("Freeman 3.1, Jehl and Meling 3.1; thresholds", _QUORUM, counting.votes_are_2f_plus_1),
    ("rule 5, certain votes", _QUORUM, counting.certain_at_q_plus_f_minus_1),
    ("rule 15, one word", _QUORUM, counting.one_word_is_enough),
    ("FIT-Broker 4.4.2", _QUORUM, counting.confirmed_at_f_plus_1_ready),
    ("FIT-Broker 3.1", _QUORUM, counting.two_f_plus_1_replicas_suffice),
    ("FIT-Broker 3.3; rule 18, floors", _QUORUM, counting.gap_on_f_plus_1_floors),
    ("rule 5, CONFIRMED", "broadcast.tally:Tally._imply", counting.confirmed_is_not_ready),
    ("rule 5, READY", "broadcast.path:Path.chain", counting.ready_without_prefix),
    ("equivocation", "broadcast.tally:Run.merge", counting.last_vote_counts),
    ("rule 15, one word", "broadcast.repair:Repair._adoptable", counting.adopted_on_one_word),
    (
        "FIT-Broker 4.4.4; rule 18, floors",
        "broadcast.floors:Floors.take",
        counting.floor_of_one_replica,
    ),
    ("rule 15, one word", "client.anchor:Anchor._agreed", counting.base_of_one_replica),
)

_SECRETS: tuple[_Row, ...] = (
    (
        "Freeman, listing 6.12; ambiguous input",
        "auth.digests:lengths",
        secrets.fields_without_lengths,
    ),
    ("Freeman, listing 6.12", "auth.digests:Digester.digest", secrets.large_ids_cut),
    ("PBFT-KV 3.1", "auth.tags:check_tag", secrets.tags_without_key),
    ("Freeman 6.6 and 7.1", "auth.tags:check_tag", secrets.tags_by_md5),
    ("PBFT-KV 3.1", "auth.tags:check_tag", secrets.tags_by_xor),
    ("PBFT-KV 3.1", "auth.keys:pair_key", secrets.keys_from_names),
    ("a field outside", "auth.tags:check_tag", secrets.tag_without_counter),
    ("a field outside", "wire.runs:_read_detached", secrets.body_is_not_checked),
    (
        "Freeman, listing 6.12; a field outside",
        "auth.tags:Statement.encode",
        secrets.statement_without_kind,
    ),
    ("mixed instances", "auth.digests:origin", secrets.stream_without_channel),
    ("mixed instances; rule 21, epochs", "auth.keys:pair_info", secrets.keys_of_all_epochs),
    (
        "mixed instances; rule 21, epochs",
        "auth.digests:session_of",
        secrets.session_without_epoch,
    ),
    ("replay and reflection", "auth.keys:pair_info", secrets.keys_without_direction),
    ("replay and reflection", "wire.link:Opener._check", secrets.frames_replayed),
    ("tags as proof", "auth.signatures:check_proof", secrets.tags_as_proof),
    ("tags as proof", _PUBLICATION_MESSAGE, secrets.signature_without_position),
    ("decoders", "wire.runs:read_bodies", secrets.allocates_before_checking),
    ("decoders", "wire.primitives:_utf8", secrets.decoder_crashes),
)

_ENGINE: tuple[_Row, ...] = (
    ("equivocation", "broadcast.intake:Intake._compare", engine.second_vote),
    ("rule 3, one vote", _RESTORE, engine.votes_forgotten),
    ("rule 3, one vote", "broadcast.pledges:Pledges.agree", engine.lost_body_frees_its_vote),
    ("rule 3, one vote", "broker.shelf:Shelf._unhear", engine.vote_released),
    ("rule 5, READY", _RESTORE, engine.ready_forgotten),
    ("rule 5, READY", _MAKE_READY, engine.ready_not_stored),
    ("rule 5, READY", _MAKE_READY, engine.ready_without_digests),
    (
        "rule 2, incarnations",
        "broadcast.context:Replicas.may_vote",
        engine.votes_in_any_incarnation,
    ),
    ("rule 2, incarnations", "client.publisher:Publisher._outdated", engine.incarnation_ignored),
    (
        "rule 2, incarnations",
        "broadcast.stream:ReplicaStream.forget",
        engine.new_life_cancels_nothing,
    ),
    ("rule 2, incarnations", "broker.incarnations:Incarnations.renew", engine.rotated_from_birth),
    ("rule 11, 2α", "broadcast.stream:ReplicaStream.limit", engine.no_limit),
    ("rule 11, 2α", "broadcast.stream:ReplicaStream.taint", engine.taint_forgotten),
    ("rule 6, replaced slots", _INSTALL, engine.later_votes_dropped),
    ("rule 6, replaced slots", _INSTALL, engine.slots_not_replaced),
    ("rule 4, order", "broadcast.intake:Intake._wait", engine.early_ones_voted),
    ("order by arrival", "broadcast.intake:Intake.publish", engine.order_by_arrival),
    ("rule 15, one word", "broker.statements:Statements.opening", engine.adopts_without_rights),
)

_LIVENESS: tuple[_Row, ...] = (
    ("Freeman 5.8", "broadcast.telling:Teller.due", liveness.tail_never_told),
    ("Freeman 6.2, α", "broadcast.telling:Teller._tell_held", liveness.within_put_off),
    ("Freeman 6.2, α", "broadcast.telling:Teller.repeat", liveness.said_once),
    ("rule 13, repair", "broadcast.repair:Repair.run", liveness.no_repair),
    ("Freeman 5.8", "broadcast.repair:Repair._fetch", liveness.bodies_not_fetched),
    ("Wu, algorithm 2", "broadcast.repair:Repair.tick", liveness.repair_once),
    ("Wu, algorithm 2", "broadcast.repair:Repair.bodies", liveness.any_body_taken),
    ("rule 11, 2α", "broker.peers:Peers.bodies", liveness.adoption_waits_for_sessions),
    ("rule 13, repair", "broker.clients:Clients._asked", liveness.put_away_and_silent),
    (
        "FIT-Broker 3.3; order by arrival",
        "broker.subscriptions:Subscriptions._pump",
        liveness.drops_when_full,
    ),
    ("rule 18, floors", "broker.retention:Retention._close", liveness.aged_floor_confirms),
)

_LIMITS: tuple[_Row, ...] = (
    ("a trusted sender", "broker.arrivals:Arrivals.add", limits.sender_not_compared),
    ("a trusted sender", "broker.desk:Desk.step", limits.clients_vote),
    ("Freeman 6.2, busy", "broker.admission:Admission._share", limits.busy_for_everybody),
    ("Freeman 6.4; without bound", "broker.shelf:Shelf.heard_of", limits.streams_without_bound),
    (
        "rule 11, 2α; without bound",
        "broker.admission:Admission._counts",
        limits.sessions_without_bound,
    ),
    ("without bound", "broadcast.intake:Intake._wait", limits.early_without_bound),
    ("Jehl and Meling 4", "core.rates:Bucket.take", limits.questions_without_bound),
    (
        "rule 19, rights",
        "broker.admission:Admission._is_open",
        limits.taken_without_open,
    ),
    ("Freeman 6.4", "broadcast.tally:Run.trim", limits.nothing_forgotten),
    (
        "Freeman 6.4; Jehl and Meling 4",
        "broker.retention:Retention.enforce",
        limits.kept_for_ever,
    ),
    ("rule 14, resending", "broker.admission:Admission.publish", limits.credit_given_once),
    ("rule 17, block", "broker.blocking:Blocking.limit", limits.credit_ignores_blockers),
    ("rule 17, block", "core.channel:Channel.trusts_subscriber", limits.anybody_blocks),
    ("rule 17, block", "broker.blocking:Blocking.end", limits.dead_ones_block),
    ("rule 17, block", "broker.blocking:Blocking.remind", limits.waits_in_silence),
    ("rule 22, evidence", "broadcast.context:Context.accuse", limits.evidence_without_bound),
    ("rule 22, evidence", "broadcast.context:Context.accuse", limits.evidence_crowded_out),
)

_CLIENTS: tuple[_Row, ...] = (
    ("rule 14, resending", "client.session:Session.repeat", clients.publisher_sends_once),
    ("rule 14, pulling", "client.pulling:Pulling.pull", clients.subscriber_waits),
    ("Wu, algorithm 2", "client.pulling:Pulling.pull", clients.asks_once),
    (
        "rule 8, delivery",
        "client.follower:Follower._confirmed_upto",
        clients.chain_taken_on_trust,
    ),
    ("rule 8, delivery", "client.follower:Follower._checked", clients.body_taken_on_trust),
    (
        "rule 5, certain votes",
        "client.follower:Follower._confirmed_upto",
        clients.certain_in_the_middle,
    ),
    ("rule 18, floors", "client.follower:Follower.floor", clients.unconfirmed_floor_confirms),
    ("rule 16, starts", "client.subscriber:Subscriber._abandon", clients.resting_forgotten),
    ("rule 16, starts", "client.listing:Listing.add", clients.listing_pushed_out),
    ("without bound", "client.copies:Copies.add", clients.copies_without_bound),
    ("rule 15, one word", "client.follower:Follower.believed", clients.one_replica_announces),
    ("rule 15, one word", "client.session:Session.status", clients.one_rejection_is_final),
)

MUTANTS: dict[str, Mutant] = {}
for _source, _target, _make in (
    *_COUNTING,
    *_SECRETS,
    *_ENGINE,
    *_LIVENESS,
    *_LIMITS,
    *_CLIENTS,
):
    _name = _make.__name__.replace("_", "-")
    assert _name not in MUTANTS, _name
    MUTANTS[_name] = Mutant(_name, _source, _target, _make, KILLERS.get(_name, ""))
