"""The envelope of a claim: DSSE 1.0.0 (https://github.com/secure-systems-lab/dsse), with exactly one signature."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from conformance.claim.keys import is_signed, key_id
from conformance.claim.refused import ClaimRefused

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"


@dataclass(frozen=True)
class Envelope:
    """An envelope that was opened; nothing in it can be trusted before its signature was checked.

    ``key_id`` is a hint, which the envelope may leave empty.
    """

    payload_type: str
    payload: bytes
    signature: bytes
    key_id: str


def pre_authentication_encoding(payload_type: str, payload: bytes) -> bytes:
    """Return the bytes that are signed: type and payload, each with its length (DSSE protocol, "PAE")."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def sealed(payload: bytes, key: Ed25519PrivateKey) -> bytes:
    """Return the payload in a signed envelope, as JSON text."""
    signature = key.sign(pre_authentication_encoding(PAYLOAD_TYPE, payload))
    envelope = {
        "payloadType": PAYLOAD_TYPE,
        "payload": base64.b64encode(payload).decode(),
        "signatures": [{"keyid": key_id(key.public_key()), "sig": base64.b64encode(signature).decode()}],
    }
    return json.dumps(envelope, indent=2).encode() + b"\n"


def opened(text: bytes) -> Envelope:
    """Return what is in an envelope.

    Raises:
        ClaimRefused: it is none, or has another number of signatures than one.
    """
    envelope = strict_json(text, "claim")
    if not isinstance(envelope, dict):
        raise ClaimRefused("The claim is no DSSE envelope: it is not a JSON object.")
    for name, kind in (("payloadType", str), ("payload", str), ("signatures", list)):
        if not isinstance(envelope.get(name), kind):
            raise ClaimRefused(f"The claim is no DSSE envelope: its {name} is missing or of another type.")
    signatures = envelope["signatures"]
    if len(signatures) != 1:
        raise ClaimRefused(f"The envelope has {len(signatures)} signatures; a claim has exactly one.")
    signature = signatures[0]
    if not isinstance(signature, dict) or not isinstance(signature.get("sig"), str):
        raise ClaimRefused("The claim is no DSSE envelope: its signature has no 'sig'.")
    if not isinstance(signature.get("keyid", ""), str):
        raise ClaimRefused("The claim is no DSSE envelope: the 'keyid' of its signature is no text.")
    payload, sig = _decoded(envelope["payload"], "payload"), _decoded(signature["sig"], "signature")
    return Envelope(envelope["payloadType"], payload, sig, signature.get("keyid", ""))


def check_signature(envelope: Envelope, key: Ed25519PublicKey) -> None:
    """See that the holder of the key has signed the envelope, and that it names no other key.

    Raises:
        ClaimRefused: not so.
    """
    given = key_id(key)
    message = pre_authentication_encoding(envelope.payload_type, envelope.payload)
    if not is_signed(key, envelope.signature, message):
        if envelope.key_id not in ("", given):
            raise ClaimRefused(f"The claim is signed by another key ({envelope.key_id}) than the given one ({given}).")
        raise ClaimRefused(f"The signature does not fit: what is signed by the key {given} is not this claim.")
    # The signature decides, never the hint; but whoever changed the hint wants somebody to be taken for another.
    if envelope.key_id not in ("", given):
        raise ClaimRefused(f"The envelope names the key {envelope.key_id}, and {given} has signed it.")


def strict_json(text: bytes, what: str) -> Any:
    """Return decoded JSON in which no name stands twice, so that two readers cannot read two things.

    Raises:
        ClaimRefused: it is something else.
    """
    try:
        return json.loads(text, object_pairs_hook=each_once)
    except (ValueError, RecursionError) as error:
        raise ClaimRefused(f"The {what} is not JSON in which each name stands once ({error}).") from None


def each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of an object.

    Raises:
        ValueError: a name stands twice.
    """
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name stands twice in one object")
    return members


def _decoded(text: str, what: str) -> bytes:
    """Decode base64 in the standard or the URL-safe alphabet: DSSE lets a signer use either."""
    try:
        return base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except (ValueError, binascii.Error):
        raise ClaimRefused(f"The {what} of the envelope is not base64.") from None
