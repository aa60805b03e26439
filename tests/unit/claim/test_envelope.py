"""The envelope: DSSE's own example, and what is none."""

from __future__ import annotations

import base64
import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from conformance.claim.envelope import (
    PAYLOAD_TYPE,
    Envelope,
    check_signature,
    opened,
    pre_authentication_encoding,
    sealed,
    strict_json,
)
from conformance.claim.keys import key_id
from conformance.claim.refused import ClaimRefused, few

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


def test_the_encoding_is_that_of_the_protocol() -> None:
    """The example of the DSSE protocol; lengths are in bytes."""
    expected = b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    assert expected == pre_authentication_encoding("http://example.com/HelloWorld", b"hello world")
    assert b"DSSEv1 2 \xc3\xa4 0 " == pre_authentication_encoding("ä", b"")


def test_what_is_sealed_can_be_opened() -> None:
    """And its signature fits."""
    envelope = opened(sealed(b"{}", KEY))
    assert (PAYLOAD_TYPE, b"{}", key_id(KEY.public_key())) == (envelope.payload_type, envelope.payload, envelope.key_id)
    check_signature(envelope, KEY.public_key())


def test_an_envelope_need_not_name_its_key() -> None:
    """DSSE makes that hint optional, and lets further members be there."""
    values = json.loads(sealed(b"{}", KEY))
    del values["signatures"][0]["keyid"]
    envelope = opened(json.dumps({**values, "more": 1}).encode())
    assert "" == envelope.key_id
    check_signature(envelope, KEY.public_key())


def test_type_and_payload_are_signed_apart() -> None:
    """No byte can move from one to the other."""
    envelope = opened(sealed(b"{}", KEY))
    moved = Envelope(envelope.payload_type[:-1], b"n{}", envelope.signature, envelope.key_id)
    with pytest.raises(ClaimRefused, match="The signature does not fit"):
        check_signature(moved, KEY.public_key())


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"payloadType": 1}, "its payloadType is missing or of another type"),
        ({"signatures": {}}, "its signatures is missing or of another type"),
        ({"signatures": ["x"]}, "its signature has no 'sig'"),
        ({"signatures": [{"sig": "", "keyid": 1}]}, "the 'keyid' of its signature is no text"),
        ({"payload": "e30"}, "The payload of the envelope is not base64."),
        ({"payload": "e\n30="}, "The payload of the envelope is not base64."),
        ({"payload": "ä30="}, "The payload of the envelope is not base64."),
    ],
)
def test_what_is_no_envelope(change: dict[str, object], sentence: str) -> None:
    """It is refused with a sentence."""
    with pytest.raises(ClaimRefused, match=sentence):
        opened(json.dumps({**json.loads(sealed(b"{}", KEY)), **change}).encode())


def test_either_alphabet_of_base64_is_read() -> None:
    """As the protocol demands of those who verify."""
    payload = b'"\xc3\xbf\xc3\xbe?>"'
    values = json.loads(sealed(payload, KEY))
    values["payload"] = base64.urlsafe_b64encode(payload).decode()
    assert payload == opened(json.dumps(values).encode()).payload


@pytest.mark.parametrize("text", [b'{"a":1,"a":1}', b'[{"b":{"a":1,"a":2}}]', b"{", b"\xff", b""])
def test_json_that_can_be_read_in_two_ways(text: bytes) -> None:
    """Names that stand twice are refused like what is no JSON."""
    with pytest.raises(ClaimRefused, match="The thing is not JSON"):
        strict_json(text, "thing")


def test_many_sentences_become_few() -> None:
    """One cut of a log can shift thousands of lines."""
    assert ["a", "b"] == list(few(["a", "b"], 2))
    assert ["a", "b", "The same is so in 1 further place."] == list(few("abc", 2))
    assert ["a", "The same is so in 2 further places."] == list(few("abc", 1))
