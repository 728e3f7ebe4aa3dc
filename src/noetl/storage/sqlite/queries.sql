-- Every query of the store. `?1` is the namespace. What stands between two /*rows*/ is repeated for several rows.

-- name: load_heads
SELECT execution_id, head FROM executions
WHERE namespace = ?1 AND execution_id IN (SELECT value FROM json_each(?2));

-- name: load_parked
SELECT DISTINCT execution_id FROM incidents
WHERE namespace = ?1 AND parks AND execution_id IN (SELECT value FROM json_each(?2));

-- name: load_timed
SELECT DISTINCT execution_id FROM timers
WHERE namespace = ?1 AND execution_id IN (SELECT value FROM json_each(?2));

-- name: insert_events
INSERT INTO events (namespace, execution_id, seq, data) VALUES /*rows*/ (?1, ?, ?, ?) /*rows*/;

-- name: save_heads
INSERT INTO executions (namespace, execution_id, head) VALUES /*rows*/ (?1, ?, ?) /*rows*/
ON CONFLICT DO UPDATE SET head = excluded.head;

-- name: save_summaries
INSERT INTO executions (
  namespace, execution_id, head, path, digest, status, started_at, changed_at, told_head, parent_id, parent, is_live
) VALUES /*rows*/ (?1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) /*rows*/
ON CONFLICT DO UPDATE SET
  head = excluded.head, path = excluded.path, digest = excluded.digest, status = excluded.status,
  started_at = excluded.started_at, changed_at = excluded.changed_at, told_head = excluded.told_head,
  parent_id = excluded.parent_id, parent = excluded.parent, is_live = excluded.is_live;

-- name: head
SELECT head FROM executions WHERE namespace = ?1 AND execution_id = ?2;

-- name: read
SELECT data FROM events WHERE namespace = ?1 AND execution_id = ?2 AND seq > ?3 ORDER BY seq LIMIT ?4;

-- name: save_snapshot
INSERT INTO snapshots (namespace, execution_id, seq, data) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT DO UPDATE SET seq = excluded.seq, data = excluded.data;

-- name: snapshot
SELECT seq, data FROM snapshots WHERE namespace = ?1 AND execution_id = ?2;

-- name: live
SELECT execution_id, path, digest, status, started_at, changed_at, told_head, parent FROM executions
WHERE namespace = ?1 AND execution_id > ?2 AND is_live ORDER BY execution_id LIMIT ?3;

-- name: summary
SELECT execution_id, path, digest, status, started_at, changed_at, told_head, parent FROM executions
WHERE namespace = ?1 AND execution_id = ?2 AND status IS NOT NULL;

-- name: recent
SELECT execution_id, path, digest, status, started_at, changed_at, told_head, parent FROM executions
WHERE namespace = ?1 AND (?2 = '' OR execution_id < ?2) AND parent_id IS NULL AND status IS NOT NULL
ORDER BY execution_id DESC LIMIT ?3;

-- name: below
SELECT execution_id, path, digest, status, started_at, changed_at, told_head, parent FROM executions
WHERE namespace = ?1 AND execution_id > ?2 AND execution_id < ?3 AND status IS NOT NULL
ORDER BY execution_id LIMIT ?4;

-- name: live_children
SELECT execution_id FROM executions WHERE namespace = ?1 AND parent_id = ?2 AND is_live;

-- name: load_work
SELECT execution_id, run, path, record, place, told FROM work
WHERE namespace = ?1 AND execution_id IN (SELECT value FROM json_each(?2));

-- name: save_work
INSERT INTO work (
  namespace, execution_id, run, path, record, place, pool, local, holder, expires_at, told
) VALUES /*rows*/ (?1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) /*rows*/
ON CONFLICT (namespace, execution_id, run, path) DO UPDATE SET
  record = excluded.record, place = excluded.place, pool = excluded.pool, local = excluded.local,
  holder = excluded.holder, expires_at = excluded.expires_at, told = excluded.told;

-- name: delete_work
DELETE FROM work WHERE (namespace, execution_id, run, path) IN (VALUES /*rows*/ (?1, ?, ?, ?) /*rows*/);

-- name: find_open
SELECT execution_id, run, path FROM work AS row
WHERE namespace = ?1 AND place IS NOT NULL
  AND (pool IS NULL OR pool IN (SELECT value FROM json_each(?3)))
  AND (?5 = '' OR execution_id = ?5 OR substr(execution_id, 1, length(?5) + 1) = ?5 || '.')
  AND NOT EXISTS (
    SELECT 1 FROM incidents AS held WHERE held.namespace = ?1 AND held.execution_id = row.execution_id AND held.parks
  )
  AND (local IS NULL OR NOT EXISTS (
    SELECT 1 FROM work AS beside WHERE beside.namespace = ?1 AND beside.execution_id = row.execution_id
      AND beside.run = row.run AND beside.local = row.local AND beside.holder <> ?2
  ))
ORDER BY place LIMIT ?4;

-- name: find_expired
SELECT execution_id, run, path FROM work WHERE namespace = ?1 AND expires_at <= ?2 ORDER BY expires_at LIMIT ?3;

-- name: find_poisoned
SELECT execution_id, run, path FROM work AS row
WHERE namespace = ?1 AND told IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM incidents AS held WHERE held.namespace = ?1 AND held.execution_id = row.execution_id AND held.parks
)
ORDER BY told LIMIT ?2;

-- name: timers_named
SELECT timer.id, execution_id, timer_id, due_at, kind, command FROM json_each(?2) AS key CROSS JOIN timers AS timer
ON namespace = ?1 AND execution_id = key.value ->> 0 AND timer_id = key.value ->> 1;

-- name: timers_under
SELECT timer.id, execution_id, timer_id, due_at, kind, command FROM json_each(?2) AS key CROSS JOIN timers AS timer
ON namespace = ?1 AND execution_id = key.value ->> 0 AND step_run_id = key.value ->> 1
AND timer.path >= key.value ->> 2 AND timer.path < (key.value ->> 2) || '~';

-- name: timers_of
SELECT id, execution_id, timer_id, due_at, kind, command FROM timers
WHERE namespace = ?1 AND execution_id = ?2 ORDER BY id;

-- name: first_timers
SELECT id, execution_id, timer_id, due_at, kind, command FROM timers
WHERE namespace = ?1 ORDER BY due_at, id LIMIT ?2;

-- name: insert_timers
INSERT INTO timers (namespace, id, execution_id, timer_id, step_run_id, path, due_at, kind, command)
VALUES /*rows*/ (?1, ?, ?, ?, ?, ?, ?, ?, ?) /*rows*/;

-- name: delete_timers
DELETE FROM timers WHERE namespace = ?1 AND id IN (SELECT value FROM json_each(?2));

-- name: delete_timers_of
DELETE FROM timers WHERE namespace = ?1 AND execution_id IN (SELECT value FROM json_each(?2));

-- name: insert_messages
INSERT INTO messages (namespace, id, sender, execution_id, kind, body) VALUES /*rows*/ (?1, ?, ?, ?, ?, ?) /*rows*/;

-- name: delete_messages
DELETE FROM messages WHERE namespace = ?1 AND id IN (SELECT value FROM json_each(?2));

-- name: messages
SELECT id, sender, execution_id, kind, body FROM messages WHERE namespace = ?1 AND id > ?2 ORDER BY id LIMIT ?3;

-- name: correspondents
SELECT execution_id FROM messages WHERE namespace = ?1 AND sender = ?2 AND kind = 'StartChild'
UNION SELECT sender FROM messages WHERE namespace = ?1 AND execution_id = ?2;

-- name: open_incident
INSERT OR IGNORE INTO incidents (namespace, execution_id, kind, place, message, remedy, since, parks)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8);

-- name: close_incidents
DELETE FROM incidents WHERE namespace = ?1 AND execution_id = ?2;

-- name: parking
SELECT execution_id, kind, message, since, place, remedy FROM incidents
WHERE namespace = ?1 AND execution_id = ?2 AND parks ORDER BY id LIMIT 1;

-- name: incidents_within
SELECT execution_id, kind, message, since, place, remedy FROM incidents
WHERE namespace = ?1 AND (?2 = '' OR execution_id = ?2 OR (execution_id > ?2 || '.' AND execution_id < ?2 || '/'))
ORDER BY since, id LIMIT ?3;

-- name: incidents
SELECT execution_id, kind, message, since, place, remedy FROM incidents
WHERE namespace = ?1 AND execution_id = ?2 ORDER BY since, id LIMIT ?3;

-- name: log_lengths
SELECT key.value, coalesce((
  SELECT max(position) FROM logs WHERE namespace = ?1 AND execution_id = key.value
), 0) FROM json_each(?2) AS key;

-- name: insert_logs
INSERT INTO logs (namespace, execution_id, position, task_run_id, number, at, stream, text)
VALUES /*rows*/ (?1, ?, ?, ?, ?, ?, ?, ?) /*rows*/;

-- name: logs
SELECT execution_id, task_run_id, number, at, stream, text FROM logs
WHERE namespace = ?1 AND execution_id = ?2 AND position > ?3 ORDER BY position LIMIT ?4;

-- name: register
INSERT OR REPLACE INTO playbooks (namespace, path, version, digest, model, file, places)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);

-- name: by_digest
SELECT path, version, digest, model, file, places FROM playbooks
WHERE namespace = ?1 AND digest = ?2 ORDER BY id DESC LIMIT 1;

-- name: by_path
SELECT path, version, digest, model, file, places FROM playbooks
WHERE namespace = ?1 AND path = ?2 AND version = ?3 ORDER BY id DESC LIMIT 1;

-- name: newest
SELECT path, version, digest, model, file, places FROM playbooks
WHERE namespace = ?1 AND path = ?2 ORDER BY id DESC LIMIT 1;

-- name: load_counters
SELECT epoch, number, place FROM counters WHERE namespace = ?1;

-- name: save_counters
INSERT INTO counters (namespace, epoch, number, place) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT DO UPDATE SET epoch = excluded.epoch, number = excluded.number, place = excluded.place;

-- name: save_holds
INSERT INTO holds (namespace, sha256, execution_id, until) VALUES /*rows*/ (?1, ?, ?, ?) /*rows*/
ON CONFLICT DO UPDATE SET
  until = CASE WHEN until IS NULL OR excluded.until IS NULL THEN NULL ELSE max(until, excluded.until) END;

-- name: held
SELECT DISTINCT sha256 FROM holds AS hold
WHERE namespace = ?1 AND sha256 >= ?2 AND sha256 < ?3
  AND (until IS NULL OR until > ?4 OR EXISTS (
    SELECT 1 FROM executions AS its LEFT JOIN executions AS around
      ON around.namespace = ?1 AND around.execution_id = its.parent_id
    WHERE its.namespace = ?1 AND its.execution_id = hold.execution_id AND (its.is_live OR around.is_live)
  ));

-- name: round
SELECT next, began_at FROM rounds WHERE namespace = ?1;

-- name: save_round
INSERT INTO rounds (namespace, next, began_at) VALUES (?1, ?2, ?3)
ON CONFLICT DO UPDATE SET next = excluded.next, began_at = excluded.began_at;
