"""Which test sees which mutant: the fastest that fails because of the mistake itself."""

from __future__ import annotations

_BROADCAST = "tests/broadcast/test_"
_BROKER = "tests/broker/test_"
_CLIENT = "tests/client/test_"
_RULE = "tests/scenarios/test_rule_"
_READY = f"{_RULE}05_ready_and_confirmed.py::test_"
_KNOWN = "tests/scenarios/test_known_mistakes.py::test_"
_HARD = "tests/scenarios/test_hard_"

_COUNTING = {
    "any-content-counts": f"{_BROADCAST}stream.py::test_"
    "without_faults_a_dissenter_does_not_confirm_its_own_vote",
    "messages-count": f"{_RULE}15_no_single_word.py::test_one_replica_cannot_acknowledge",
    "votes-are-2f-plus-1": f"{_RULE}07_quorum.py::test_"
    "two_sets_of_2f_plus_1_do_not_share_a_correct_replica_at_six",
    "certain-at-q-plus-f-minus-1": f"{_READY}"
    "one_vote_less_than_certain_does_not_confirm_at_six_replicas",
    "one-word-is-enough": f"{_RULE}07_quorum.py::test_f_plus_1_readys_are_joined_and_f_are_not",
    "confirmed-at-f-plus-1-ready": "tests/core/test_quorum.py::TestByzantine::test_"
    "what_confirms_makes_everybody_amplify",
    "two-f-plus-1-replicas-suffice": f"{_RULE}07_quorum.py::test_"
    "2f_plus_1_replicas_are_too_few_for_a_byzantine_channel",
    "gap-on-f-plus-1-floors": f"{_RULE}18_gaps.py::test_gap_needs_all_but_f_floors",
    "confirmed-is-not-ready": f"{_READY}confirmed_counts_as_ready",
    "ready-without-prefix": f"{_READY}no_ready_for_a_position_without_its_prefix",
    "last-vote-counts": f"{_BROKER}statements.py::test_second_vote_is_not_counted",
    "adopted-on-one-word": f"{_BROADCAST}repair.py::test_one_replicas_word_is_not_adopted",
    "floor-of-one-replica": f"{_BROKER}statements.py::test_one_replicas_floor_is_not_believed",
    "base-of-one-replica": f"{_CLIENT}anchor.py::test_one_replicas_word_is_no_base",
}

_SECRETS = {
    "fields-without-lengths": f"{_KNOWN}bytes_that_move_to_the_next_field_make_another_hash",
    "large-ids-cut": f"{_KNOWN}every_byte_of_a_large_position_is_in_its_digest",
    "tags-without-key": f"{_KNOWN}only_the_keyed_hash_is_a_tag",
    "tags-by-md5": f"{_KNOWN}only_the_keyed_hash_is_a_tag",
    "tags-by-xor": f"{_KNOWN}only_the_keyed_hash_is_a_tag",
    "keys-from-names": "tests/auth/test_keys.py::test_a_third_party_derives_another_key",
    "tag-without-counter": "tests/wire/test_link.py::test_"
    "the_payload_of_one_frame_fails_under_the_header_of_another",
    "body-is-not-checked": "tests/wire/test_link.py::test_detached_bodies_of_another_frame_fail",
    "statement-without-kind": "tests/auth/test_tags.py::test_a_statement_tag_covers_every_field",
    "stream-without-channel": "tests/auth/test_digests.py::test_"
    "a_digest_binds_its_stream_and_cluster",
    "keys-of-all-epochs": "tests/auth/test_keys.py::test_a_tag_of_another_epoch_or_cluster_fails",
    "session-without-epoch": f"{_RULE}21_epochs.py::test_"
    "session_of_an_old_epoch_takes_nothing_more",
    "keys-without-direction": "tests/auth/test_keys.py::test_a_tag_thrown_back_fails",
    "frames-replayed": "tests/wire/test_link.py::test_"
    "on_a_link_that_keeps_order_only_the_next_frame_opens",
    "tags-as-proof": "tests/auth/test_signatures.py::test_what_is_no_proof",
    "signature-without-position": "tests/auth/test_signatures.py::test_"
    "a_signature_is_for_one_digest_at_one_position_of_one_stream",
    "allocates-before-checking": "tests/wire/test_codec.py::test_"
    "no_count_in_a_small_payload_makes_memory",
    "decoder-crashes": "tests/wire/test_codec.py::test_no_count_in_a_small_payload_makes_memory",
}

_ENGINE = {
    "second-vote": f"{_RULE}03_one_vote.py::test_publisher_cannot_change_a_vote",
    "votes-forgotten": f"{_RULE}03_one_vote.py::test_"
    "replica_that_restarts_does_not_adopt_other_content",
    "lost-body-frees-its-vote": "tests/scenarios/test_votes_without_bodies.py::test_"
    "it_votes_for_nothing_else_at_these_positions",
    "vote-released": f"{_HARD}safety.py::test_a_vote_and_its_release_in_one_frame",
    "ready-forgotten": f"{_READY}ready_survives_a_restart",
    "ready-not-stored": f"{_READY}ready_survives_a_restart",
    "ready-without-digests": f"{_READY}ready_serves_the_digests_that_nobody_else_can_name",
    "votes-in-any-incarnation": f"{_RULE}02_incarnations.py::test_"
    "wiped_replica_does_not_vote_again",
    "incarnation-ignored": f"{_CLIENT}publisher.py::test_"
    "new_life_of_a_replica_opens_a_new_session_after_the_old_one_is_confirmed",
    "new-life-cancels-nothing": f"{_BROKER}incarnations.py::test_"
    "new_life_cancels_what_the_peer_stated",
    "rotated-from-birth": f"{_HARD}safety.py::test_"
    "rotated_incarnation_stays_valid_until_the_retention_age",
    "no-limit": f"{_RULE}11_two_alpha.py::test_"
    "subscribers_differ_by_at_most_2_alpha_in_a_stream_of_a_liar",
    "taint-forgotten": f"{_BROADCAST}repair.py::test_"
    "f_plus_1_votes_against_its_own_end_the_trust_in_the_publisher",
    "later-votes-dropped": f"{_RULE}06_replaced_slot.py::test_"
    "confirmed_content_replaces_a_conflicting_vote_and_keeps_later_ones",
    "slots-not-replaced": f"{_RULE}06_replaced_slot.py::test_"
    "confirmed_content_replaces_a_conflicting_vote_and_keeps_later_ones",
    "early-ones-voted": f"{_BROADCAST}intake.py::test_what_comes_early_waits_for_its_predecessors",
    "order-by-arrival": f"{_BROADCAST}intake.py::test_"
    "what_is_next_is_voted_for_and_what_was_is_not_again",
    "adopts-without-rights": f"{_HARD}safety.py::test_"
    "a_client_without_rights_cannot_publish_through_one_lying_replica",
}

_LIVENESS = {
    "tail-never-told": "tests/scenarios/test_jehl_meling.py::test_"
    "section_3_1_afterwards_both_learners_agree",
    "within-put-off": f"{_KNOWN}publisher_that_never_pauses_does_not_put_off_what_is_told",
    "said-once": f"{_RULE}12_tail.py::test_tail_is_told_after_a_restart",
    "no-repair": f"{_RULE}13_replica_repair.py::test_replica_that_does_not_answer_is_passed_over",
    "bodies-not-fetched": f"{_RULE}13_replica_repair.py::test_"
    "replica_that_does_not_answer_is_passed_over",
    "repair-once": f"{_RULE}13_replica_repair.py::test_replica_that_does_not_answer_is_passed_over",
    "any-body-taken": f"{_RULE}13_replica_repair.py::test_body_with_another_digest_is_not_adopted",
    "adoption-waits-for-sessions": f"{_BROKER}shares.py::test_"
    "adoption_does_not_wait_for_a_place_among_m",
    "put-away-and-silent": f"{_KNOWN}"
    "stream_that_was_put_away_unconfirmed_states_its_votes_when_asked",
    "drops-when-full": f"{_RULE}17_falling_behind.py::test_"
    "replica_pauses_where_credit_ends_and_goes_on_with_the_next_position",
    "aged-floor-confirms": f"{_RULE}18_retention.py::test_"
    "floor_of_unconfirmed_content_does_not_confirm_it",
}

_LIMITS = {
    "sender-not-compared": f"{_RULE}01_ids.py::test_nobody_opens_or_publishes_under_anothers_name",
    "clients-vote": f"{_BROKER}statements.py::test_client_that_speaks_as_a_replica_is_rejected",
    "busy-for-everybody": f"{_BROKER}shares.py::test_lanes_and_publishers_are_counted_apart",
    "streams-without-bound": f"{_BROKER}shelf.py::test_"
    "streams_of_one_publisher_on_a_peers_word_are_m_and_the_latest",
    "sessions-without-bound": f"{_BROKER}shares.py::test_a_quiet_session_stops_counting",
    "early-without-bound": f"{_BROADCAST}intake.py::test_early_bodies_are_bounded_in_bytes",
    "questions-without-bound": "tests/core/test_rates.py::test_burst_at_once_then_the_rate",
    "taken-without-open": f"{_BROKER}learning.py::test_"
    "nothing_is_taken_in_a_stream_that_was_not_opened",
    "nothing-forgotten": f"{_BROADCAST}tally.py::test_a_trimmed_run_keeps_what_is_above",
    "kept-for-ever": f"{_BROKER}retention.py::test_"
    "oldest_go_when_there_are_too_many_and_the_floor_carries_its_chain",
    "credit-given-once": f"{_BROKER}bounds.py::test_"
    "credit_comes_after_wait_once_there_is_room_again",
    "credit-ignores-blockers": f"{_RULE}17_blocking.py::test_"
    "subscriber_that_does_not_read_stops_its_publishers_and_lets_them_go_on",
    "anybody-blocks": f"{_BROKER}blocking.py::test_only_those_whom_the_channel_trusts_may_block",
    "dead-ones-block": f"{_RULE}17_blocking.py::test_subscriber_that_died_stops_nobody",
    "waits-in-silence": f"{_RULE}17_blocking.py::test_"
    "end_of_a_subscription_that_is_lost_is_said_again",
    "evidence-without-bound": f"{_BROKER}statements.py::test_evidence_is_limited_per_stream",
    "evidence-crowded-out": f"{_KNOWN}"
    "lies_of_a_replica_leave_room_for_the_proof_against_a_publisher",
}

_CLIENTS = {
    "publisher-sends-once": f"{_RULE}14_resend_and_pull.py::test_"
    "publisher_resends_where_acknowledgements_are_lost",
    "subscriber-waits": f"{_RULE}08_delivery.py::test_"
    "votes_that_cross_deliver_what_q_agree_on_at_each_position",
    "asks-once": f"{_CLIENT}follower.py::test_holders_are_asked_in_turn",
    "chain-taken-on-trust": f"{_RULE}18_gaps.py::test_chain_after_a_gap_is_f_plus_1_equal_words",
    "body-taken-on-trust": f"{_RULE}08_delivery.py::test_body_is_believed_by_its_digest_alone",
    "certain-in-the-middle": f"{_HARD}safety.py::test_delivered_as_confirmed_means_confirmed",
    "unconfirmed-floor-confirms": f"{_RULE}18_retention.py::test_"
    "subscriber_takes_no_confirmation_from_a_floor_by_age",
    "resting-forgotten": f"{_CLIENT}subscriber.py::test_"
    "stream_at_rest_that_a_liar_wakes_and_drives_out_is_not_delivered_twice",
    "listing-pushed-out": f"{_HARD}liveness.py::test_"
    "a_listing_that_comes_replica_by_replica_loses_no_stream",
    "copies-without-bound": f"{_CLIENT}copies.py::test_bytes_are_bounded_per_replica",
    "one-replica-announces": f"{_CLIENT}subscriber.py::test_"
    "streams_of_one_replica_are_candidates_and_bounded",
    "one-rejection-is-final": f"{_RULE}15_no_single_word.py::test_"
    "one_rejection_is_a_suspicion_and_f_plus_1_equal_ones_an_error",
}

KILLERS: dict[str, str] = {
    **_COUNTING,
    **_SECRETS,
    **_ENGINE,
    **_LIVENESS,
    **_LIMITS,
    **_CLIENTS,
}
