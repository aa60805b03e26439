"""Puts other code into the functions of modules that are imported already."""

from __future__ import annotations

import gc
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType


class Functions:
    """Every function that is there of the modules in ``folder``; ``package`` names whose caches there are to forget.

    Functions keep their identity, so it does not matter who has imported them by name.
    """

    def __init__(self, folder: Path, package: str) -> None:
        gc.collect()
        self._by_code: dict[tuple[str, str, int], list[FunctionType]] = defaultdict(list)
        self._caches = []
        for each in gc.get_objects():
            if isinstance(each, FunctionType) and each.__code__.co_filename.startswith(f"{folder}{os.sep}"):
                self._by_code[_key(each.__code__)].append(each)
            elif hasattr(type(each), "cache_clear") and f"{each.__module__}.".startswith(f"{package}."):
                self._caches.append(each)
        # What is there now is left out of later collections, which would copy its pages in every child.
        gc.freeze()

    def put(self, module: CodeType) -> bool:
        """Put the code of a changed module into its functions and forget what was cached; tell whether all of it fits.

        A function fits that closes over as many variables as before.
        """
        fits = True
        for code in _codes(module):
            for function in self._by_code.get(_key(code), ()):
                if len(function.__code__.co_freevars) == len(code.co_freevars):
                    function.__code__ = code
                else:
                    fits = False
        self.forget()
        return fits

    def forget(self) -> None:
        """Empty every cache of the package."""
        for cache in self._caches:
            cache.cache_clear()


def _key(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)
