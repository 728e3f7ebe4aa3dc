"""From YAML text to a sound playbook: source, structure, model, rules, analysis. Pure: no I/O."""
