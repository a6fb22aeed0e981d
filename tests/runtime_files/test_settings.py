"""`cluster.toml`: it comes back as it was written, and a wrong one is refused whole, by line."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorumcast.core.channel import Channel
from quorumcast.core.errors import ConfigError
from quorumcast.runtime.addresses import parse_address
from quorumcast.runtime.channels import ChannelSettings
from quorumcast.runtime.places import make_tls
from quorumcast.runtime.settings import address_fault, load_cluster, parse_cluster
from tests.runtime_files import strategies
from tests.runtime_files.made import PATH, at, cluster, identity, manifest

TEXT = cluster(revoked=("probe-9",)).text()
LINES = TEXT.splitlines()


def line_of(start: str, after: str = "") -> int:
    first = LINES.index(after) if after else 0
    return next(i for i, line in enumerate(LINES) if i >= first and line.startswith(start)) + 1


def changed(old: str, new: str) -> str:
    assert old in TEXT
    return TEXT.replace(old, new, 1)


def fault(text: str, *, signed: bool = False) -> str:
    with pytest.raises(ConfigError) as raised:
        parse_cluster(text, PATH, signed=signed)
    return str(raised.value)


# -- right files -----------------------------------------------------------------------------------


def test_what_is_written_is_read() -> None:
    assert parse_cluster(TEXT, PATH) == cluster(revoked=("probe-9",))
    found = parse_cluster(TEXT, PATH)
    assert found.channels == (Channel("alerts"),)
    assert found.revoked == ("probe-9",)
    assert found.addresses["r2"] == "tcp://127.0.0.1:7402"
    assert found.manifest.cluster().replicas == ("r1", "r2", "r3", "r4")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_whatever_is_written_is_read(data: st.DataObject) -> None:
    lab = data.draw(st.booleans())
    found = data.draw(strategies.several(lab=lab))
    revoked = tuple(data.draw(st.lists(strategies.NAMES, max_size=3, unique=True)))
    revoked = tuple(name for name in revoked if manifest().replica(name) is None)
    made = cluster(*found, revoked=revoked, version=data.draw(st.integers(1, 2**62)))
    made = cluster(*found, revoked=revoked, of=manifest(lab=lab)) if lab else made
    once = parse_cluster(made.text(), PATH)
    assert once == made
    assert once.text() == made.text()


def test_a_file_and_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "cluster.toml"
    path.write_text(TEXT, encoding="utf-8")
    wanted = at(cluster(revoked=("probe-9",)), path)
    assert load_cluster(path) == load_cluster(tmp_path) == wanted


def test_comments_order_and_defaults_are_free() -> None:
    text = changed("[[channel]]\n", "# mine\n[[channel]] # too\n")
    text = text.replace('protocol = "ab"\n', "").replace('protection = "bft"\n', "")
    text += 'subscribers = [ "*" , ]\nconfirm = { within = "0.25s" }\n'
    assert parse_cluster(text, PATH) == cluster(revoked=("probe-9",))


def test_certificates_of_links_are_kept_and_under_the_digest() -> None:
    der = make_tls("r1").certificate
    text = changed('name = "r1"\n', f'name = "r1"\ntls = "{b64encode(der).decode()}"\n')
    found = parse_cluster(text, PATH)
    assert found.manifest.replicas[0].tls == der
    assert found.manifest.digest() != cluster().manifest.digest()
    assert parse_cluster(found.text(), PATH) == found


# -- wrong files -----------------------------------------------------------------------------------

OPERATOR = cluster().manifest.operator.hex()
SIGN = manifest().replicas[0].keys.sign.hex()
AGREE = manifest().replicas[0].keys.agree.hex()
SIGN_2 = manifest().replicas[1].keys.sign.hex()
AGREE_2 = manifest().replicas[1].keys.agree.hex()

WRONG = [
    # what, its replacement, the line that is named, what is said
    ('name = "demo"', 'name = "de mo"', "name", 'cluster: name = "de mo" contains white space'),
    ('name = "demo"', "name = 5", "name", 'name = 5 is not a string: use "demo" or the like'),
    ('name = "demo"\n', "", "[cluster]", 'cluster: name is missing: add name = "demo"'),
    ('id = "', 'id = "00', "id", "id has 66 characters: use 64 hexadecimal digits"),
    ('nonce = "00', 'nonce = "ff', "id", "id does not fit operator, lab and nonce, which never"),
    ("lab = false", "lab = true", "id", "id does not fit operator, lab and nonce, which never"),
    ("lab = false", 'lab = "no"', "lab", "is neither true nor false: use one of them"),
    ('nonce = "00', 'nonce = "xx', "nonce", "has 64 characters: use 64 hexadecimal digits"),
    ("epoch = 1", "epoch = 0", "epoch", "epoch = 0 is out of range: use 1 to"),
    ("epoch = 1", 'epoch = "1"', "epoch", "is not a whole number: use 1 to"),
    ("faults = 1", "faults = -1", "faults", "faults = -1 is out of range: use 0 to 64"),
    ("faults = 1", "faults = 4", "faults", "4 replicas cannot tolerate 4 crash faults: use"),
    ("faults = 1\n", "", "[cluster]", "cluster: faults is missing: add faults = 0"),
    (f'operator = "{OPERATOR}', f'operator = "{"0" * 64}', "operator", "point of small order"),
    (f'operator = "{OPERATOR}"', 'operator = ""', "operator", "has 0 characters: use 64"),
    ("epoch = 1", "epok = 1", "epok", "cluster: there is no key epok: did you mean epoch?"),
    ('name = "r1"', 'name = "r 1"', 'name = "r 1"', 'name = "r 1" contains white space: use a n'),
    ('name = "r1"', 'name = "r2"', 'name = "r2"', "name is that of replica r2 too: each has"),
    ("tcp://127.0.0.1:7401", "127.0.0.1:7401", "address", "is not an address: use tcp://HOST"),
    ("tcp://127.0.0.1:7401", "tcp://127.0.0.1:0", "address", "has no host or no port from 1"),
    ("tcp://127.0.0.1:7401", "tcp://..:7401", "address", "has no host or no port from 1"),
    ("tcp://127.0.0.1:7401", "unix://run", "address", "is not an address: use tcp://HOST"),
    (SIGN, "0" * 64, "sign", "sign is wrong: signing key is a point of small order"),
    (SIGN, OPERATOR, "sign", "sign is that of the operator too: each has its own"),
    (SIGN, "12", "sign", "sign has 2 characters: use 64 hexadecimal digits"),
    (AGREE, "0" * 64, "agree", "agree is wrong: agreement key is a point of small order"),
    (AGREE, SIGN, "agree", "agree is that of replica r1 too: each has its own"),
    ('name = "r1"', 'tls = "AAAA"\nname = "r1"', "tls", "is not a certificate: use DER in base64"),
    ('name = "r1"', 'tls = "?"\nname = "r1"', "tls", "is not a certificate: use DER in base64"),
    ('name = "r1"', 'port = 7\nname = "r1"', "port", "replica r1: there is no key port: there are"),
    ("version = 1", "version = 0", "version", "version = 0 is out of range: use 1 to"),
    ("version = 1\n", "", "[signed]", "signed: version is missing: add version = 1"),
    ('["probe-9"]', '"probe-9"', "revoked", 'is not a list: use ["probe-9"] or the like'),
    ('["probe-9"]', '["r1"]', "revoked", 'has "r1", which is a replica: replicas leave with'),
    ('["probe-9"]', '["a", "a"]', "revoked", 'has "a" twice: use it once'),
    ('["probe-9"]', '["a/b"]', "revoked", "which contains a slash: use a client's name"),
    ('signature = "', 'signature = "x', "signature", "has 129 characters: use 128 hexadecimal"),
    ("[signed]", "[sined]", "[sined]", "there is no key sined: did you mean signed?"),
]


@pytest.mark.parametrize(("old", "new", "named", "said"), WRONG, ids=[each[3] for each in WRONG])
def test_a_wrong_value_is_named_by_line_and_key(old: str, new: str, named: str, said: str) -> None:
    text = changed(old, new)
    found = fault(text)
    assert said in found
    line = int(found.split(":")[1])
    assert found.startswith(f"cluster.toml:{line}: ")
    assert text.splitlines()[line - 1].startswith(named)


def test_the_second_of_two_equals_is_named() -> None:
    text = changed(SIGN_2, SIGN)
    line = line_of("sign", after='name = "r2"')
    assert fault(text).startswith(f"cluster.toml:{line}: replica r2: sign is that of replica r1")
    text = changed("127.0.0.1:7402", "127.0.0.1:7401")
    assert "replica r2: address is that of replica r1 too" in fault(text)
    text = TEXT + '\n[[channel]]\nname = "alerts"\n'
    last = len(text.splitlines())
    assert fault(text) == f"cluster.toml:{last}: two channels are named alerts: use a name once"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = ", "cluster.toml:1: not TOML: invalid value"),
        ("[cluster]\nname = demo", "cluster.toml:2: not TOML: invalid value"),
        ("[a]\n\n[a]\n", "cluster.toml:3: not TOML: cannot declare"),
        ('a = "open\n', "cluster.toml:1: not TOML: "),
        (f"a = {'9' * 5000}", "cluster.toml:1: not TOML: "),
        (f"a = {'[' * 20_000}", "cluster.toml: values within values are nested too deep"),
        ("", "cluster.toml: [cluster] is missing: it is in every file that init wrote"),
        ("cluster = 5", "cluster.toml:1: cluster = 5 is not a table: use [cluster]"),
        ("replica = 5", "cluster.toml: [cluster] is missing"),
    ],
)
def test_what_is_no_such_file(text: str, said: str) -> None:
    assert fault(text).startswith(said)


def test_replicas_and_channels_are_lists_of_tables() -> None:
    start, end = TEXT.index("[[replica]]\n"), TEXT.index("# Channels")
    assert "0 [[replica]] tables: use 1 to 64" in fault(TEXT[:start] + TEXT[end:])
    assert fault("replica = 5\n" + TEXT[:start] + TEXT[end:]) == (
        "cluster.toml:1: replica is not a list of tables: use [[replica]]"
    )
    text = "channel = [5]\n" + TEXT[: TEXT.index("[[channel]]")]
    assert fault(text) == "cluster.toml:1: channel is not a list of tables: use [[channel]]"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cluster.toml: cannot be read: No such file"):
        load_cluster(tmp_path)
    (tmp_path / "cluster.toml").write_bytes(b"[cluster]\nname = '\xff'\n")
    with pytest.raises(ConfigError, match="cluster.toml:2: not UTF-8: save it as UTF-8 text"):
        load_cluster(tmp_path)


# -- the operator's signature ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("publishers = []", 'publishers = ["*"]'),
        ('name = "alerts"', 'name = "alarms"'),
        ('["probe-9"]', "[]"),
        ("version = 1", "version = 2"),
        ('signature = "', 'signature = "00'),
    ],
)
def test_what_the_operator_did_not_sign_is_refused(old: str, new: str) -> None:
    text = changed(old, new)
    if old.startswith("signature"):  # of the right length, and wrong
        text = changed(cluster(revoked=("probe-9",)).charter.signature.hex(), "00" * 64)
    found = fault(text, signed=True)
    assert found.startswith(
        f"cluster.toml:{line_of('signature')}: signed: signature is not the ope"
    )
    assert found.endswith("with quorumcast channel sign")
    assert parse_cluster(text, PATH, signed=False).name == "demo", "to be signed again"


def test_a_file_without_signature_waits_for_one() -> None:
    start, end = TEXT.index("# Channels"), TEXT.index("[[channel]]")
    text = TEXT[:start] + TEXT[end:]
    assert "[signed] is missing" in fault(text, signed=True)
    assert parse_cluster(text, PATH, signed=False).charter.version == 0


def test_anothers_signature_does_not_count() -> None:
    made = cluster()
    forged = made.charter.signed(identity("mallory"), made.manifest.cluster_id)
    text = msgspec.structs.replace(made, charter=forged).text()
    assert "signature is not the operator's" in fault(text, signed=True)


# -- addresses -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    ["tcp://127.0.0.1:7400", "tcp://a-b.example:1", "tcp://[::1]:65535", "unix:///run/r1.sock"],
)
def test_addresses_that_links_understand(address: str) -> None:
    assert address_fault(address) is None
    assert str(parse_address(address)) == address


@pytest.mark.parametrize(
    "address",
    [
        "tcp://[..]:7400",
        "tcp://.:7400",
        "tcp://a:70000",
        "tcp://a:0",
        "tcp://a",
        "tcp://:7400",
        "tcp://a/b:7400",
        "http://a:7400",
        "unix://relative",
        f"unix:///{'x' * 100}",
        "",
    ],
)
def test_addresses_that_nobody_should_use(address: str) -> None:
    assert address_fault(address) is not None


def test_settings_are_found_beside_channels() -> None:
    made = cluster(ChannelSettings(Channel("a"), ttl_seconds=5.0))
    assert made.settings[0].ttl_seconds == 5.0
    assert made.channels == (Channel("a"),)
