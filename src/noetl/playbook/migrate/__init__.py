"""From older words to today's, by splicing the text: one file for each kind of rewrite, `migration` runs them all."""

from noetl.playbook.migrate.migration import Change, Migration, migrate

__all__ = ["Change", "Migration", "migrate"]
