"""`retry` blocks become a retry rule, and what they left to the default is written out."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Edit
from noetl.playbook.document import Document
from noetl.playbook.migrate.blocks import is_inline
from noetl.playbook.migrate.compose import New, commented, comments, cut_entry, entry_end, plain, put, replace_entry
from noetl.playbook.migrate.evals import DEFAULT_RULES, PATH
from noetl.playbook.migrate.rewrite import Rewrite, Untranslatable, attempt
from noetl.playbook.migrate.walk import steps, tasks, tasks_of
from noetl.playbook.model import Backoff
from noetl.playbook.reading import mapping
from noetl.playbook.source.nodes import Entry, Mapping, Node, Scalar

CODE = "NOE709"
WORDS = {
    "attempts": "attempts",
    "max_attempts": "attempts",
    "backoff": "backoff",
    "delay": "delay",
    "initial_delay": "delay",
    "max_delay": "max_delay",
    "jitter": "jitter",
    "when": "when",
}
"""The words of a retry block and those of a rule."""

BACKOFFS = frozenset(map(str, Backoff))
ON_ERROR = "\"{{ output.status == 'error' }}\""


def rewrite_retries(document: Document) -> Iterator[Rewrite]:
    text = document.source.text
    what = "made the `retry` block a rule"
    for task in tasks(document.root):
        entry = task.body.entry("retry")
        if entry is not None:
            yield attempt(CODE, entry.key.span, what, _on_task, text, task.body, entry)
    for step in steps(document.root):
        entry = step.entry("retry")
        if entry is not None:
            yield attempt(CODE, entry.key.span, what, _on_step, text, step, entry)


def _on_task(text: str, body: Mapping, entry: Entry) -> list[Edit]:
    _check_free(body)
    return replace_entry(text, body, entry, PATH, _rules(text, entry))


def _on_step(text: str, step: Mapping, entry: Entry) -> list[Edit]:
    found = list(tasks_of(step))
    if len(found) != 1:
        raise Untranslatable(f"the step has {len(found)} tasks; move the block to the one that is to be retried")
    _check_free(found[0].body)
    return [*put(text, found[0].body, PATH, _rules(text, entry)), cut_entry(text, entry, step)]


def _check_free(body: Mapping) -> None:
    if body.get("eval") is not None or mapping(mapping(body, "spec"), "policy") is not None:
        raise Untranslatable("the task has rules of its own; add a retry rule where it belongs among them")


def _rules(text: str, entry: Entry) -> list[New]:
    if not is_inline(entry):
        raise Untranslatable("the block stands elsewhere, behind an alias")
    said = _said(entry.value)
    when = said.pop("when", ON_ERROR)
    then = ", ".join(["do: retry", *(f"{word}: {value}" for word, value in said.items())])
    kept = comments(text, entry.key.end, entry_end(text, entry), entry.value)
    first: dict[str, New] = {"when": when, "then": f"{{ {then} }}"}
    rest = DEFAULT_RULES if when != ON_ERROR else DEFAULT_RULES[1:]
    return [commented(kept, first), *rest]


def _said(block: Node) -> dict[str, str]:
    if isinstance(block, Scalar) and isinstance(block.value, int) and not isinstance(block.value, bool):
        return {"attempts": block.text}
    if not isinstance(block, Mapping):
        raise Untranslatable("the block says neither a number nor `attempts`, `delay` and the like")
    said = {}
    for entry in block.entries:
        word = WORDS.get(entry.key.text)
        if word is None or word in said:
            raise Untranslatable(f"`{entry.key.text}` has no place in a retry rule")
        said[word] = _value(word, entry.value)
    if "attempts" not in said:
        raise Untranslatable("the block does not say how many `attempts` there are")
    return said


def _value(word: str, value: Node) -> str:
    if not isinstance(value, Scalar) or isinstance(value.value, bool) or value.value is None:
        raise Untranslatable(f"`{word}` is no number or text")
    if word == "backoff" and value.text not in BACKOFFS:
        raise Untranslatable(f"`backoff: {value.text}` is none of {', '.join(Backoff)}")
    return plain(value) if word != "backoff" else value.text
