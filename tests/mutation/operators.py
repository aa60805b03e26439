"""The mutants of a module: each place at which its code can be made to judge otherwise, and the code made so.

A mutant changes one thing. Texts for people are left alone: what is in an f-string, a docstring or a message.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from types import CodeType
from typing import Final


@dataclass(frozen=True)
class Mutant:
    """One change of one module.

    ``number`` counts the module's mutants in the order of its text. ``name`` stays the same as long as the code in
    question does: function, operator and the text that is changed. ``lines`` are those of which one is carried out
    when the change can matter; they are empty for code that runs at import.
    """

    number: int
    module: str
    line: int
    column: int
    name: str
    lines: frozenset[int]

    @property
    def place(self) -> str:
        """Where to look for it."""
        return f"{self.module}:{self.line}:{self.column}"

    @property
    def operator(self) -> str:
        """What kind of change it is."""
        return self.name.split(" | ")[1]

    @property
    def function(self) -> str:
        """The qualified name of the function or class that is changed, empty for the module itself."""
        return self.name.split(" | ")[0].partition(":")[2]


def mutants(text: str, module: str) -> list[Mutant]:
    """Return the mutants of a module with this source text; ``module`` names it in theirs."""
    found: list[Mutant] = []
    times: Counter[str] = Counter()
    for number, change in enumerate(_changes(ast.parse(text))):
        node = change.shown
        source = " ".join((ast.get_source_segment(text, node) or "").split())[:70]
        name = f"{module}:{change.function} | {change.operator} | {source}"
        times[name] += 1
        name += f" | {times[name]}" if times[name] > 1 else ""
        lines = frozenset(change.lines) if change.is_in_function else frozenset[int]()
        found.append(Mutant(number, module, node.lineno, node.col_offset + 1, name, lines))
    return found


def mutated(text: str, number: int, path: str) -> CodeType:
    """Return the compiled module with one of its changes made."""
    tree = ast.parse(text)
    for place, change in enumerate(_changes(tree)):
        if place == number:
            change.make()
            break
    return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


Shown = ast.expr | ast.stmt | ast.pattern
Put = Callable[[ast.AST], None]


@dataclass(frozen=True)
class _Change:
    operator: str
    shown: Shown
    make: Callable[[], None]
    function: str = ""
    is_in_function: bool = False
    lines: range | frozenset[int] = range(0)


@dataclass(frozen=True)
class _Scope:
    """Where a node stands: in which function, what that returns, and at which line its statement begins."""

    names: tuple[str, ...] = ()
    is_function: bool = False
    returns: str = ""
    line: int = 0


def _changes(tree: ast.Module) -> Iterator[_Change]:
    yield from _below(tree, _Scope())


def _below(node: ast.AST, scope: _Scope) -> Iterator[_Change]:
    """Yield the changes of all that stands in a node, in the order of the text."""
    if isinstance(node, ast.FunctionDef):
        returns = ast.unparse(node.returns) if node.returns else ""
        scope = _Scope((*scope.names, node.name), is_function=True, returns=returns)
    elif isinstance(node, ast.ClassDef):
        scope = _Scope((*scope.names, node.name))
    for field, value in ast.iter_fields(node):
        if (type(node), field) in _LEFT_ALONE:
            continue
        for index, child in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(child, ast.AST) and not _is_text_or_type(child):
                yield from _here_and_below(child, node, field, index, scope)


_LEFT_ALONE: Final = {
    (ast.FunctionDef, "decorator_list"), (ast.FunctionDef, "returns"), (ast.arg, "annotation"),
    (ast.AnnAssign, "annotation"), (ast.ClassDef, "bases"), (ast.ClassDef, "decorator_list"),
}  # fmt: skip


def _is_text_or_type(node: ast.AST) -> bool:
    match node:
        case ast.JoinedStr() | ast.Slice() | ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()):
            return True
        case ast.AnnAssign(annotation=ast.Name(id="TypeAlias")):
            return True
        case ast.Subscript(value=ast.Name(id="Literal" | "tuple" | "list" | "dict" | "frozenset" | "Callable")):
            return True
    return False


def _here_and_below(node: ast.AST, parent: ast.AST, field: str, index: int, scope: _Scope) -> Iterator[_Change]:
    if isinstance(node, ast.stmt):
        scope = _Scope(scope.names, scope.is_function, scope.returns, node.lineno)

    def put(new: ast.AST) -> None:
        held = getattr(parent, field)
        if isinstance(held, list):
            held[index] = new
        else:
            setattr(parent, field, new)

    for rule in _RULES:
        for operator, shown, make in rule(node, parent, field, put, scope):
            lines = frozenset({scope.line, *range(shown.lineno, (shown.end_lineno or shown.lineno) + 1)})
            yield _Change(operator, shown, make, ".".join(scope.names), scope.is_function, lines)
    yield from _below(node, scope)


Made = Iterator[tuple[str, Shown, Callable[[], None]]]


def _statements(node: ast.AST, _parent: ast.AST, _field: str, put: Put, _scope: _Scope) -> Made:
    """Switch off what a statement does: a finding, an exception, a call, a change of what is known."""
    match node:
        case ast.Expr(value=ast.Yield() | ast.YieldFrom()):
            yield "no yield", node, lambda: put(_statement("yield from ()"))
        case ast.Raise():
            yield "no raise", node, lambda: put(ast.Pass())
        case ast.Expr(value=ast.Call()):
            yield "no call", node, lambda: put(ast.Pass())
        case ast.AugAssign() | ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "no assignment", node, lambda: put(ast.Pass())
        case ast.Continue() | ast.Break():
            yield "no jump", node, lambda: put(ast.Pass())


def _statement(text: str) -> ast.stmt:
    return ast.parse(text).body[0]


_EMPTY: Final = {"list": "[]", "tuple": "()", "frozenset": "frozenset()", "set": "set()", "dict": "{}"}


def _returns(node: ast.AST, _parent: ast.AST, _field: str, put: Put, scope: _Scope) -> Made:
    """Return the opposite of a verdict, or nothing where there is something."""
    if not isinstance(node, ast.Return) or node.value is None:
        return
    value = node.value
    if scope.returns == "bool":
        yield "opposite", node, lambda: put(ast.Return(_opposite(value)))
    elif scope.returns.endswith("| None") and not (isinstance(value, ast.Constant) and value.value is None):
        yield "return nothing", node, lambda: put(_statement("return None"))
    elif (empty := _EMPTY.get(scope.returns.partition("[")[0])) and ast.unparse(value) != empty:
        yield "return nothing", node, lambda: put(_statement(f"return {empty}"))


def _opposite(value: ast.expr) -> ast.expr:
    if isinstance(value, ast.Constant) and isinstance(value.value, bool):
        return ast.Constant(not value.value)
    return ast.UnaryOp(ast.Not(), value)


def _conditions(node: ast.AST, parent: ast.AST, field: str, put: Put, _scope: _Scope) -> Made:
    """Take a condition for fulfilled, and for not fulfilled."""
    if isinstance(node, ast.match_case):
        pattern = node.pattern

        def refuse() -> None:
            node.guard = ast.Constant(value=False)

        yield "never", pattern, refuse
    if not isinstance(node, ast.expr):
        return
    is_loop = isinstance(parent, ast.While) and field == "test" and not isinstance(node, ast.Constant)
    if not is_loop and not _is_condition(parent, field):
        return
    # Of what has several sides, leaving out each of them asks the same and more.
    if not is_loop and not (isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And)):
        yield "always", node, lambda: put(ast.Constant(value=True))
    if not (isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or)):
        yield "never", node, lambda: put(ast.Constant(value=False))


def _is_condition(parent: ast.AST, field: str) -> bool:
    return (isinstance(parent, (ast.If, ast.IfExp)) and field == "test") or field == "ifs"


_NEIGHBOURS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_ORDER: Final = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def _comparisons(node: ast.AST, parent: ast.AST, field: str, _put: Put, _scope: _Scope) -> Made:
    """Put the neighbour in the place of a comparison; a bare condition is turned round by being forced both ways."""
    if not isinstance(node, ast.Compare):
        return
    is_bare = len(node.ops) == 1 and _is_condition(parent, field)
    for index, found in enumerate(node.ops):
        if isinstance(found, _ORDER) or not is_bare:
            suffix = f" {index + 1}" if len(node.ops) > 1 else ""
            yield f"neighbour{suffix}", node, _replace_in(node.ops, index, _NEIGHBOURS[type(found)]())


def _replace_in(held: list[ast.cmpop], index: int, new: ast.cmpop) -> Callable[[], None]:
    def make() -> None:
        held[index] = new

    return make


def _connectives(node: ast.AST, parent: ast.AST, field: str, put: Put, _scope: _Scope) -> Made:
    """Leave out *not*, and each side of *and* and *or*: whatever tells these apart tells *and* from *or*."""
    match node:
        case ast.BoolOp(op=op, values=values):
            for each in values:
                rest = [other for other in values if other is not each]
                left = rest[0] if len(rest) == 1 else ast.BoolOp(op, rest)
                yield "without side", each, partial(put, left)
        case ast.UnaryOp(op=ast.Not(), operand=operand) if not _is_condition(parent, field):
            yield "no not", node, lambda: put(operand)


def _without(held: list[ast.expr], dropped: ast.expr) -> Callable[[], None]:
    def make() -> None:
        held.remove(dropped)

    return make


_ARITHMETIC: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip
_REQUIREMENT: Final = re.compile(r"[A-Z]+(?:-[A-Z0-9]+)+")


def _values(node: ast.AST, parent: ast.AST, field: str, put: Put, scope: _Scope) -> Made:
    """Change a sum, a union, a number, a flag or the name of a requirement."""
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            if not any(
                isinstance(side, (ast.JoinedStr, ast.List, ast.Tuple)) or _is_text(side) for side in (left, right)
            ):
                new = _ARITHMETIC[type(op)]()
                yield "other arithmetic", node, lambda: put(ast.BinOp(left, new, right))
        case ast.Constant(value=bool(flag)):
            if not isinstance(parent, (ast.Return, ast.While)):
                yield "other flag", node, lambda: put(ast.Constant(not flag))
        case ast.Constant(value=int(number)):
            if field not in ("defaults", "kw_defaults"):
                yield "one more", node, lambda: put(ast.Constant(number + 1))
        case ast.Constant(value=str(name)) if _REQUIREMENT.fullmatch(name):
            # In a table it is left out instead.
            if scope.is_function or not isinstance(parent, (ast.Tuple, ast.List, ast.Set)):
                yield "other requirement", node, lambda: put(ast.Constant("NO-SUCH"))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))


def _elements(node: ast.AST, parent: ast.AST, field: str, _put: Put, scope: _Scope) -> Made:
    """Leave out one element of a table or of a list of what is meant."""
    match node:
        case ast.Dict(keys=keys, values=values) if all(key is None or isinstance(key, ast.Constant) for key in keys):
            for index, (key, value) in enumerate(zip(keys, values, strict=True)):
                yield "without element", key or value, _without_item(node, index)
        case ast.Set(elts=elements):
            for each in elements:
                yield "without element", each, _without(elements, each)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            is_table = not scope.is_function and not isinstance(parent, (ast.Tuple, ast.List))
            is_listed = isinstance(parent, (ast.For, ast.comprehension)) and field == "iter"
            if is_table or is_listed or isinstance(parent, ast.Compare):
                for each in elements:
                    yield "without element", each, _without(elements, each)


def _without_item(table: ast.Dict, index: int) -> Callable[[], None]:
    def make() -> None:
        del table.keys[index], table.values[index]

    return make


_RULES: Final = (_statements, _returns, _conditions, _comparisons, _connectives, _values, _elements)
