"""What was recorded of a run, given out again case by case in the order in which it came.

A case that asks for something else than what was recorded has no answer: the log was changed, or the suite or a
library that draws the cases is another one than in that run.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.clock import Clock
from conformance.errors import CouldNotRun
from conformance.recorded.bodies import body_bytes
from conformance.recorded.description import NOT_WRITTEN
from conformance.recorded.resending import Resender
from conformance.transport.exchange import Failure, Headers, Request, Response

_REMEDY: Final = "The log was changed, or made by another version of the suite or of a library that draws the cases."
_GIVEN: Final = re.compile(rb'"token" *: *"(\$\w+)"')
"""What stands in a log for a token that test control gave."""


@dataclass
class NotRecorded(CouldNotRun):
    """A case asked for an exchange that the record does not have at this place."""


@dataclass(frozen=True)
class Recorded:
    """What came of a recorded request. ``at`` is when it was sent and ``elapsed`` how long it took, in seconds.

    ``span`` is set for calls of a race: when one was sent and answered, in nanoseconds of one clock.
    """

    identifier: str
    response: Response | None
    failure: Failure | None
    at: float
    elapsed: float
    span: tuple[int, int] | None
    raw: Mapping[str, Any]


class Tape:
    """The record, as far as it has not been given out."""

    def __init__(self, lines: Iterable[Mapping[str, Any]], stand_ins: Iterable[str] = ()) -> None:
        """Begin with these lines of a log; ``stand_ins`` are the names of tokens that the user gave."""
        self._stand_ins = set(stand_ins)
        self._exchanges: dict[tuple[str, str], deque[Mapping[str, Any]]] = defaultdict(deque)
        self._readings: dict[str, deque[float]] = defaultdict(deque)
        self._beside: dict[str, deque[tuple[int, int]]] = defaultdict(deque)
        self._settled: dict[str, deque[Sequence[Any]]] = defaultdict(deque)
        self._races: dict[str, deque[Sequence[Sequence[Sequence[Any]]]]] = defaultdict(deque)
        self._case = ""
        self.live: Resender | None = None
        self.clock = RecordedClock(self)
        for number, line in enumerate(lines):
            if line["kind"] == "exchange":
                self._exchanges[short_case(line["case"]), line["to"]].append({**line, "number": number})
            elif line["kind"] == "reading":
                self._readings[short_case(line["case"])].append(line["now"])
            elif line["kind"] in ("heard", "stray", "stderr"):
                self._exchanges[short_case(line["case"]), "unasked"].append({**line, "after": number})
            elif line["kind"] == "settled":
                self._settled[short_case(line["case"])].append(line["texts"])
            elif line["kind"] == "race":
                self._races[short_case(line["case"])].append(line["clients"])
            elif line["kind"] == "beside":
                self._beside[short_case(line["case"])].append((line["span"][0], line["span"][1]))

    def begin_case(self, case: str) -> None:
        """Go on with the record of this case, a test id."""
        self._case = short_case(case)

    @property
    def _named(self) -> str:
        return self._case or "the preflight"

    def goes_on(self) -> bool:
        """Tell whether any call to the target has not been given out."""
        return any(lines for (_, to), lines in self._exchanges.items() if to == "target")

    def left_over(self) -> dict[str, int]:
        """Return how many exchanges of each case have not been given out, where there are any."""
        counts: dict[str, int] = defaultdict(int)
        for (case, _), lines in self._exchanges.items():
            counts[case] += len(lines)
        return {case: count for case, count in counts.items() if count}

    def reading(self) -> float:
        """Return the next time of day that this case was told.

        Raises:
            NotRecorded: it was told no further one.
        """
        readings = self._readings[self._case]
        if not readings:
            raise NotRecorded(f"{self._named}: no further reading of the clock was recorded", _REMEDY)
        return readings.popleft()

    def is_next(self, method: str, ending: str, to: str = "control") -> bool:
        """Tell whether such a request is the next one of this case."""
        lines = self._exchanges[self._case, to]
        if not lines:
            return False
        request = lines[0]["request"]
        return bool(request["method"] == method and request["target"].endswith(ending))

    def next_method(self) -> str:
        """Return the method of the next message to the target in this case, empty where there is none."""
        lines = self._exchanges[self._case, "target"]
        try:
            return str(json.loads(lines[0]["request"]["body"])["method"]) if lines else ""
        except (ValueError, TypeError, KeyError):
            return ""

    def unasked(self) -> Iterator[Mapping[str, Any]]:
        """Yield what children said unasked before the next exchange with the target in this case."""
        exchanges, unasked = self._exchanges[self._case, "target"], self._exchanges[self._case, "unasked"]
        while unasked and (not exchanges or unasked[0]["after"] < exchanges[0]["number"]):
            yield unasked.popleft()

    def settled(self) -> tuple[bytes, ...]:
        """Return what the children had written to stderr when this case looked.

        Raises:
            NotRecorded: it did not look once more.
        """
        texts = self._settled[self._case]
        if not texts:
            raise NotRecorded(f"{self._named}: nothing further was recorded that was on stderr", _REMEDY)
        return tuple(body_bytes(each) for each in texts.popleft())

    def race(self) -> list[list[tuple[str, int, int]]]:
        """Return the next race of children: for each client the ids of its exchanges, and when each began and ended.

        Raises:
            NotRecorded: there is no further one.
        """
        races = self._races[self._case]
        if not races:
            raise NotRecorded(f"{self._named}: no further race was recorded", _REMEDY)
        return [[(call[0], call[1], call[2]) for call in client] for client in races.popleft()]

    def take_raced(self, identifier: str) -> Mapping[str, Any]:
        """Return the line of an exchange of a race, wherever it stands.

        Raises:
            NotRecorded: there is none.
        """
        lines = self._exchanges[self._case, "target"]
        found = next((line for line in lines if line["id"] == identifier), None)
        if found is None:
            raise NotRecorded(f"{self._named}: exchange {identifier} of a race was not recorded", _REMEDY)
        lines.remove(found)
        return found

    def beside(self) -> tuple[int, int]:
        """Return when the next thing that was done beside a race began and ended.

        Raises:
            NotRecorded: nothing further was.
        """
        spans = self._beside[self._case]
        if not spans:
            raise NotRecorded(f"{self._case}: nothing further was recorded that was done beside a race", _REMEDY)
        return spans.popleft()

    def take(self, request: Request, to: str = "target") -> Recorded:
        """Return what came of the request, which must be the next one of this case.

        Raises:
            NotRecorded: it is not, or its answer was too long to be recorded.
        """
        where = f"{self._named}, calls to the {to}"
        lines = self._exchanges[self._case, to]
        if not lines:
            sent = f"{request.method} {request.url} is sent"
            raise NotRecorded(f"{where}: nothing further was recorded, and {sent}", _REMEDY)
        line = lines.popleft()
        for difference in self._differences(request, line["request"]):
            raise NotRecorded(f"{where}: exchange {line['id']} has another {difference} than is sent", _REMEDY)
        recorded = self.read(line)
        if to == "control" and recorded.response is not None:
            self._stand_ins.update(each.decode() for each in _GIVEN.findall(recorded.response.body))
        return recorded

    def read(self, line: Mapping[str, Any]) -> Recorded:
        """Return what came of the exchange of a line, and let the clock come to its end.

        Raises:
            NotRecorded: its answer was too long to be recorded, or cannot be read.
        """
        try:
            recorded = _recorded(line)
        except (KeyError, TypeError, ValueError) as error:
            raise NotRecorded(f"{self._named}: exchange {line['id']} cannot be read ({error})", _REMEDY) from None
        self.clock.came_to(recorded.at + recorded.elapsed)
        return recorded

    def _differences(self, request: Request, recorded: Mapping[str, Any]) -> Iterator[str]:
        """Yield what of the request reads otherwise in the record."""
        if (request.method, request.url) != (recorded["method"], recorded["target"]):
            yield "method or address"
        if len(request.headers) != len(recorded["headers"]):
            yield "number of headers"
        for (name, value), (known_name, known) in zip(request.headers, recorded["headers"], strict=False):
            is_same = known in (value, NOT_WRITTEN) or self._is_mangled(request, name, value)
            if name != known_name or not is_same:
                yield f"header {known_name}"
        if not _same_body(request.body, recorded["body"]):
            yield "body"

    def _is_mangled(self, request: Request, name: str, value: str) -> bool:
        """Tell whether a token is one that a check made from another one: of that only the name is recorded."""
        says_who = request.method == "STDIO" or name.lower() == "authorization"
        return says_who and value.removeprefix("Bearer ") not in self._stand_ins


class RecordedClock(Clock):
    """The clock of a recorded run: it stands where the last exchange ended, and waiting takes no time."""

    def __init__(self, tape: Tape) -> None:
        super().__init__()
        self._tape = tape
        self._reading = 0.0

    def now(self) -> float:
        """Return the time of day that the case was told at this point, also in a replay.

        Raises:
            NotRecorded: it was told none.
        """
        reading = self._tape.reading()
        self.note(reading)
        return reading

    def reading(self) -> float:
        """Return seconds since the record began, each time a little more; in a replay the time is the real one."""
        if self._tape.live is not None:
            return super().reading()
        self._reading += 1e-9
        return self._reading

    def instant(self) -> int:
        """Return the same in nanoseconds."""
        if self._tape.live is not None:
            return super().instant()
        return round(self.reading() * 1e9)

    def wait(self, seconds: float) -> None:
        """Let the recorded time pass, or in a replay the real one."""
        if self._tape.live is not None:
            super().wait(seconds)
        self._reading += seconds

    def came_to(self, reading: float) -> None:
        """Take note of the time at which an exchange had ended."""
        self._reading = max(self._reading, reading)


def short_case(case: str) -> str:
    """Return a test id without the folder, which depends on where the suite is installed."""
    path, separator, rest = case.partition("::")
    return f"{path.rpartition('/')[2]}{separator}{rest}"


def _same_body(body: bytes, recorded: Any) -> bool:
    if not isinstance(recorded, str) and "sha256" in recorded:
        return hashlib.sha256(body).hexdigest() == str(recorded["sha256"])
    return body == body_bytes(recorded)


def _recorded(line: Mapping[str, Any]) -> Recorded:
    answer, failure, response = line["answer"], line["failure"], None
    if answer is not None:
        body = body_bytes(answer["body"])
        headers: Headers = tuple((name, value) for name, value in answer["headers"])
        response = Response(answer["status"], answer["reason"], headers, body)
    span = line.get("span")
    return Recorded(
        line["id"],
        response,
        None if failure is None else Failure(line["failure_kind"], failure),
        line["at"],
        line["elapsed"],
        None if span is None else (span[0], span[1]),
        line,
    )


def read_lines(log: Iterable[bytes]) -> Iterable[Mapping[str, Any]]:
    """Yield the lines of a log; one that is no JSON object ends it.

    Raises:
        ValueError: a line is none.
    """
    for number, text in enumerate(log, 1):
        value = json.loads(text)
        if not (isinstance(value, dict) and isinstance(value.get("kind"), str)):
            raise ValueError(f"line {number} is no line of a log")  # noqa: TRY004 - what it says is wrong, not its type here
        yield value
