"""The worker's shell: it claims work, runs pipelines and reports what happened."""
