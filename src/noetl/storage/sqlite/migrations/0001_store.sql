-- Executions and their logs. `status` is empty where nobody gave a summary.
CREATE TABLE executions (
  namespace    TEXT    NOT NULL,
  execution_id TEXT    NOT NULL,
  head         INTEGER NOT NULL,
  path         TEXT,
  digest       TEXT,
  status       TEXT,
  started_at   REAL,
  changed_at   REAL,
  told_head    INTEGER,
  parent_id    TEXT,
  parent       BLOB,
  is_live      INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (namespace, execution_id)
) WITHOUT ROWID;
CREATE INDEX executions_live ON executions (namespace, execution_id) WHERE is_live;
CREATE INDEX executions_children ON executions (namespace, parent_id) WHERE is_live AND parent_id IS NOT NULL;

CREATE TABLE events (
  namespace    TEXT    NOT NULL,
  execution_id TEXT    NOT NULL,
  seq          INTEGER NOT NULL,
  data         BLOB    NOT NULL,
  PRIMARY KEY (namespace, execution_id, seq)
);

CREATE TABLE snapshots (
  namespace    TEXT    NOT NULL,
  execution_id TEXT    NOT NULL,
  seq          INTEGER NOT NULL,
  data         BLOB    NOT NULL,
  PRIMARY KEY (namespace, execution_id)
);

-- Work with its leases. `record` says everything; the other columns are what searches need of it.
-- `place` is that in the queue, where there is something to claim. `holder` has a loop that stays on one worker.
-- `expires_at` is the first end of its leases. `told` orders what came back too often.
CREATE TABLE work (
  namespace    TEXT    NOT NULL,
  execution_id TEXT    NOT NULL,
  run          TEXT    NOT NULL,
  path         TEXT    NOT NULL,
  record       BLOB    NOT NULL,
  place        INTEGER,
  pool         TEXT,
  local        TEXT,
  holder       TEXT,
  expires_at   REAL,
  told         INTEGER,
  PRIMARY KEY (namespace, execution_id, run, path)
);
CREATE INDEX work_open ON work (namespace, place, pool) WHERE place IS NOT NULL;
CREATE INDEX work_leased ON work (namespace, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX work_poisoned ON work (namespace, told) WHERE told IS NOT NULL;

CREATE TABLE timers (
  namespace    TEXT    NOT NULL,
  id           INTEGER NOT NULL,
  execution_id TEXT    NOT NULL,
  timer_id     TEXT    NOT NULL,
  step_run_id  TEXT,
  path         TEXT    NOT NULL,
  due_at       REAL    NOT NULL,
  kind         TEXT    NOT NULL,
  command      BLOB    NOT NULL,
  PRIMARY KEY (namespace, id),
  UNIQUE (namespace, execution_id, timer_id)
);
CREATE INDEX timers_due ON timers (namespace, due_at, id);
CREATE INDEX timers_of_runs ON timers (namespace, execution_id, step_run_id, path) WHERE step_run_id IS NOT NULL;

CREATE TABLE messages (
  namespace    TEXT    NOT NULL,
  id           INTEGER NOT NULL,
  sender       TEXT    NOT NULL,
  execution_id TEXT    NOT NULL,
  kind         TEXT    NOT NULL,
  body         BLOB    NOT NULL,
  PRIMARY KEY (namespace, id)
);
CREATE INDEX messages_from ON messages (namespace, sender);
CREATE INDEX messages_to ON messages (namespace, execution_id);

CREATE TABLE incidents (
  id           INTEGER PRIMARY KEY,
  namespace    TEXT    NOT NULL,
  execution_id TEXT    NOT NULL,
  kind         TEXT    NOT NULL,
  place        TEXT    NOT NULL,
  message      TEXT    NOT NULL,
  remedy       TEXT    NOT NULL,
  since        REAL    NOT NULL,
  parks        INTEGER NOT NULL,
  UNIQUE (namespace, execution_id, kind, place)
);
CREATE INDEX incidents_since ON incidents (namespace, since, id);

CREATE TABLE logs (
  namespace    TEXT    NOT NULL,
  execution_id TEXT    NOT NULL,
  position     INTEGER NOT NULL,
  task_run_id  TEXT    NOT NULL,
  number       INTEGER NOT NULL,
  at           REAL    NOT NULL,
  stream       TEXT    NOT NULL,
  text         TEXT    NOT NULL,
  PRIMARY KEY (namespace, execution_id, position)
);

CREATE TABLE playbooks (
  id           INTEGER PRIMARY KEY,
  namespace    TEXT    NOT NULL,
  path         TEXT    NOT NULL,
  version      TEXT    NOT NULL,
  digest       TEXT    NOT NULL,
  model        BLOB    NOT NULL,
  file         TEXT    NOT NULL,
  places       BLOB    NOT NULL,
  UNIQUE (namespace, path, version, digest)
);
CREATE INDEX playbooks_by_digest ON playbooks (namespace, digest);

-- What was drawn last: the epoch of a lease, the id of a timer or message, a place in the queue.
CREATE TABLE counters (
  namespace    TEXT    NOT NULL PRIMARY KEY,
  epoch        INTEGER NOT NULL,
  number       INTEGER NOT NULL,
  place        INTEGER NOT NULL
) WITHOUT ROWID;
