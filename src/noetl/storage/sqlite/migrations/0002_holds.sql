-- The stored objects that the events of an execution refer to, until a time or for good.
CREATE TABLE holds (
  namespace    TEXT    NOT NULL,
  sha256       TEXT    NOT NULL,
  execution_id TEXT    NOT NULL,
  until        REAL,
  PRIMARY KEY (namespace, sha256, execution_id)
) WITHOUT ROWID;

-- How far the search for objects that nobody refers to has come.
CREATE TABLE rounds (
  namespace    TEXT    NOT NULL PRIMARY KEY,
  next         INTEGER NOT NULL,
  began_at     REAL    NOT NULL
) WITHOUT ROWID;

-- Where executions are older than this table, it is not known what they refer to: nothing is ever removed there.
INSERT INTO rounds SELECT DISTINCT namespace, 1 << 30, 9e99 FROM executions;
