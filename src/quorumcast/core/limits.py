"""Every bound on what a peer can make us hold or do, with its reason.

Nothing that arrives from a peer may grow memory past what these say. Sizes are in bytes,
times in seconds, the rest counts.
"""

from __future__ import annotations

# -- frames and bodies -------------------------------------------------------------------------

FRAME_BYTES = 16 * 2**20
"""A frame. Large enough for one maximal body and its header; what a decoder may allocate."""

MESSAGE_BYTES = 192 * 1024
"""Bodies in one message, if there are several: what is read from a socket at once holds a frame of
it, and a processor's cache does."""

USUAL_FRAME_BYTES = 224 * 1024
"""A frame of several messages. What is longer is one message with a long body."""

FRAME_MESSAGES = 4096
"""Messages in a frame, which is handled as a whole: so many take some tens of milliseconds, and
then it is somebody else's turn. A sender that has more to say makes more frames."""

BODY_BYTES = 8 * 2**20
"""A publication's body. Half a frame, so that a body and a turn's statements fit together."""

INLINE_BODY_BYTES = 1024
"""Above this a body travels detached, hashed once; below, the second hash would cost more than
the tag's pass over it."""

NAME_BYTES = 128
"""A party's or channel's name: one length byte on the wire, and streams are dictionary keys."""

REASON_BYTES = 512
"""A reason in a status: for a person to read, not a channel for data."""

CERTIFICATE_BYTES = 1024
"""A client certificate: a name, two keys, a signature."""

REPLICAS = 64
"""Replicas in a cluster: openings and Hello name all of them."""

RUN_POSITIONS = 65_536
"""Positions in one run on the wire: 2α of the largest α a channel may choose."""

PATTERNS = 64
"""Patterns in a subscription: each is matched against every new stream."""

HEADS_PAGE = 256
"""Streams in one `Heads`: a page is a few tens of kilobytes."""

CHARTER_BYTES = 4 * 2**20
"""The operator's channels and revoked names, packed: handed on whole, within a frame."""

REPORT_BYTES = 1 * 2**20
"""A replica's report of itself: a thousand channels, and what it knows of suspects."""

STREAM_CACHE = 4096
"""Decoded streams that a decoder remembers, so that equal bytes give one object."""

# -- a replica's state -------------------------------------------------------------------------

SESSIONS_UNCONFIRMED = 4
"""M: sessions per publisher and lane in which positions are unconfirmed; bounds how far
correct subscribers can differ by the work of a faulty publisher."""

SESSION_QUIET_SECONDS = 60.0
"""A session without an own vote or confirmation for this long stops counting towards M."""

STREAMS_PER_PUBLISHER = 4096
"""Streams of one publisher in a channel that a replica retains; a publisher restarting once a
minute opens 1,440 a day. Each costs a few hundred bytes while nothing happens in it."""

STREAMS_PER_CHANNEL = 65_536
"""Streams of a channel that a replica lets publishers open; at rest some 30 MB."""

FOREIGN_STREAMS_PER_PEER = 1024
"""Streams known from a peer's word alone. Its newest replace its oldest."""

ACTIVE_STREAMS = 1024
"""Streams with nothing left to say that stay in memory before the oldest goes to rest."""

LOADING_MESSAGES = 256
"""Messages that wait for one stream to be read back; what comes above is repeated by its sender."""

GATHERED_PUBLICATIONS = 1024
"""Messages of one stream that are gathered into runs within a turn, before they are looked at."""

GATHERED_BYTES = 1 * 2**20
"""And bytes of them: shares are looked at when a run is."""

LOADING_BYTES = 16 * 2**20
"""What such messages of a whole channel may amount to."""

REVISIT_SECONDS = 30.0
"""How often streams are taken up again in which all was said and nobody could help."""

REVISITED_STREAMS = 16
"""How many of them at a time."""

RESTATEMENTS = 3
"""Repetitions of what a stream states when it is read back; the next visit comes anyway."""

EARLY_BYTES = 4 * 2**20
"""Bodies of one publisher that arrived before their predecessors and wait."""

EARLY_CHANNEL_BYTES = 64 * 2**20
"""Such bodies of all publishers of a channel; each has an equal part of it."""

SHARE_BYTES = 32 * 2**20
"""Bodies in flight (voted for, unconfirmed) of all publishers of a channel at a replica; each
publisher has an equal part of it."""

TELL_BYTES = SHARE_BYTES // 8
"""Bodies voted for and not yet told to peers that make a replica tell them, whatever their number:
a publisher of large bodies must not wait for the clock while its share is used up."""

SHARE_LEAST_BYTES = 1 * 2**20
"""A publisher's part never shrinks below this, however many there are."""

PUBLISHERS_IN_FLIGHT = 4096
"""Publishers with unconfirmed bodies at one time; the next is told to WAIT."""

CLIENTS = 10_000
"""Clients with a subscription at a replica."""

FOLLOWED_STREAMS = 16_384
"""Streams that one subscription follows at a replica: a cursor each."""

READS_PER_CLIENT = 4
"""Reads from the store under way for one client; further requests are dropped, and asked again."""

READ_BYTES = 1 * 2**20
"""Bodies in the answer to one read: a chunk of a catch-up."""

READ_POSITIONS = 4096
"""Positions in the answer to one read."""

PULLS_PER_SECOND = 2000.0
"""Questions that one party may ask a replica in the long run (retransmissions, digests, heads);
what exceeds it is dropped, and asked again after its backoff."""

PULLS_BURST = 4000
"""Questions that one party may ask at once."""

EVIDENCE_PER_STREAM = 8
"""Evidence of one weight against the same parties in a stream: a liar repeats itself, the report
need not."""

ANSWER_BYTES = 4096
"""What an answer may have for one token; a longer one costs its asker more."""

ANSWER_HEADS = 64
"""Heads that an answer may have for one token, in the same way."""

SUBSCRIBE_STREAMS = 8
"""Streams that a new subscription is compared with for one token."""

SUBSCRIBE_PATTERNS = 0.5
"""Patterns that are made ready for comparison for one token: each takes some 0.2 ms."""

# -- repetition --------------------------------------------------------------------------------

REPEAT_SECONDS = 0.2
"""The first repetition of a statement or question that had no answer."""

REPEAT_MOST_SECONDS = 5.0
"""Backoff doubles up to this."""

REPEATS = 40
"""Unasked repetitions to one receiver that does not react; afterwards it has to ask."""

HEADS_SECONDS = 1.0
"""How often a party asks for heads while something changes; doubles up to the next."""

HEADS_MOST_SECONDS = 10.0
"""How often it asks when nothing does: how long a lost last statement can go unnoticed."""

# -- clients -----------------------------------------------------------------------------------

SUBSCRIBER_WINDOW = 4096
"""Positions that a subscriber takes beyond what it delivered, per stream."""

LISTED_STREAMS = 16_384
"""Streams that one replica lists and that are not followed: as many as it would serve."""

QUEUE_BYTES = 64 * 2**20
"""Bodies that wait in a subscription's queue for their reader, unless it says otherwise: the number
of events alone bounds nothing where a body may have 8 MiB."""

COPIES_BYTES = 64 * 2**20
"""Bodies that one replica sent to a subscriber of a channel and that are not delivered yet."""

COPIES_STREAM_BYTES = 32 * 2**20
"""Of them, those of one stream: a publisher of large batches has dozens in flight, and what does
not fit has to be asked for again."""

CANDIDATE_STREAMS = 256
"""Streams that one replica alone announces to a subscriber; its newest replace its oldest."""

ROTATE_POSITIONS = 64
"""Consecutive positions whose bodies come from the same f+1 replicas."""

TAIL_BYTES = 16 * 2**20
"""What a publisher keeps of its sessions after it is confirmed, for replicas that are a little
behind: to send it is cheaper for all than to have it fetched from others."""

TAIL_OVERHEAD_BYTES = 128
"""What a publication that is kept takes besides its body."""

AGAIN_BYTES = 32 * 2**20
"""Bodies that a publisher sends to one replica again at once, whatever that says it lacks."""

AGAIN_BYTES_PER_SECOND = 8.0 * 2**20
"""And in the long run."""

OPEN_BACKOFF_SECONDS = 1.0
"""Between two sessions that a publisher opens because of one replica; doubles."""

OPEN_BACKOFF_MOST_SECONDS = 300.0
"""A replica that changes its incarnation at every chance costs a session per five minutes."""

HANDOVER_SECONDS = 30.0
"""How long a publisher waits for its old session's confirmation before it goes on in a new one."""
