"""Looking at executions in the project's store, and cancelling them: no server is needed."""
