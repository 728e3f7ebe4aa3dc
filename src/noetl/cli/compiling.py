"""Compiles with the kinds that installed packages add, which are looked for only where a playbook seems to need one."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from noetl.playbook.compile import Compilation, compile_playbook
from noetl.playbook.diagnostics import Severity

if TYPE_CHECKING:
    from noetl.tools.plugin import Installed


class Compiler:
    """One for all files of a verb, so that packages are looked for once."""

    def compiled(self, data: bytes, name: str) -> Compilation:
        """A file without errors has no kind that is unknown, and pays nothing for packages."""
        compilation = compile_playbook(data, name)
        if not any(found.severity is Severity.ERROR for found in compilation.diagnostics) or not self.installed.names:
            return compilation
        return compile_playbook(data, name, self.installed.vocabulary)

    @cached_property
    def installed(self) -> Installed:
        from noetl.tools.plugin import Installed  # noqa: PLC0415 — `validate` starts without it

        return Installed()
