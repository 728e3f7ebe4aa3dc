"""What both halves of the runtime fetch before they use it: playbooks made ready, and data kept outside the log."""
