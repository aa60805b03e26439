"""Finds the application that ``--target-app MODULE:APP`` names, and tells ASGI from WSGI."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Literal

from conformance.errors import CouldNotRun, UsageProblem, nearest

OPTION: Final = "--target-app"
_REFERENCE: Final = re.compile(
    r"(?P<module>\w+(?:\.\w+)*):(?P<attribute>\w+(?:\.\w+)*)(?P<call>\(\))?(?P<prefix>/[!-~]*)?"
)

Interface = Literal["asgi", "wsgi"]


@dataclass(frozen=True)
class AppName:
    """Where an application is found: a module, an attribute of it, whether that has to be called, and a path prefix."""

    module: str
    attribute: str
    is_factory: bool
    prefix: str

    @classmethod
    def parse(cls, text: str) -> AppName:
        """Read ``MODULE:APP``, ``MODULE:MAKE_APP()``, and either with the path below which the API is.

        Raises:
            UsageProblem: it is not written so.
        """
        match = _REFERENCE.fullmatch(text)
        if match is None:
            advice = "Write MODULE:APP, such as acme.web:app, acme.web:make_app() or acme.web:app/mcp."
            raise UsageProblem(f"{text!r} does not name an application", OPTION, advice)
        return cls(match["module"], match["attribute"], bool(match["call"]), (match["prefix"] or "").rstrip("/"))


def load_app(name: AppName, folder: Path) -> Any:
    """Import the application; ``folder`` is looked in first.

    Raises:
        UsageProblem: there is no such module or attribute; the nearest right name is given.
        CouldNotRun: the module, or what makes the application, raises.
    """
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    found: Any = _module(name.module, folder)
    for part in name.attribute.split("."):
        if not hasattr(found, part):
            public = [each for each in vars(found) if not each.startswith("_")] if hasattr(found, "__dict__") else []
            where = f"{OPTION} {name.module}:{name.attribute}"
            raise UsageProblem(f"{_called(found)} has no attribute {part!r}", where, _advice(part, public))
        found = getattr(found, part)
    if name.is_factory:
        found = _made(found, name)
    return found


def interface_of(app: Any, name: AppName) -> Interface:
    """Tell which of the two interfaces an application has: ASGI is awaited, WSGI takes two arguments and is not.

    Raises:
        UsageProblem: it has neither.
    """
    where = f"{OPTION} {name.module}:{name.attribute}"
    if callable(app) and not inspect.isclass(app):
        if _is_awaited(app):
            return "asgi"
        count = _positional(app)
        # A plain function may return the coroutine of another one.
        if count in (2, 3):
            return "wsgi" if count == 2 else "asgi"
        if count == 0 and not name.is_factory:
            advice = f"If it makes the application, write {name.module}:{name.attribute}()."
            raise UsageProblem("it takes no arguments, so it is no application", where, advice)
    raise UsageProblem(
        f"{type(app).__name__} is neither an ASGI nor a WSGI application", where, "Name the application object."
    )


def _module(dotted: str, folder: Path) -> ModuleType:
    try:
        return importlib.import_module(dotted)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{dotted}.".startswith(f"{error.name}."):
            where = f"{OPTION} {dotted}"
            raise UsageProblem(f"there is no module {error.name!r}", where, _neighbours(error.name, folder)) from None
        raise _raised(dotted, error) from error
    except Exception as error:
        raise _raised(dotted, error) from error
    except SystemExit as error:
        raise CouldNotRun(
            f"{dotted} ended the interpreter when it was imported", "Import it without starting."
        ) from error


def _raised(what: str, error: Exception) -> CouldNotRun:
    return CouldNotRun(
        f"{what} cannot be imported ({type(error).__name__}: {error}{_place(error)})",
        f"See that 'python -c \"import {what}\"' works in this environment.",
    )


def _made(factory: Any, name: AppName) -> Any:
    if not callable(factory):
        raise UsageProblem("it cannot be called", f"{OPTION} {name.module}:{name.attribute}", "Leave the () out.")
    try:
        return factory()
    except Exception as error:
        raise CouldNotRun(
            f"{name.module}:{name.attribute}() raises {type(error).__name__}: {error}{_place(error)}", "Mend it."
        ) from error


def _place(error: BaseException) -> str:
    """Return the file and line in which it was raised, empty where that is unknown."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or "importlib" in trace.tb_frame.f_code.co_filename:
        return ""
    return f", {Path(trace.tb_frame.f_code.co_filename).name} line {trace.tb_lineno}"


def _neighbours(missing: str, folder: Path) -> str:
    """Return advice that names the module nearest to a missing one."""
    parent, _, last = missing.rpartition(".")
    spec = importlib.util.find_spec(parent) if parent else None
    places = list(spec.submodule_search_locations or ()) if spec else [str(folder)] if not parent else []
    names = [each.name for each in pkgutil.iter_modules(places)]
    if parent:
        names, last = [f"{parent}.{each}" for each in names], missing
    return _advice(last, names) if names else f"It is looked for in {folder}, and where Python finds modules."


def _advice(word: str, known: list[str]) -> str:
    return nearest(word, known) if known else "It has none that are public."


def _called(found: Any) -> str:
    return f"the module {found.__name__}" if isinstance(found, ModuleType) else f"the {type(found).__name__}"


def _is_awaited(app: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(app) or inspect.iscoroutinefunction(type(app).__call__)


def _positional(app: Callable[..., Any]) -> int | None:
    """Return how many arguments an application wants, ``None`` where that cannot be known."""
    try:
        parameters = inspect.signature(app).parameters.values()
    except (TypeError, ValueError):
        return None
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(each.kind in kinds and each.default is inspect.Parameter.empty for each in parameters)
