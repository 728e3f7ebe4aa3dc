"""The server's shell: it carries commands through the engine into the store, and hands out work."""
