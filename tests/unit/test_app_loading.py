"""What ``--target-app`` names: the object, or a sentence with the nearest right name."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from conformance.app_loading import AppName, interface_of, load_app
from conformance.errors import CouldNotRun, UsageProblem

MODULE = """\
class Callable:
    def __init__(self, awaited): ...
    def __call__(self, environ, start_response): ...
class Awaited:
    async def __call__(self, scope, receive, send): ...
class Space: ...
space = Space()
space.app = Awaited()
wsgi = Callable(False)
async def asgi(scope, receive, send): ...
def plain(scope, receive, send): return asgi(scope, receive, send)
def old(environ, start_response): ...
def make(): return old
def broken(): raise RuntimeError('no database')
number = 3
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with modules, which are forgotten afterwards."""
    monkeypatch.setattr("sys.path", ["", *sys.path])
    monkeypatch.setattr("sys.modules", dict(sys.modules))
    (tmp_path / "an_app_to_load.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "an_app_that_needs.py").write_text("import a_library_that_is_not_there\n", encoding="utf-8")
    (tmp_path / "an_app_that_leaves.py").write_text("import sys\nsys.exit(0)\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("attribute", "interface"),
    [
        ("asgi", "asgi"),
        ("plain", "asgi"),
        ("space.app", "asgi"),
        ("wsgi", "wsgi"),
        ("old", "wsgi"),
        ("make()", "wsgi"),
    ],
)
def test_the_interface_is_told(attribute: str, interface: str, folder: Path) -> None:
    """Whatever kind of callable an application is."""
    name = AppName.parse(f"an_app_to_load:{attribute}")
    assert interface == interface_of(load_app(name, folder), name)


def test_what_stands_behind_the_application_is_its_path() -> None:
    """Without the slash at its end."""
    assert AppName("acme.web", "app", is_factory=False, prefix="/v1/mcp") == AppName.parse("acme.web:app/v1/mcp/")
    assert AppName("acme", "make.app", is_factory=True, prefix="") == AppName.parse("acme:make.app()")


@pytest.mark.parametrize(
    "text", ["acme", "acme:", ":app", "acme.web.app", "acme:app(1)", "acme/web.py:app", "acme:a b"]
)
def test_what_names_no_application(text: str) -> None:
    """The message shows how it is written."""
    with pytest.raises(UsageProblem, match=r"does not name an application\. Write MODULE:APP"):
        AppName.parse(text)


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("an_app_to_lod:asgi", UsageProblem, "there is no module 'an_app_to_lod'. Did you mean 'an_app_to_load'?"),
        ("conformance.refrence:app", UsageProblem, "Did you mean 'conformance.reference'?"),
        ("an_app_to_load:agsi", UsageProblem, "an_app_to_load has no attribute 'agsi'. Did you mean 'asgi'?"),
        ("an_app_to_load:space.ap", UsageProblem, "the Space has no attribute 'ap'. Did you mean 'app'?"),
        ("an_app_to_load:number", UsageProblem, "int is neither an ASGI nor a WSGI application"),
        ("an_app_to_load:Callable", UsageProblem, "type is neither an ASGI nor a WSGI application"),
        ("an_app_to_load:make", UsageProblem, "If it makes the application, write an_app_to_load:make()."),
        ("an_app_to_load:number()", UsageProblem, "it cannot be called. Leave the () out."),
        ("an_app_to_load:broken()", CouldNotRun, "raises RuntimeError: no database, an_app_to_load.py line 14"),
        ("an_app_that_needs:app", CouldNotRun, "No module named 'a_library_that_is_not_there', an_app_that"),
        ("an_app_that_leaves:app", CouldNotRun, "an_app_that_leaves ended the interpreter when it was imported"),
    ],
)  # fmt: skip
def test_what_can_be_wrong(text: str, kind: type[Exception], said: str, folder: Path) -> None:
    """A wrong name is wrong usage, with the nearest right one; what raises could not be run."""
    name = AppName.parse(text)
    with pytest.raises(kind) as problem:
        interface_of(load_app(name, folder), name)
    assert said in str(problem.value)


def test_a_remark_of_any_type() -> None:
    """An object that is called with as many arguments as it likes is neither."""

    def anything(*_: Any) -> None: ...

    with pytest.raises(UsageProblem):
        interface_of(lambda one, two, three, four: None, AppName("a", "b", is_factory=False, prefix=""))  # noqa: ARG005
    with pytest.raises(UsageProblem):
        interface_of(anything, AppName("a", "b", is_factory=False, prefix=""))
