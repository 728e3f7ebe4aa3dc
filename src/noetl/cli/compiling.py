"""Compiles with the kinds that installed packages add, which are looked for only where a playbook seems to need one."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from noetl.playbook.compile import Compilation, compile_playbook
from noetl.playbook.diagnostics import Diagnostic
from noetl.playbook.rules import unknown_key, unknown_kind

if TYPE_CHECKING:
    from noetl.tools.plugin import Installed

UNKNOWN = frozenset({unknown_key.RULE.code, unknown_kind.RULE.code})
"""What a package may cure: its kind in a task, and the block of its knobs in a `spec`."""


class Compiler:
    """One for all files of a verb, so that packages are looked for once."""

    def compiled(self, data: bytes, name: str) -> Compilation:
        """A file without a kind or a key that is unknown pays nothing for packages."""
        compilation = compile_playbook(data, name)
        if not self.may_miss_packages(compilation.diagnostics):
            return compilation
        return compile_playbook(data, name, self.installed.vocabulary)

    def may_miss_packages(self, found: Iterable[Diagnostic]) -> bool:
        """Whether what was found without the kinds of packages might not be there with them."""
        return any(each.code in UNKNOWN for each in found) and bool(self.installed.names)

    @cached_property
    def installed(self) -> Installed:
        from noetl.tools.plugin import Installed  # noqa: PLC0415 — `validate` starts without it

        return Installed()
