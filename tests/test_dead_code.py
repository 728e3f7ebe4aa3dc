from scripts.dead_code import data_lines

SOURCE = """\
class Kind(StrEnum):
    A = "a"

class Task(msgspec.Struct, frozen=True):
    name: str

class Loop(Task):
    depth: int = 0

class Plain:
    field = 1

CONSTANT = 1
"""


def test_fields_of_records_and_members_of_enums_are_data() -> None:
    assert data_lines(SOURCE) == {2, 5, 8}
