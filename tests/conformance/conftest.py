"""Every test of the suite runs on every store."""

from pathlib import Path

import pytest

from tests.conformance.homes import HOMES, Home, home_of


@pytest.fixture(params=HOMES)
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    return home_of(str(request.param), tmp_path)
