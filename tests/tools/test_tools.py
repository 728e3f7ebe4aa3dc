"""The list of tools: made on first use, and never imported before."""

import subprocess
import sys

import pytest

from noetl.playbook.vocabulary import Vocabulary
from noetl.storage.memory import MemoryResults, MemoryStore
from noetl.system import RealSystem
from noetl.tools import BUILT_IN, Toolbox, make_tools


def toolbox() -> Toolbox:
    return make_tools(MemoryResults(), MemoryStore(RealSystem()), {})


def test_every_tool_of_the_list_is_a_kind_of_the_language() -> None:
    assert set(BUILT_IN) <= set(Vocabulary().kinds)


async def test_a_tool_is_made_once() -> None:
    tools = toolbox()
    assert tools["http"] is tools["http"]
    await tools.close()


async def test_a_closed_toolbox_makes_its_tools_anew() -> None:
    tools = toolbox()
    first = tools["noop"]
    await tools.close()
    assert tools["noop"] is not first
    await tools.close()


def test_a_kind_that_nobody_has_is_missing() -> None:
    tools = toolbox()
    assert tools.get("nonsense") is None
    assert set(BUILT_IN) <= set(tools)
    assert len(tools) == len(list(tools))
    with pytest.raises(KeyError):
        tools["nonsense"]


def test_a_run_without_requests_does_not_import_aiohttp() -> None:
    code = """
import sys
from noetl.tools import make_tools
tools = make_tools(None, None, {})
tools["noop"], tools["resolve"]
print([name for name in ("aiohttp", "yarl", "importlib.metadata") if name in sys.modules])
"""
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout == "[]\n"
