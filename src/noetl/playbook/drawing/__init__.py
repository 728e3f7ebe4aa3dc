"""Drawings of a playbook's net: Mermaid, Graphviz and SVG, each from the same sketch."""

from noetl.playbook.drawing.dot import dot
from noetl.playbook.drawing.mermaid import mermaid
from noetl.playbook.drawing.svg import svg

__all__ = ["dot", "mermaid", "svg"]
