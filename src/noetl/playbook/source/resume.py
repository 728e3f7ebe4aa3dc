"""What can still be read of a text that is no YAML: the rest of it, once the parts that are broken are left out.

Each part is tried on its own, so that a quote which is never closed does not swallow those behind it. Then the
broken ones are blanked, which moves nothing else, and the text is read again as a whole.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from noetl.playbook.source.lines import Lines
from noetl.playbook.source.nodes import Mapping, SourceProblem
from noetl.playbook.source.part import Part, read_part
from noetl.playbook.source.sections import Section, sections_of

TEXT_CHARS_MAX = 200_000
VALUES_MAX = 30_000
"""Read at first, and again, all attempts together. In a larger file only the first mistake of syntax is told."""

_START_VALUES = 25
_BROKEN_VALUES = 150
"""What it costs to begin an attempt, and to explain why it failed, in values: 400 are read in a millisecond."""

_NOT_BREAK = re.compile(r"[^\r\n]")


class Rest(msgspec.Struct, frozen=True):
    """The root without the parts that are `lost`. With none, the rest could not be read and it is what came before."""

    root: Mapping | None
    problems: list[SourceProblem]
    lost: tuple[str, ...]


def read_rest(lines: Lines, failed: Part) -> Rest:
    """`failed` is what reading the whole text came to."""
    is_small = len(lines.text) <= TEXT_CHARS_MAX and failed.values <= VALUES_MAX
    sections = sections_of(lines.text) if is_small else []
    parts = [part for section in sections for part in section.parts]
    if len(parts) < 2:
        return _without_rest(failed, failed.problems)
    attempts = _Attempts(lines)
    broken = dict(attempts.broken(parts))
    problems = [problem for part in broken.values() for problem in _sure(part)]
    lost = list(broken)
    if lost and not attempts.may_go_on:
        return _without_rest(failed, problems)
    whole = attempts.without(sections, lost) if lost else failed
    while whole.is_broken and attempts.may_go_on:
        problems += _sure(whole)
        lost.append(_section_of(lines, sections, whole.problems[-1]))
        whole = attempts.without(sections, lost)
    problems += _sure(whole)
    if whole.ended_by is not None or len(_sure(whole)) < len(whole.problems) or not isinstance(whole.root, Mapping):
        return _without_rest(failed, problems)
    return Rest(whole.root, _in_order(problems), tuple(lines.text[section.start : section.end] for section in lost))


def _sure(part: Part) -> list[SourceProblem]:
    """All but those of aliases: they may stand for something in a part that is lost."""
    return [problem for problem in part.problems if problem.kind != "alias"]


def _without_rest(failed: Part, problems: Sequence[SourceProblem]) -> Rest:
    return Rest(failed.root if isinstance(failed.root, Mapping) else None, _in_order(problems), ())


def _in_order(problems: Sequence[SourceProblem]) -> list[SourceProblem]:
    return sorted(dict.fromkeys(problems), key=lambda problem: problem.span)


class _Attempts:
    """Readings of parts of one text, as long as they may go on."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._values = 0

    @property
    def may_go_on(self) -> bool:
        return self._values <= VALUES_MAX

    def broken(self, sections: Sequence[Section]) -> Iterator[tuple[Section, Part]]:
        """Those that cannot be read on their own, nor as the first half of a text that goes on in the next one."""
        for section, following in zip(sections, (*sections[1:], None), strict=True):
            if not self.may_go_on:
                return
            part = self._read(section.start, section.end)
            if part.is_broken and (following is None or self._read(section.start, following.end).is_broken):
                yield section, part

    def without(self, sections: Sequence[Section], lost: Sequence[Section]) -> Part:
        """The whole text, what is lost replaced by blanks; a list of which nothing is left goes with its key."""
        parts = set(lost)
        for section in sections:
            if section.items and parts.issuperset(section.items):
                parts.add(section)
        text = _blanked(self._lines.text, parts)
        return self._counted(read_part(text.encode("utf-8", "surrogatepass"), Lines(text), 0, len(text)))

    def _read(self, start: int, end: int) -> Part:
        written = self._lines.text[start:end].rstrip()
        encoded = written.encode("utf-8", "surrogatepass")
        return self._counted(read_part(encoded, self._lines, start, start + len(written)))

    def _counted(self, part: Part) -> Part:
        self._values += part.values + _START_VALUES + (_BROKEN_VALUES if part.is_broken else 0)
        return part


def _blanked(text: str, parts: Iterable[Section]) -> str:
    pieces: list[str] = []
    done = 0
    for part in sorted(parts, key=lambda part: (part.start, -part.end)):
        if part.start >= done:
            pieces += (text[done : part.start], _NOT_BREAK.sub(" ", text[part.start : part.end]))
            done = part.end
    return "".join((*pieces, text[done:]))


def _section_of(lines: Lines, sections: Sequence[Section], problem: SourceProblem) -> Section:
    """The innermost section in which a problem stands; before the first key it is the whole text."""
    offset = lines.start(problem.span.line) + problem.span.column - 1
    around = [part for section in sections for part in (section, *section.items) if part.start <= offset < part.end]
    return around[-1] if around else Section(0, len(lines.text))
