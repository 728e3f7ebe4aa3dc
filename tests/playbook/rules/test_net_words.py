from noetl.playbook.rules.net_words import circle, quoted

NAMES = ["a", "b", "c", "d", "e", "f", "g"]


def test_names_are_listed_as_in_a_sentence_and_only_the_first_of_many() -> None:
    assert quoted(NAMES[:1]) == '"a"'
    assert quoted(NAMES[:3]) == '"a", "b" and "c"'
    assert quoted(NAMES[:2], "or") == '"a" or "b"'
    assert quoted(NAMES) == '"a", "b", "c", "d", "e" and 2 more'


def test_a_circle_is_drawn_with_arrows() -> None:
    assert circle("step", NAMES[:1]) == 'step "a" repeats'
    assert circle("step", NAMES[:2]) == 'the steps "a" → "b" → "a" repeat'
    assert circle("task", NAMES) == 'the 7 tasks "a" → … → "a" repeat'
