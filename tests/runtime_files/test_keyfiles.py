"""Key files and `NAME.qc`: they come back, belong together, and tell nothing by accident."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorumcast.core.errors import ConfigError
from quorumcast.runtime.keyfiles import (
    ClientFile,
    Seeds,
    load_client,
    load_keys,
    save_client,
    save_keys,
)
from tests.runtime_files.made import OPERATOR, at, cluster, entropy, manifest


def client(name: str = "probe-7", path: Path = Path("probe-7.qc")) -> ClientFile:
    seeds = Seeds.drawn(entropy(7))
    certificate = manifest().certify(OPERATOR, name, seeds.identity().public)
    return ClientFile(name=name, seeds=seeds, certificate=certificate, cluster=at(cluster(), path))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "probe-7.qc"


def rewrite(path: Path, old: str, new: str) -> None:
    save_client(path, client(path=path))
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def fault(path: Path) -> str:
    with pytest.raises(ConfigError) as raised:
        load_client(path)
    return str(raised.value)


def test_a_clients_file_comes_back(path: Path) -> None:
    made = client(path=path)
    save_client(path, made)
    found = load_client(path)
    assert found == made
    assert found.identity.public == made.identity.public
    assert found.manifest == manifest()
    assert found.addresses == cluster().addresses
    assert found.channels == cluster().channels
    assert found.settings == cluster().settings
    assert manifest().check_client(found.certificate).keys == found.identity.public


def test_others_may_not_read_it(path: Path) -> None:
    save_client(path, client(path=path))
    path.chmod(0o640)
    assert fault(path).endswith(f"chmod 600 {path}")


def test_secrets_are_not_shown(path: Path) -> None:
    made = client(path=path)
    for text in (repr(made), repr(made.seeds), str(made.seeds)):
        for secret in (made.seeds.sign, made.seeds.agree):
            assert secret.hex() not in text
            assert repr(secret) not in text


CERTIFICATE = client().certificate.hex()
OTHER = manifest().certify(OPERATOR, "probe-8", client().identity.public).hex()
OTHER_KEYS = manifest().certify(OPERATOR, "probe-7", OPERATOR.public).hex()


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ('name = "probe-7"', 'name = "probe-8"', 4, 'not the certified name: use "probe-7"'),
        ('sign = "', 'sign = "0', 5, "identity: sign has 65 characters: use 64 hexadecimal"),
        ('agree = "', 'agree = "0', 6, "identity: agree has 65 characters: use 64 hexadecimal"),
        (CERTIFICATE, OTHER, 4, 'name = "probe-7" is not the certified name: use "probe-8"'),
        (CERTIFICATE, OTHER_KEYS, 7, "certificate is for other keys"),
        (CERTIFICATE, "00" * 193, 7, "certificate counts for nothing: certificate: 193 bytes are"),
        (CERTIFICATE, "", 7, "certificate has 0 bytes: use the file as keys add wrote it"),
        (CERTIFICATE, "xy" * 193, 7, "certificate has 386 characters: use 386 hexadecimal digits"),
        ("certificate", "certified", 7, "there is no key certified: did you mean certificate?"),
        ("publishers = []", 'publishers = ["*"]', 53, "signature is not the operator's"),
    ],
)
def test_a_wrong_clients_file(path: Path, old: str, new: str, line: int, said: str) -> None:
    rewrite(path, old, new)
    found = fault(path)
    assert said in found
    assert found.startswith(f"{path}:{line}: ")


def test_what_is_no_clients_file(path: Path) -> None:
    path.write_text(cluster().text(), encoding="utf-8")
    path.chmod(0o600)
    assert (
        fault(path) == f"{path}: [identity] is missing: use a file that quorumcast keys add wrote"
    )
    path.write_text("[identity]\n", encoding="utf-8")
    assert "[cluster] is missing" in fault(path)


def test_keys_come_back_to_their_owner_alone(tmp_path: Path) -> None:
    path, seeds = tmp_path / "replica.key", Seeds.drawn(entropy())
    save_keys(path, "r1", manifest(), seeds)
    assert load_keys(path, "r1", manifest()) == seeds
    with pytest.raises(ConfigError, match='replica.key:3: name = "r1" is somebody else'):
        load_keys(path, "r2", manifest())
    with pytest.raises(ConfigError, match="replica.key:4: cluster is another cluster"):
        load_keys(path, "r1", manifest(lab=True))
    path.chmod(0o604)
    with pytest.raises(ConfigError, match="chmod 600"):
        load_keys(path, "r1", manifest())


def test_wrong_keys(tmp_path: Path) -> None:
    path = tmp_path / "replica.key"
    save_keys(path, "r1", manifest(), Seeds.drawn(entropy()))
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('sign = "', 'sign = "x'), encoding="utf-8")
    with pytest.raises(ConfigError, match="replica.key:5: sign has 65 characters: use 64 hexad"):
        load_keys(path, "r1", manifest())
    path.write_text(text + "more = 1\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="replica.key:7: there is no key more"):
        load_keys(path, "r1", manifest())


def test_seeds_are_compared_and_hashed_by_what_they_make() -> None:
    one, same, other = (Seeds.drawn(entropy(seed)) for seed in (1, 1, 2))
    assert one == same != other
    assert hash(one) == hash(same)
    assert len({one, same, other}) == 2
