"""From the model back to text: the inverse of the compiler, in one spelling or in any."""

from noetl.playbook.model import Playbook
from tests.generators.choices import Choices, Simplest
from tests.generators.document import document
from tests.generators.yaml_text import yaml_text


def to_yaml(playbook: Playbook, style: Choices | None = None) -> str:
    """A text that compiles to the playbook. `style` makes the choices of spelling; without it, the plainest."""
    choices = style or Simplest()
    return yaml_text(document(playbook, choices), choices)
