"""Who says it: identities, certificates, the manifest, keys, tags, signatures, digests.

Bytes in, bytes out. Keys, nonces and seeds are handed in; nothing here draws randomness, reads a
file or asks for the time. Of Quorumcast, only `core` may be imported here.

- `identity`: a party's own keys, and `verify`
- `names`, `certificate`: what a client may be called, and the operator's word that it is
- `manifest`: the cluster's fixed part, its id and its digests
- `keys`, `tags`: what convinces one receiver
- `greetings`, `handshake`: how two parties prove who they are when they connect
- `digests`, `signatures`: what a publication is, and what convinces everybody
"""

from quorumcast.auth.certificate import Certificate, check, issue
from quorumcast.auth.digests import Digester, chain_after, chains_after, origin, session_of
from quorumcast.auth.identity import Identity, PublicKeys, verify
from quorumcast.auth.keys import NONCE_BYTES, connection_key, pair_key
from quorumcast.auth.manifest import Manifest, ReplicaEntry
from quorumcast.auth.names import name_fault
from quorumcast.auth.signatures import (
    check_proof,
    publication_message,
    sign_publication,
    verify_publication,
)
from quorumcast.auth.tags import (
    TAG_BYTES,
    Authenticator,
    Statement,
    check_statement_tag,
    check_tag,
    make_authenticator,
    statement_tag,
    tag,
)

__all__ = [
    "NONCE_BYTES",
    "TAG_BYTES",
    "Authenticator",
    "Certificate",
    "Digester",
    "Identity",
    "Manifest",
    "PublicKeys",
    "ReplicaEntry",
    "Statement",
    "chain_after",
    "chains_after",
    "check",
    "check_proof",
    "check_statement_tag",
    "check_tag",
    "connection_key",
    "issue",
    "make_authenticator",
    "name_fault",
    "origin",
    "pair_key",
    "publication_message",
    "session_of",
    "sign_publication",
    "statement_tag",
    "tag",
    "verify",
    "verify_publication",
]
