"""Mutation testing: every change of one operator, constant or statement in a function must make a test fail.

Tests are collected and run once, to learn which tests reach which lines. Then each change is made in a forked
process by exchanging the code of the one function it stands in, and the tests that reach it run until one fails.
Changes at module level are not made: they happen before a test could look.
"""

import argparse
import ast
import copy
import importlib
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from types import CodeType, FunctionType, ModuleType

import coverage
import pytest

ENGINE = Path("src/noetl/engine")
TESTS = ("tests/engine", "--ignore=tests/engine/laws")
TIMEOUT_FACTOR, TIMEOUT_S = 10, 5

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.BitOr: ast.BitAnd, ast.Pow: ast.Mult,
}  # fmt: skip


class Mutant:
    """One change: the function it stands in, its line, and the text before and after."""

    def __init__(self, module: str, function: str, line: int, before: str, after: str, code: CodeType) -> None:
        self.module, self.function, self.line = module, function, line
        self.before, self.after, self.code = before, after, code

    def __str__(self) -> str:
        return f"{self.module}:{self.line} {self.function}: {self.before}  →  {self.after}"


# ------------------------------------------------------------------------------ making changes


def mutants_of(path: Path) -> Iterator[Mutant]:
    module = ".".join(path.with_suffix("").parts[1:])
    tree = ast.parse(path.read_text())
    for qualname, function in _functions(tree, ""):
        for node in _inside(function.body):
            for change in _changes(node):
                yield from _made(module, path, tree, qualname, function, node, change)


def _functions(tree: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Functions and methods, but not those inside functions: they are changed with the one around them."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{prefix}{node.name}.")


def _inside(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All nodes but types and what only the type checker reads."""
    for node in nodes:
        if isinstance(node, ast.Expr) and ast.unparse(node).startswith("assert_never("):
            continue
        yield node
        parts = ast.iter_fields(node)
        below = (part for name, part in parts if name not in ("annotation", "returns", "decorator_list"))
        yield from _inside(
            each for part in below for each in (part if isinstance(part, list) else [part]) if isinstance(each, ast.AST)
        )


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    """What a node may be changed into."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
            yield ast.Compare(node.left, [COMPARISONS[type(op)]()], node.comparators)
        case ast.BoolOp():
            yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.BinOp(op=op) if type(op) in ARITHMETIC:
            yield ast.BinOp(node.left, ARITHMETIC[type(op)](), node.right)
        case ast.IfExp():
            yield node.body
            yield node.orelse
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as number):
            yield ast.Constant(number + 1)
        case ast.Expr(value=ast.Call()) | ast.Assign(targets=[ast.Attribute()]) | ast.AugAssign() | ast.Delete():
            yield ast.Pass()
        case ast.Break():
            yield ast.Continue()
        case ast.If():
            yield ast.If(ast.Constant(value=False), node.body, node.orelse)
            yield ast.If(ast.Constant(value=True), node.body, node.orelse)


def _made(
    module: str, path: Path, tree: ast.Module, qualname: str, function: ast.FunctionDef, node: ast.AST, change: ast.AST
) -> Iterator[Mutant]:
    ast.copy_location(change, node)
    memo: dict[int, object] = {id(node): change}
    changed = copy.deepcopy(tree, memo)
    code = _code_of(compile(ast.fix_missing_locations(changed), str(path), "exec"), qualname.split("."))
    if code is not None:
        line = getattr(node, "lineno", function.lineno)
        yield Mutant(module, qualname, line, _text(node), _text(change), code)


def _text(node: ast.AST) -> str:
    text = ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))).splitlines()
    return text[0] if len(text) == 1 else f"{text[0]} …"


def _code_of(code: CodeType, names: Sequence[str]) -> CodeType | None:
    for inner in code.co_consts:
        if isinstance(inner, CodeType) and inner.co_name == names[0]:
            return inner if len(names) == 1 else _code_of(inner, names[1:])
    return None


def apply(mutant: Mutant) -> bool:
    """Exchange the function's code; False for what is no plain function any more, such as a cached property."""
    found: object = importlib.import_module(mutant.module)
    for name in mutant.function.split("."):
        found = found.__dict__.get(name) if isinstance(found, type | ModuleType) else None
    found = found.fget if isinstance(found, property) else found
    if not isinstance(found, FunctionType) or found.__code__.co_freevars != mutant.code.co_freevars:
        return False
    found.__code__ = mutant.code
    return True


# ------------------------------------------------------------------------------ running tests


class Campaign:
    """A pytest plugin whose test loop is: all tests once, then the tests of each change."""

    def __init__(self, paths: Sequence[Path], sample: int | None, seed: int) -> None:
        self.paths, self.sample, self.chance = paths, sample, Random(seed)
        self.durations: dict[str, float] = {}
        self.has_failed = False
        self.counts = {"killed": 0, "survived": 0, "timeout": 0, "unreached": 0}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.has_failed = self.has_failed or report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        reached = self._baseline(session)
        if self.has_failed:
            print("the tests fail without any change; nothing to learn")
            return True
        items = {item.nodeid: item for item in session.items}
        for path in self.paths:
            self._module(path, items, reached)
        return True

    def _baseline(self, session: pytest.Session) -> coverage.CoverageData:
        measured = coverage.Coverage(data_file=None, source=[str(ENGINE)], config_file=False)
        measured.start()
        for item in session.items:
            measured.switch_context(item.nodeid)
            started = time.perf_counter()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
            self.durations[item.nodeid] = time.perf_counter() - started
        measured.stop()
        return measured.get_data()

    def _module(self, path: Path, items: dict[str, pytest.Item], reached: coverage.CoverageData) -> None:
        found = list(mutants_of(path))
        if self.sample is not None and len(found) > self.sample:
            found = sorted(self.chance.sample(found, self.sample), key=lambda mutant: mutant.line)
        by_line = reached.contexts_by_lineno(str(path.resolve()))
        for mutant in found:
            names = sorted((name for name in by_line.get(mutant.line, ()) if name), key=self.durations.__getitem__)
            verdict = self._judge(mutant, [items[name] for name in names])
            self.counts[verdict] += 1
            if verdict in ("survived", "unreached"):
                print(f"\n{verdict} {mutant}", flush=True)
        print(f"\n{path.stem}: {len(found)} changes, so far {self.counts}", flush=True)

    def _judge(self, mutant: Mutant, items: Sequence[pytest.Item]) -> str:
        if not items:
            return "unreached"
        expected = sum(self.durations[item.nodeid] for item in items)
        child = os.fork()
        if child == 0:
            self._die_with_the_verdict(mutant, items, int(expected * TIMEOUT_FACTOR + TIMEOUT_S))
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            return "timeout"
        return "killed" if os.waitstatus_to_exitcode(status) else "survived"

    def _die_with_the_verdict(self, mutant: Mutant, items: Sequence[pytest.Item], limit_s: int) -> None:
        signal.alarm(limit_s)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        if not apply(mutant):
            os._exit(1)
        for item in items:
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
            if self.has_failed:
                os._exit(1)
        os._exit(0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", help="names of engine modules; all of them by default")
    parser.add_argument("--sample", type=int, help="at most so many changes a module")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tests", nargs="*", default=TESTS)
    options = parser.parse_args()
    everything = sorted(ENGINE.rglob("*.py"))
    paths = [path for path in everything if path.stem != "__init__" and path.stem in (options.modules or [path.stem])]
    campaign = Campaign(paths, options.sample, options.seed)
    pytest.main([*options.tests, "-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist"], plugins=[campaign])
    return 1 if campaign.has_failed else 0


if __name__ == "__main__":
    sys.exit(main())
