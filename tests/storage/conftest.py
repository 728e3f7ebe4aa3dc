"""Tests of storage may be coroutines, as those of the conformance suite are."""

from tests.conformance.conftest import pytest_pyfunc_call

__all__ = ["pytest_pyfunc_call"]
