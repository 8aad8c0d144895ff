-- The tokens that poll, and how far each has come. Its rows are bookkeeping: they are written every few seconds, are not in the
-- change log, and refer to no other table, so that a row of a removed user or a revoked token prevents nothing.
CREATE TABLE consumers (
  user_id           TEXT NOT NULL,
  -- '' for all tokens of the user that have no id.
  token_id          TEXT NOT NULL,
  token_expires_at  INTEGER,
  first_poll_at     INTEGER NOT NULL,
  last_poll_at      INTEGER NOT NULL,
  last_status       INTEGER NOT NULL,
  polls             INTEGER NOT NULL,
  waiting_until     INTEGER,
  interval_ms       INTEGER,
  confirmed_through INTEGER,
  delivered_through INTEGER,
  -- A full page without `since` left out the leads between these times.
  gap_after         INTEGER,
  gap_before        INTEGER,
  PRIMARY KEY (user_id, token_id)
) STRICT, WITHOUT ROWID;
