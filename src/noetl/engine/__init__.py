"""The pure, event-sourced core: commands in, events out, state from events alone. No I/O, no clock, no randomness."""
