"""Every test of the suite runs on every store, each in an event loop of its own."""

import asyncio
from inspect import iscoroutinefunction
from pathlib import Path

import pytest

from tests.conformance.homes import HOMES, Home, home_of


@pytest.fixture(params=HOMES)
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    return home_of(str(request.param), tmp_path)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True
