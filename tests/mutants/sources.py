"""Whose mistakes the mutants are; each of these has at least one."""

from __future__ import annotations

PAPERS = {
    "Freeman 3.1, Jehl and Meling 3.1": "delivers on 2f+1 votes, whatever n is",
    "Freeman 5.8": "sends a history of full contents, and nothing after a burst's last publication",
    "Freeman 6.2, busy": "has one flag for the whole broker, which starves everybody",
    "Freeman 6.2, α": "counts to α anew whenever anything is sent, and asks once for a history",
    "Freeman 6.4": "keeps maps of everything that was ever sent",
    "Freeman 6.6 and 7.1": "authenticates with MD5",
    "Freeman, algorithms 3 and 6": "counts messages, whatever they contain",
    "Freeman, listing 6.12": "puts fields without their lengths, and cut short, into a tag",
    "FIT-Broker 3.1": "orders nothing, has 2f+1 replicas, and trusts publishers unasked",
    "FIT-Broker 3.3": "drops different events from full queues at each replica",
    "FIT-Broker 4.4.2": "decides on f+1",
    "FIT-Broker 4.4.4": "takes over a state from one replica",
    "Jehl and Meling 4": "leaves open how long something is kept, and who may ask how often",
    "PBFT-KV 3.1": "combines a plain hash with a key by XOR, and computes keys from addresses",
    "Wu, algorithm 2": "asks once for a body, and takes any",
}
"""What was published and must not be followed."""

MISTAKES = {
    "ambiguous input": "two things have one input to a hash or tag",
    "a field outside": "something is believed that no tag, hash or signature covers",
    "mixed instances": "what was said in one channel, session or epoch counts in another",
    "counted messages": "messages are counted instead of distinct senders that agree",
    "a trusted sender": "a message is believed to come from whom it names",
    "replay and reflection": "what was said once counts again, or for its receiver",
    "thresholds": "two sets that decide need not share a correct replica",
    "tags as proof": "what convinces one party is taken for a proof to all",
    "equivocation": "two contents of one id both count",
    "without bound": "a party makes others hold as much as it likes",
    "decoders": "bytes crash a decoder, or make it allocate before it checks",
    "order by arrival": "a queue, or time, decides what stands where",
}
"""What has killed such systems."""

RULES = {
    "rule 2, incarnations": "who lost its votes casts none where they are missing",
    "rule 3, one vote": "one vote per id, for ever, stored before it is stated",
    "rule 4, order": "votes are cast in order; what arrives early waits",
    "rule 5, READY": "READY is stored, with its digests, and covers a whole prefix",
    "rule 5, CONFIRMED": "it counts as its author's votes and READY",
    "rule 5, certain votes": "Q+f equal votes at every position confirm",
    "rule 6, replaced slots": "confirmed content replaces a slot; later votes stay",
    "rule 8, delivery": "a body whose digest was recomputed, on a chain that was computed",
    "rule 11, 2α": "unconfirmed votes and sessions are few; adoption waits for neither",
    "rule 13, repair": "replicas fetch what they missed, all the time",
    "rule 14, resending": "a publisher sends until a quorum has it, within credit",
    "rule 14, pulling": "a subscriber that is behind asks",
    "rule 15, one word": "no single replica's word governs anybody",
    "rule 16, starts": "a stream that was delivered goes on where it was",
    "rule 17, block": "only a trusted subscriber stops a channel, and never beyond its link",
    "rule 18, floors": "a gap needs n-f floors; what went by age confirms nothing",
    "rule 19, rights": "what OPEN checks holds for every publication",
    "rule 21, epochs": "votes are never counted across epochs",
    "rule 22, evidence": "who lies is reported: bounded, and a proof never for want of room",
}
"""What this protocol's own rules warn of."""

ALL = {**PAPERS, **MISTAKES, **RULES}
