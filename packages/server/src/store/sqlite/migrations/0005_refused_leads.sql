-- Requests that sent leads and were refused, with their bodies, so that an operator can accept them. Its rows are not in the change log, and
-- refer to no other table: the instances delete them after 30 days, and those of removed users. The body is the last column: a list does not
-- read its pages.
CREATE TABLE refused_leads (
  id          TEXT PRIMARY KEY,
  company_id  TEXT NOT NULL,
  user_id     TEXT NOT NULL,
  -- '' for all tokens of the user that have no id.
  token_id    TEXT NOT NULL,
  -- The form service whose webhooks the token sends, the fields that it maps (JSON), and its time zone. Null: none.
  source      TEXT,
  answer_map  TEXT,
  time_zone   TEXT,
  -- When the request was first and last sent, and how often.
  received_at INTEGER NOT NULL,
  last_at     INTEGER NOT NULL,
  times       INTEGER NOT NULL,
  -- How many older requests of the company were deleted to make room for this row.
  dropped     INTEGER NOT NULL DEFAULT 0,
  -- The problem of the last response, and its errors without values of the body (JSON: index, field, detail).
  code        TEXT NOT NULL,
  -- Of the body.
  bytes       INTEGER NOT NULL,
  -- The whole header Content-Type.
  media_type  TEXT NOT NULL,
  -- SHA-256 of the body, and of the Idempotency-Key with its token.
  body_hash   TEXT NOT NULL,
  key_hash    TEXT,
  errors      TEXT NOT NULL,
  -- Base64.
  body        TEXT NOT NULL,
  UNIQUE (company_id, user_id, token_id, body_hash)
) STRICT;
CREATE INDEX refused_leads_by_body ON refused_leads (company_id, body_hash);
CREATE INDEX refused_leads_by_key ON refused_leads (company_id, key_hash) WHERE key_hash IS NOT NULL;
CREATE INDEX refused_leads_by_time ON refused_leads (last_at);
CREATE INDEX refused_leads_by_company ON refused_leads (company_id, last_at);
