"""HTTP requests: `tool` runs one, the other files know its parts. Nothing is imported here: aiohttp takes long to."""
