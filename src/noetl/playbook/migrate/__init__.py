"""From older words to today's, by splicing the text: one file for each kind of rewrite, `migration` runs them all."""
