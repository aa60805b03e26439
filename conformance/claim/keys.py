"""Keys of those who sign claims: Ed25519 (RFC 8032), as PEM files; nothing here needs a network.

The library that makes and checks signatures is an extra, and is loaded only where one is made or checked.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from conformance.errors import UsageProblem

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

PUBLIC_ENDING: Final = ".pub"
_ONLY_FOR_THE_OWNER: Final = 0o600
_FOR_ALL: Final = 0o644


def make_key(file: Path) -> Ed25519PublicKey:
    """Make a key: the private one in ``file``, readable by its owner alone, the public one beside it in ``file.pub``.

    Raises:
        UsageProblem: one of the files is there already, or cannot be written; or the library is missing.
    """
    _need_library()
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - an extra
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 - an extra

    private, public_file = Ed25519PrivateKey.generate(), public_file_of(file)
    for path in (file, public_file):
        if os.path.lexists(path):
            raise UsageProblem("the file is there already", str(path), "Keys are never overwritten; name another file.")
    pem, no_passphrase = serialization.Encoding.PEM, serialization.NoEncryption()
    _write_new(file, private.private_bytes(pem, serialization.PrivateFormat.PKCS8, no_passphrase), _ONLY_FOR_THE_OWNER)
    public = private.public_key()
    _write_new(public_file, public.public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo), _FOR_ALL)
    return public


def public_file_of(file: Path) -> Path:
    """Return where the public key of a private one lies."""
    return file.with_name(file.name + PUBLIC_ENDING)


def read_private_key(file: Path) -> Ed25519PrivateKey:
    """Read a private key.

    Raises:
        UsageProblem: it cannot be read, or is none; or the library is missing.
    """
    _need_library()
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - an extra
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - an extra
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 - an extra

    remedy = "Give the private key that 'sosoapi-conformance keygen' wrote."
    text = _read(file)
    try:
        key = serialization.load_pem_private_key(text, password=None)
    except TypeError:
        raise UsageProblem("the key is locked with a passphrase", str(file), "Give it without one.") from None
    except (ValueError, UnsupportedAlgorithm):
        raise UsageProblem("this is no private key in PEM", str(file), remedy) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise UsageProblem("the key is not an Ed25519 key", str(file), remedy)
    return key


def read_public_key(file: Path) -> Ed25519PublicKey:
    """Read a public key.

    Raises:
        UsageProblem: it cannot be read, or is none; or the library is missing.
    """
    _need_library()
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - an extra
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - an extra
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415 - an extra

    remedy = f"Give the public key; 'sosoapi-conformance keygen' gave its name the ending {PUBLIC_ENDING}."
    try:
        key = serialization.load_pem_public_key(_read(file))
    except (ValueError, UnsupportedAlgorithm):
        raise UsageProblem("this is no public key in PEM", str(file), remedy) from None
    if not isinstance(key, Ed25519PublicKey):
        raise UsageProblem("the key is not an Ed25519 key", str(file), remedy)
    return key


def key_id(public: Ed25519PublicKey) -> str:
    """Return the name of a key: the SHA-256 of its SubjectPublicKeyInfo in DER (RFC 5280), in hexadecimal."""
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - an extra

    encoding, form = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    return hashlib.sha256(public.public_bytes(encoding, form)).hexdigest()


def is_signed(public: Ed25519PublicKey, signature: bytes, message: bytes) -> bool:
    """Tell whether the holder of the key has signed the message."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - an extra

    try:
        public.verify(signature, message)
    except InvalidSignature:
        return False
    return True


def _need_library() -> None:
    try:
        import cryptography  # noqa: F401, PLC0415 - only to see that it is there
    except ImportError:
        raise UsageProblem(
            "claims are signed and checked with the package 'cryptography', which is not installed",
            "claims",
            "Install it: pip install 'sosoapi-conformance[claims]'.",
        ) from None


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageProblem(f"the key cannot be read ({reason})", str(file), "Name the file of a key.") from None


def _write_new(path: Path, content: bytes, mode: int) -> None:
    try:
        # Made with its mode, so that nobody can read it before the mode is set.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageProblem(f"the key cannot be written ({reason})", str(path), "Name another file.") from None
