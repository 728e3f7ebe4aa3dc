"""Compiles with the kinds that installed packages add, which are looked for only where a playbook asks for one."""

from noetl.cli.console import Stopped
from noetl.playbook.compile import Compilation, compile_playbook
from noetl.playbook.rules import unknown_kind


def compiled(data: bytes, name: str) -> Compilation:
    compilation = compile_playbook(data, name)
    if not any(found.code == unknown_kind.RULE.code for found in compilation.diagnostics):
        return compilation
    return _with_plugins(data, name) or compilation


def _with_plugins(data: bytes, name: str) -> Compilation | None:
    """Imports packages, so that a file whose kinds are all known pays nothing for them."""
    from noetl.playbook.kinds import KINDS  # noqa: PLC0415
    from noetl.playbook.vocabulary import Vocabulary  # noqa: PLC0415
    from noetl.tools.plugin import BrokenPlugin, kinds  # noqa: PLC0415

    try:
        added = kinds()
    except BrokenPlugin as broken:
        raise Stopped(f"noetl: {broken}") from None
    return compile_playbook(data, name, Vocabulary([*KINDS, *added])) if added else None
