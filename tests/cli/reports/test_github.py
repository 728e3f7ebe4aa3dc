from noetl.cli.checking import Checked, Tally
from noetl.cli.console import Console
from noetl.cli.reports.github import report
from noetl.playbook.diagnostics import Diagnostic, Severity, Span
from noetl.playbook.source.lines import Lines
from tests.cli.invoke import BROKEN, Screen, noetl


def printed(*diagnostics: Diagnostic, name: str = "a.yaml") -> str:
    out, err = Screen(is_terminal=False), Screen(is_terminal=False)
    report([Checked(name, Lines(""), diagnostics)], Tally(), Console(out, err, err, allows_colour=False))
    return out.printed().decode()


def test_a_mistake_becomes_an_annotation() -> None:
    ran = noetl("validate", "-o", "github", "-", stdin=BROKEN.encode())
    assert ran.code == 3
    assert ran.out == (
        "::error file=<stdin>,line=8,col=17,endLine=8,endColumn=23,title=NOE203::"
        'step "start" has an arc to "colect", which is not a step; did you mean "collect"?\n'
    )
    assert ran.err == "1 file, 1 error\n"


def test_signs_with_a_meaning_in_the_log_are_escaped() -> None:
    found = Diagnostic("NOE001", Severity.WARNING, "100 %: a, b\r", Span(1, 2, 3, 4), "first\nsecond")
    assert printed(found, name="a,b:c%.yaml") == (
        "::warning file=a%2Cb%3Ac%25.yaml,line=1,col=2,endLine=3,endColumn=4,title=NOE001::"
        "100 %25: a, b%0D%0Afirst%0Asecond\n"
    )


def test_a_note_is_a_notice() -> None:
    assert printed(Diagnostic("NOE101", Severity.INFO, "m", Span(1, 1, 1, 2))).startswith("::notice file=a.yaml,")
