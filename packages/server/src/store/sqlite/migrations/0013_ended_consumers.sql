-- What consumers have received that do not exist any more: webhooks that were deleted, consumers that were forgotten, those of removed
-- users. For 30 days, so that the leads that they received do not count as unseen.
CREATE TABLE ended_consumers (
  user_id       TEXT NOT NULL,
  -- As in received_leads.
  token_id      TEXT NOT NULL,
  ended_at      INTEGER NOT NULL,
  -- What its user could see then.
  company_id    TEXT NOT NULL,
  access_level  TEXT NOT NULL,
  branch_id     TEXT,
  department_id TEXT,
  -- How far it had come: later leads waited for it.
  through       INTEGER NOT NULL,
  -- As in consumers.
  gaps          TEXT,
  scopes        TEXT,
  PRIMARY KEY (user_id, token_id, ended_at)
) STRICT, WITHOUT ROWID;
