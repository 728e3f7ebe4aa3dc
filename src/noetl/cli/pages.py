"""The page of each rule, as it is packed with the program."""

from importlib.resources import files

from noetl.playbook.rules.rule import Rule


def page_of(rule: Rule) -> str:
    return (files("noetl.playbook.rules") / "pages" / f"{rule.code}.md").read_text(encoding="utf-8")


def opening(page: str) -> str:
    """The first paragraph below the title: what the rule means, in a sentence or two."""
    paragraphs = page.split("\n\n")
    return " ".join(paragraphs[1].split())
