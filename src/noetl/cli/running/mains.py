"""The `main` of Python code: what it needs, where that is certain without running the code."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Collection

import msgspec

from noetl.cli.code import span_in
from noetl.playbook.diagnostics import Span
from noetl.playbook.document import Document
from noetl.playbook.source.nodes import Scalar

FIRST = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)
"""Statements around a `main` that leave it as it is."""


class Lack(msgspec.Struct, frozen=True):
    """An argument that `main` needs and nobody gives, and where it stands."""

    name: str
    span: Span


def lacked_argument(document: Document, code: Scalar, given: Collection[str]) -> Lack | None:
    """None also where it is not certain that `main` is called, and with what."""
    main = _main_of(code.text)
    missing = [each for each in _needed(main.args) if each.arg not in given] if main is not None else []
    if not missing:
        return None
    first = missing[0]
    line = code.text.split("\n")[first.lineno - 1]
    column = len(line.encode()[: first.col_offset].decode())
    return Lack(first.arg, span_in(document, code, line=first.lineno, column=column, length=len(first.arg)))


def _main_of(text: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    mains = [each for each in body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and each.name == "main"]
    return mains[0] if len(mains) == 1 and all(map(_is_harmless, body)) else None


def _is_harmless(statement: ast.stmt) -> bool:
    """Whether it neither sets `result` or another `main`, nor calls something that may do so, or end the program."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return True
    if not isinstance(statement, FIRST):
        return False
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return not statement.decorator_list and statement.name != "result"
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return not {each.asname or each.name for each in statement.names} & {"*", "main", "result"}
    parts = list(ast.walk(statement))
    names = {each.id for each in parts if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    return not names & {"main", "result"} and not any(isinstance(each, ast.Call) for each in parts)


def _needed(arguments: ast.arguments) -> list[ast.arg]:
    """Those without a default."""
    placed = [*arguments.posonlyargs, *arguments.args]
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    needed = placed[: len(placed) - len(arguments.defaults)]
    return [*needed, *(each for each, default in keywords if default is None)]
