"""Strict decoding: the fast path and the exact scanner agree, and a fault names its rule and its byte."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conformance.errors import SuiteFault
from conformance.judge import decode as module
from conformance.judge.decode import DecodeFault, DecodeLimits, decode, exact_number, find_fault
from conformance.judge.json_values import json_equal

GOOD: list[tuple[bytes, Any]] = [
    (b"null", None),
    (b" \t\r\n true \t\r\n ", True),
    (b"[]", []),
    (b"{}", {}),
    (b"[ ]", []),
    (b"{\n}", {}),
    (b'[ 1 , { "a" : 2 } ]', [1, {"a": 2}]),
    (b"[[],{},[{}]]", [[], {}, [{}]]),
    (b'{"":0}', {"": 0}),
    (b'{"a":{"a":{"a":1}}}', {"a": {"a": {"a": 1}}}),
    (b'[{"a":1},{"a":1}]', [{"a": 1}, {"a": 1}]),
    (b'{"a":1,"A":2}', {"a": 1, "A": 2}),
    (b"-0", 0),
    (b"-0.0", 0),
    (b"0e99999", 0),
    (b"1.0", 1),
    (b"1e2", 100),
    (b"1E+2", 100),
    (b"10e-1", 1),
    (b"1.50e1", 15),
    (b"-1.5e1", -15),
    (b"1.5", 1.5),
    (b"1e-400", 0.0),
    (b"1e400", 10**400),
    (b"-1e999", -(10**999)),
    (b"9007199254740993", 9007199254740993),
    (b"9007199254740993.0", 9007199254740993),
    (b"123456789012345678901234567890", 123456789012345678901234567890),
    (b"1" * 1000, int("1" * 1000)),
    (b"-" + b"1" * 1000, -int("1" * 1000)),
    (b'"\\u0000"', "\0"),
    (b'"\x7f"', "\x7f"),
    (b'"\\"\\\\\\/\\b\\f\\n\\r\\t"', '"\\/\b\f\n\r\t'),
    (b'"\\ud83d\\ude00"', "\N{GRINNING FACE}"),
    (b'"\\uD83D\\uDE00\\ud83d\\ude00"', "\N{GRINNING FACE}\N{GRINNING FACE}"),
    (b'"\xf0\x9f\x98\x80"', "\N{GRINNING FACE}"),
    (b'"\\\\ud800"', "\\ud800"),
    (b'"\\\\\\\\ud800"', "\\\\ud800"),
    (b'"\\ud7ff\\ue000"', "\ud7ff\ue000"),
    (b'"\xef\xbb\xbf"', "\ufeff"),
    (b'"[[[{{{"', "[[[{{{"),
    (b'"NaN"', "NaN"),
    (b"[" * 128 + b"]" * 128, None),
    (b'"' + b"[" * 1000 + b'"', "[" * 1000),
    (b"[" + b"[]," * 500 + b"[]]", [[]] * 501),
]

BAD: list[tuple[bytes, str, int]] = [
    (b"", "empty", 0),
    (b"  \n", "empty", 3),
    (b"\xef\xbb\xbf", "byte-order-mark", 0),
    (b"\xef\xbb\xbf{}", "byte-order-mark", 0),
    (b"\xff\xfe1\x00", "utf-8", 0),
    (b'"\xff"', "utf-8", 1),
    (b'"ab\xc3"', "utf-8", 3),
    (b'"\xc0\xaf"', "utf-8", 1),
    (b'"\xed\xa0\xbd\xed\xb8\x80"', "utf-8", 1),
    (b'"\xf4\x90\x80\x80"', "utf-8", 1),
    (b"1\x00", "trailing-data", 1),
    (b"1 2", "trailing-data", 2),
    (b"{}{}", "trailing-data", 2),
    (b"[]]", "trailing-data", 2),
    (b'"a" "b"', "trailing-data", 4),
    (b"{}\n\xc2\xa0", "trailing-data", 3),
    (b"null,", "trailing-data", 4),
    (b'{"a":1,"a":1}', "duplicate-name", 7),
    (b'{"a":1,"b":2,"a":3}', "duplicate-name", 13),
    (b'{"a":1,"\\u0061":2}', "duplicate-name", 7),
    (b'{"":1,"":2}', "duplicate-name", 6),
    (b'[{"x":{"\xc3\xa9":1,"\\u00e9":1}}]', "duplicate-name", 14),
    (b'{"\\ud83d\\ude00":1,"\xf0\x9f\x98\x80":1}', "duplicate-name", 18),
    (b"NaN", "non-finite-number", 0),
    (b"[1,Infinity]", "non-finite-number", 3),
    (b"-Infinity", "non-finite-number", 0),
    (b"[-NaN]", "non-finite-number", 1),
    (b'"\\ud800"', "lone-surrogate", 1),
    (b'"a\\uDFFF"', "lone-surrogate", 2),
    (b'"\\ude00\\ud83d"', "lone-surrogate", 1),
    (b'"\\ud83d\\ud83d\\ude00"', "lone-surrogate", 1),
    (b'"\\ud83d\\\\ude00"', "lone-surrogate", 1),
    (b'"\\\\ud83d\\ude00"', "lone-surrogate", 8),
    (b'"\\ud83d\\u0061"', "lone-surrogate", 1),
    (b'{"\\udead":1}', "lone-surrogate", 2),
    (b'["\\ud83d\\ude00","\\ud83d"]', "lone-surrogate", 17),
    (b"[" * 129 + b"]" * 129, "depth", 128),
    (b"[" * 129, "depth", 128),
    (b"[" * 1_000_000, "depth", 128),
    (b'{"a":' * 129 + b"1" + b"}" * 129, "depth", 5 * 128),
    (b"[[]," + b"[" * 128 + b"]" * 129, "depth", 4 + 127),
    (b"1e1000", "number-size", 0),
    (b"[1,1e999999999999]", "number-size", 3),
    (b"1e" + b"9" * 5000, "number-size", 0),
    (b"1" * 1001, "number-size", 0),
    (b"[-" + b"1" * 5000 + b"]", "number-size", 1),
    (b"0." + b"1" * 1000, "number-size", 0),
    (b"1" * 400 + b".5", "number-size", 0),
    (b"-" + b"1" * 400 + b".5", "number-size", 0),
    (b"1e" + b"0" * 1000 + b"1", "number-size", 0),
    (b"[", "syntax", 1),
    (b"[1", "syntax", 2),
    (b"[1,", "syntax", 3),
    (b"[1,]", "syntax", 3),
    (b"[,1]", "syntax", 1),
    (b"[1 2]", "syntax", 3),
    (b"[1}", "syntax", 2),
    (b"]", "syntax", 0),
    (b"{", "syntax", 1),
    (b'{"a"', "syntax", 4),
    (b'{"a":', "syntax", 5),
    (b'{"a":1', "syntax", 6),
    (b'{"a":1,}', "syntax", 7),
    (b'{"a" 1}', "syntax", 5),
    (b'{"a":1 "b":2}', "syntax", 7),
    (b"{a:1}", "syntax", 1),
    (b"{'a':1}", "syntax", 1),
    (b"{1:1}", "syntax", 1),
    (b'{"a":1]', "syntax", 6),
    (b"01", "syntax", 1),
    (b"[-01]", "syntax", 3),
    (b"1.", "syntax", 2),
    (b"[1.e1]", "syntax", 3),
    (b".5", "syntax", 0),
    (b"+1", "syntax", 0),
    (b"-", "syntax", 1),
    (b"[-a]", "syntax", 2),
    (b"1e", "syntax", 2),
    (b"[1e+]", "syntax", 4),
    (b"0x1F", "trailing-data", 1),
    (b"1_000", "trailing-data", 1),
    (b"[\xd9\xa1]", "syntax", 1),
    (b"[1\xef\xbc\x91]", "syntax", 2),
    (b"tru", "syntax", 3),
    (b"[tRue]", "syntax", 2),
    (b"True", "syntax", 0),
    (b"nul", "syntax", 3),
    (b"undefined", "syntax", 0),
    (b'"a', "syntax", 2),
    (b'"a\n"', "syntax", 2),
    (b'"a\x00"', "syntax", 2),
    (b'"a\x1f"', "syntax", 2),
    (b'"\\x41"', "syntax", 2),
    (b'"\\', "syntax", 2),
    (b'"\\u12G4"', "syntax", 5),
    (b'"\\u12"', "syntax", 5),
    (b'"\\u 123"', "syntax", 3),
    (b'"\\u-123"', "syntax", 3),
    (b"// comment\n1", "syntax", 0),
    (b"[1/**/]", "syntax", 2),
    (b"\x0c1", "syntax", 0),
    (b"\xc2\xa01", "syntax", 0),
    (b"{\x00}", "syntax", 1),
]


def shown(raw: Any) -> str | None:
    """Name a document in a test's id by its first bytes."""
    return ascii(raw[:24]) if isinstance(raw, bytes) else None


@pytest.mark.parametrize(("raw", "value"), GOOD, ids=shown)
def test_a_strict_document_is_decoded_exactly(raw: bytes, value: Any) -> None:
    """Both paths accept it, and the value is the exact JSON value with integral numbers as integers."""
    decoded = decode(raw)
    assert find_fault(raw) is None
    assert value is None or json_equal(value, decoded)
    assert not isinstance(decoded, float) or not decoded.is_integer() or raw == b"1e-400"


@pytest.mark.parametrize(("raw", "rule", "offset"), BAD, ids=shown)
def test_a_fault_names_its_rule_and_its_byte(raw: bytes, rule: str, offset: int) -> None:
    """Whatever a lenient parser would make of it, the rule and the exact byte offset are named."""
    with pytest.raises(DecodeFault) as caught:
        decode(raw)
    assert (rule, offset) == (caught.value.rule, caught.value.offset)
    assert f"(byte {offset}, rule {rule})" in str(caught.value)


@pytest.mark.parametrize(("raw", "rule", "offset"), BAD, ids=shown)
def test_the_fast_path_alone_refuses_every_fault(raw: bytes, rule: str, offset: int) -> None:  # noqa: ARG001 (one table for both tests)
    """The fast path lets nothing through and raises only what decode() catches."""
    with pytest.raises((ValueError, RecursionError)):
        module._decode_fast(raw, module.DEFAULT)


def test_the_table_is_long_enough() -> None:
    """At least sixty tricky documents, each once."""
    documents = [raw for raw, *_ in (*GOOD, *BAD)]
    assert len(documents) == len(set(documents))
    assert len(documents) >= 60


def test_a_document_larger_than_the_limit_is_refused_unread() -> None:
    """The size is judged first, with the first byte too many as the offset."""
    limits = DecodeLimits(size=4)
    assert decode(b"1234", limits) == 1234
    assert find_fault(b"1234", limits) is None
    for raw in (b"\xff1234", b"12345"):
        with pytest.raises(DecodeFault) as caught:
            decode(raw, limits)
        assert (caught.value.rule, caught.value.offset) == ("size", 4)


def test_the_limits_of_depth_and_digits_can_be_set() -> None:
    """A limit refuses one more than it names, and nothing that keeps it."""
    limits = DecodeLimits(depth=2, digits=3)
    assert decode(b'[[123, 1e2, "[[["]]', limits) == [[123, 100, "[[["]]
    assert decode(b'"[["', DecodeLimits(depth=0)) == "[["
    for raw, rule in ((b"[[[]]]", "depth"), (b"[1234]", "number-size"), (b"[1e3]", "number-size")):
        with pytest.raises(DecodeFault) as caught:
            decode(raw, limits)
        assert rule == caught.value.rule


def test_a_disagreement_is_a_fault_of_the_suite(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the parser refuses what the scanner finds right, neither is trusted."""
    monkeypatch.setattr(module, "find_fault", lambda _raw, _limits: None)
    with pytest.raises(SuiteFault):
        decode(b"[")


# Python writes large doubles with fewer digits than the integers that they are; JSON means the digits written.
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(-(2.0**53), 2.0**53) | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=3), children, max_size=4),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(VALUES, st.booleans())
def test_what_is_encoded_is_decoded_to_the_same_value(value: Any, ascii_only: bool) -> None:  # noqa: FBT001 (hypothesis passes it)
    """Decoding undoes encoding, with and without escapes, and both paths accept."""
    raw = json.dumps(value, ensure_ascii=ascii_only).encode()
    assert json_equal(value, decode(raw))
    assert find_fault(raw) is None


PIECES = [
    b"{", b"}", b"[", b"]", b",", b":", b'"', b'"a"', b'"b":', b'{"a":1', b"1", b"0", b"-", b".", b"e", b"+", b"1.5",
    b"true", b"null", b"NaN", b"Infinity", b" ", b"\n", b"\\", b"\\u", b"\\ud83d", b"\\ude00", b"\\u0061", b"a", b"d8",
    b"\xc3\xa9", b"\xff", b"\xef\xbb\xbf", b"\x00", b"\xf0\x9f\x98\x80",
]  # fmt: skip


def assert_both_paths_agree(raw: bytes) -> None:
    """Fail unless the fast path accepts the bytes exactly when the scanner finds no fault in them."""
    fault = find_fault(raw)
    try:
        module._decode_fast(raw, module.DEFAULT)
    except (ValueError, RecursionError):
        assert fault is not None
    else:
        assert fault is None


@settings(max_examples=600, deadline=None, derandomize=True, database=None)
@given(st.lists(st.sampled_from(PIECES), max_size=9).map(b"".join) | st.binary(max_size=6))
@example(b'"\\ud83d\\\\ude00"')
def test_both_paths_agree_on_any_bytes(raw: bytes) -> None:
    """The fast path accepts exactly the documents in which the scanner finds no fault."""
    assert_both_paths_agree(raw)


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(VALUES, st.data())
def test_both_paths_agree_on_a_damaged_document(value: Any, data: st.DataObject) -> None:
    """One byte removed, doubled or replaced: both paths still say the same."""
    raw = json.dumps(value).encode()
    index = data.draw(st.integers(0, len(raw) - 1))
    middle = data.draw(st.sampled_from([b"", raw[index : index + 1] * 2, b",", b'"', b"\\", b"0", b"}", b"]", b"e"]))
    assert_both_paths_agree(raw[:index] + middle + raw[index + 1 :])


@pytest.mark.parametrize(("raw", "offset"), [(raw, offset) for raw, rule, offset in BAD if rule == "syntax"], ids=shown)
def test_a_syntax_fault_is_at_the_first_byte_that_cannot_stand_there(raw: bytes, offset: int) -> None:
    """Cut off before that byte, the document is not refused, or only for ending there."""
    fault = find_fault(raw[:offset])
    assert fault is None or offset == fault.offset


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(st.integers(-(10**30), 10**30), st.integers(0, 40))
def test_a_number_is_exact_however_it_is_written(value: int, places: int) -> None:
    """Moving the point and correcting by the exponent changes nothing."""
    digits = str(abs(value)).rjust(places + 1, "0")
    point = len(digits) - places
    fraction = f".{digits[point:]}" if places else ""
    literal = f"{'-' if value < 0 else ''}{digits[:point]}{fraction}e{places}"
    found = exact_number(literal, 1000)
    assert value == found
    assert isinstance(found, int)


def test_a_fraction_becomes_the_nearest_double() -> None:
    """A number with a fractional part is a float, also where the double nearest to it is integral."""
    assert [exact_number(text, 1000) for text in ("0.1", "9007199254740991.2")] == [0.1, 9007199254740991.0]
    assert math.isclose(1e-5, exact_number("1e-5", 1000), rel_tol=0)


def test_text_that_is_no_number_is_refused() -> None:
    """Only the grammar of JSON numbers is read."""
    with pytest.raises(ValueError, match="not a JSON number"):
        exact_number("1_0", 1000)


def test_the_limits_that_a_server_is_held_to() -> None:
    """128 levels, 1000 digits of a number, 64 MiB."""
    assert DecodeLimits(depth=128, digits=1000, size=67_108_864) == module.DEFAULT
