"""What `noetl run` does: start or resume an execution here, follow it, tell its end."""
