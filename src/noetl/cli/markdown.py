"""A rule's page for the eye: headings, samples and words in code marked by colour instead of by signs."""

import re
from collections.abc import Iterator

from noetl.cli.reports.text import Paint

_CODE = re.compile(r"`([^`]+)`")


def styled(page: str, paint: Paint) -> str:
    return "".join(f"{line}\n" for line in _lines(page, paint))


def _lines(page: str, paint: Paint) -> Iterator[str]:
    in_sample = False
    for line in page.splitlines():
        if line.startswith("```"):
            in_sample = not in_sample
        elif in_sample:
            yield f"    {paint(line, 'sample')}".rstrip()
        elif line.startswith("#"):
            yield paint(line.lstrip("#").strip(), "title" if line.startswith("# ") else "strong")
        else:
            yield _CODE.sub(lambda found: paint(found[1], "sample"), line)
