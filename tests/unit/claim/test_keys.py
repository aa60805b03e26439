"""Keys of signers: their files, their ids, and what is no key."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from conformance.claim.keys import is_signed, key_id, make_key, public_file_of, read_private_key, read_public_key
from conformance.command_line import main
from conformance.errors import ExitStatus, UsageProblem


def pem(key: Ed25519PrivateKey | rsa.RSAPrivateKey, passphrase: bytes = b"") -> bytes:
    """Return a private key as a file holds it."""
    lock = serialization.BestAvailableEncryption(passphrase) if passphrase else serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, lock)


def test_what_is_signed_is_known_by_the_public_key(tmp_path: Path) -> None:
    """Both files are of one key."""
    file = tmp_path / "key.pem"
    made = make_key(file)
    public = read_public_key(public_file_of(file))
    signature = read_private_key(file).sign(b"text")
    assert key_id(made) == key_id(public)
    assert is_signed(public, signature, b"text")
    assert not is_signed(public, signature, b"other")
    assert not is_signed(public, b"", b"text")


def test_the_id_of_a_key_is_the_digest_of_its_public_form(tmp_path: Path) -> None:
    """OpenSSL computes the same: ``openssl pkey -pubin -in key.pem.pub -outform DER | sha256sum``."""
    public = make_key(tmp_path / "key.pem")
    der = public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    assert hashlib.sha256(der).hexdigest() == key_id(public)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_only_the_owner_can_read_the_private_key(tmp_path: Path) -> None:
    """From the moment that there is a file."""
    make_key(tmp_path / "key.pem")
    assert 0o600 == (tmp_path / "key.pem").stat().st_mode & 0o777


@pytest.mark.parametrize("there", ["key.pem", "key.pem.pub"])
def test_no_key_is_overwritten(there: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither the private nor the public one, and nothing else is written then."""
    (tmp_path / there).write_text("precious", encoding="utf-8")
    assert ExitStatus.USAGE == main(["keygen", str(tmp_path / "key.pem")])
    assert f"{there}: the file is there already" in capsys.readouterr().err
    assert {there: "precious"} == {each.name: each.read_text(encoding="utf-8") for each in tmp_path.iterdir()}


def test_the_command_prints_the_id(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And where the files are."""
    file = tmp_path / "key.pem"
    assert ExitStatus.CONFORMS == main(["keygen", str(file)])
    identifier = key_id(read_public_key(public_file_of(file)))
    assert f"key id: {identifier}" == capsys.readouterr().out.splitlines()[-1]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """No folder is made for a key."""
    with pytest.raises(UsageProblem, match="the key cannot be written"):
        make_key(tmp_path / "nowhere" / "key.pem")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"garbage", "this is no private key in PEM"),
        (b"", "this is no private key in PEM"),
        (pem(Ed25519PrivateKey.generate(), b"secret"), "the key is locked with a passphrase"),
        (pem(rsa.generate_private_key(65537, 2048)), "the key is not an Ed25519 key"),
    ],
    ids=["garbage", "empty", "passphrase", "rsa"],
)
def test_what_is_no_private_key(content: bytes, message: str, tmp_path: Path) -> None:
    """Each is said in words."""
    file = tmp_path / "key.pem"
    file.write_bytes(content)
    with pytest.raises(UsageProblem, match=message):
        read_private_key(file)


def test_a_private_key_in_place_of_a_public_one(tmp_path: Path) -> None:
    """It is refused, so that nobody gets used to handing it around."""
    make_key(tmp_path / "key.pem")
    with pytest.raises(UsageProblem, match="this is no public key in PEM"):
        read_public_key(tmp_path / "key.pem")
    with pytest.raises(UsageProblem, match="the key cannot be read"):
        read_public_key(tmp_path / "other.pub")


def test_the_missing_library_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the command that installs it."""
    monkeypatch.setitem(sys.modules, "cryptography", None)
    assert ExitStatus.USAGE == main(["keygen", str(tmp_path / "key.pem")])
    assert "pip install 'sosoapi-conformance[claims]'" in capsys.readouterr().err
