"""What the YAML parser found wrong, in words that help: what stands there, what was expected, what to do."""

from collections.abc import Callable

from noetl.playbook.source.blanks import explain_odd_blank
from noetl.playbook.source.brackets import (
    explain_after_bracket,
    explain_after_quote,
    explain_escape,
    explain_open_bracket,
    explain_open_quote,
)
from noetl.playbook.source.conflicts import explain_conflict
from noetl.playbook.source.failures import Failure
from noetl.playbook.source.layout import (
    explain_bracket_without_colon,
    explain_extra_key,
    explain_indentation,
    explain_inline_list,
    explain_missing_colon,
    explain_missing_key,
    explain_missing_space,
    explain_tab,
)
from noetl.playbook.source.nodes import SourceProblem
from noetl.playbook.source.unquoted import explain_second_colon, explain_special_start, explain_template


def explain_syntax(failure: Failure) -> SourceProblem:
    for explain in _EXPLANATIONS:
        if (problem := explain(failure)) is not None:
            return problem
    return _in_the_parsers_words(failure)


def _explain_block_header(failure: Failure) -> SourceProblem | None:
    if failure.context is None or failure.text[failure.context : failure.context + 1] not in {"|", ">"}:
        return None
    mark = failure.text[failure.context]
    message = f"found {failure.found or 'nothing'} behind {mark}; expected the text to begin on the next line"
    hint = f"move the text to the next line, or quote a value that begins with {mark}"
    return failure.report(message, failure.at, failure.at + 1, hint)


def _explain_directive(failure: Failure) -> SourceProblem | None:
    if failure.problem == "found incompatible YAML document":
        return failure.report("expected YAML 1.1 or 1.2", failure.at, failure.at + 1, "write %YAML 1.2")
    content = failure.lines.line_text(failure.line)
    if not content.startswith("%"):
        return None
    start = failure.lines.start(failure.line)
    message = "a line that starts with % is a directive, and this one YAML does not know"
    return failure.report(message, start, start + len(content), "delete the line, or quote the text")


def _explain_marker_line(failure: Failure) -> SourceProblem | None:
    if not failure.lines.line_text(failure.line).startswith("--- "):
        return None
    start = failure.lines.start(failure.line)
    hint = "begin the playbook on the line below ---"
    return failure.report("found a key on the line of ---", start, failure.at, hint)


def _in_the_parsers_words(failure: Failure) -> SourceProblem:
    found = failure.found.strip() or "the end of the line"
    message = f"the YAML parser stopped at {found}: {failure.problem}"
    hint = "check the indentation and the quotes of this line and the one above"
    return failure.report(message, failure.at, failure.at + 1, hint)


# The first that recognises the mistake speaks, so the more particular stand before the more general.
_EXPLANATIONS: tuple[Callable[[Failure], SourceProblem | None], ...] = (
    explain_conflict,
    explain_open_quote,
    explain_escape,
    explain_odd_blank,
    explain_template,
    explain_tab,
    _explain_directive,
    _explain_block_header,
    explain_inline_list,
    explain_bracket_without_colon,
    explain_after_quote,
    explain_after_bracket,
    _explain_marker_line,
    explain_special_start,
    explain_open_bracket,
    explain_second_colon,
    explain_missing_space,
    explain_missing_key,
    explain_missing_colon,
    explain_extra_key,
    explain_indentation,
)
