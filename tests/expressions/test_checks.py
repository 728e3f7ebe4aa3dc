import pytest

from tests.expressions.values import problem_of, problems_of


@pytest.mark.parametrize(
    ("template", "kind", "place", "hint"),
    [
        ("{{ a | lenght }}", "filter", "lenght", "Did you mean `length`?"),
        ("{{ a | to_json }}", "filter", "to_json", "Did you mean `tojson`?"),
        ("{{ a | zzzzzzzz }}", "filter", "zzzzzzzz", "There is: abs, "),
        ("{{ a | random }}", "filter", "random", "Templates have no randomness"),
        ("{{ a | attr('x') }}", "filter", "attr", "Templates see keys"),
        ("{{ a | regex_replace('x') }}", "filter", "regex_replace", "Regular expressions can take unbounded time"),
        ("{{ a is strng }}", "test", "strng", "Did you mean `string`?"),
        ("{{ a is callable }}", "test", "callable", "Templates hold data only"),
        ("{{ a.upperr() }}", "method", "upperr", "Did you mean `upper`?"),
        ("{{ a.length() }}", "method", "length", "Use the filter: `x | length`."),
        ("{{ a.append(1) }}", "method", "append", "Values do not change"),
        ("{{ a.format(1) }}", "method", "format", "Use `~` to join"),
        ("{{ a.__class__() }}", "method", "__class__", "There is: "),
        ("{{ now() }}", "function", "now", "Templates have no clock"),
        ("{{ rnge(1) }}", "function", "rnge", "Did you mean `range`?"),
        ("{{ len(a) }}", "function", "len", "Use the filter: `x | length`."),
        ("{{ upper(a) }}", "function", "upper", "Use the filter: `x | upper`."),
        ("{{ a | map('uper') }}", "filter", "'uper'", "Did you mean `upper`?"),
        ("{{ a | select('dod') }}", "test", "'dod'", "Did you mean `odd`?"),
        ("{{ a | map(b) }}", "filter", "b", "Write `map('...')`."),
        ("{{ a | select(1) }}", "filter", "1", "Write `select('...')`."),
    ],
)
def test_what_does_not_exist_is_told_with_a_way_out(template: str, kind: str, place: str, hint: str) -> None:
    problem = problem_of(template)
    assert (problem.kind, template[problem.start : problem.end]) == (kind, place)
    assert problem.hint.startswith(hint)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ a | upper(1) }}", "the filter `upper` takes no arguments, found 1"),
        ("{{ a | trim(1, 2) }}", "the filter `trim` takes at most 1 argument, found 2"),
        ("{{ a | replace(1, 2, 3, 4) }}", "the filter `replace` takes at most 3 arguments, found 4"),
        ("{{ a | replace('x') }}", "the filter `replace` needs its argument `new`"),
        ("{{ a | trim(char='x') }}", "the filter `trim` has no argument `char`; did you mean `chars`?"),
        ("{{ a | trim(zzzz='x') }}", "the filter `trim` has no argument `zzzz`; it takes chars"),
        ("{{ a | upper(zzzz='x') }}", "the filter `upper` has no argument `zzzz`; it takes none"),
        ("{{ a | trim('x', chars='x') }}", "the filter `trim` has its argument `chars` written twice"),
        ("{{ a | trim(chars='x', chars='y') }}", "the filter `trim` has an argument written twice"),
        ("{{ a is divisibleby }}", "the test `divisibleby` needs its argument `num`"),
        ("{{ a.split(1, 2, 3) }}", "the method `split` takes at most 2 arguments, found 3"),
        ("{{ range() }}", "the function `range` needs its argument `start`"),
        ("{{ a | map }}", "the filter `map` takes the name of a filter, or attribute=... and default=..."),
        ("{{ a | map(default=1) }}", "the filter `map` takes the name of a filter, or attribute=... and default=..."),
        ("{{ a | map('trim', 1, 2) }}", "the filter `trim` takes at most 1 argument, found 2"),
        ("{{ a | select('eq') }}", "the test `eq` needs its argument `other`"),
        ("{{ a | select('odd', x=1) }}", "the filter `select` takes no named arguments"),
        ("{{ a | selectattr }}", "the filter `selectattr` needs the name of an attribute"),
    ],
)
def test_arguments_that_do_not_fit_are_told(template: str, message: str) -> None:
    assert problem_of(template).message == message


def test_all_problems_of_one_expression_are_found_at_once() -> None:
    template = "{{ a | nope | upper(1) if b is nix else c.zap() }}"
    assert problems_of(template) == [("filter", "nope"), ("filter", "upper"), ("test", "nix"), ("method", "zap")]


@pytest.mark.parametrize(
    "template",
    [
        "{{ a | map(attribute='x', default=1) }}",
        "{{ a | select }}",
        "{{ a | selectattr('x') }}",
        "{{ '%s' | format(1, 2) }}",
    ],
)
def test_what_fits_is_no_problem(template: str) -> None:
    assert problems_of(template) == []
