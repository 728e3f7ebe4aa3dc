from itertools import pairwise
from pathlib import Path

import pytest

from noetl.playbook.migrate import migrate
from tests.documents import Block, blocks

PAGE = Path(__file__).parents[3] / "docs" / "migration.md"
HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: demo, path: demo }\n"


def pairs() -> list[tuple[Block, Block]]:
    return [pair for pair in pairwise(blocks(PAGE.read_text("utf-8"))) if pair[0].info == "yaml before"]


@pytest.mark.parametrize(("before", "after"), pairs(), ids=lambda block: f"line-{block.line}")
def test_what_the_page_shows_is_what_the_migration_does(before: Block, after: Block) -> None:
    migration = migrate(HEAD + before.text)
    assert after.info == "yaml after"
    assert migration.refused == ()
    assert migration.text == HEAD + after.text
