from noetl.playbook.shape import Field, Text, Value, shape


def test_the_words_of_a_shape_are_those_an_author_should_use() -> None:
    its = shape(
        "thing",
        "A thing.",
        [
            Field("name", Text(), "Its name."),
            Field("args", Value(), "An older word.", rule="NOE602"),
            Field("emit", Value(), "Reserved.", inert=True),
        ],
    )
    assert its.words == ["name"]
    assert list(its.fields) == ["name", "args", "emit"]
    assert not its.is_open
