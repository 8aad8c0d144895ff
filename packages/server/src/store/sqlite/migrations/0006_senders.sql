-- The tokens that send leads. A row is bookkeeping: it is not in the change log, and refers to no other table.
CREATE TABLE senders (
  user_id             TEXT NOT NULL,
  -- '' for all tokens of the user that have no id.
  token_id            TEXT NOT NULL,
  company_id          TEXT NOT NULL,
  -- The service whose webhooks the token sends. Null: the bodies have the fields of a lead.
  source              TEXT,
  token_expires_at    INTEGER,
  first_request_at    INTEGER NOT NULL,
  last_request_at     INTEGER NOT NULL,
  last_accepted_at    INTEGER,
  last_refused_at     INTEGER,
  last_refused_status INTEGER,
  last_refused_code   TEXT,
  -- The names of the fields with an error: a JSON array. Never their values.
  last_refused_fields TEXT,
  -- The last refused request whose body was not kept.
  last_unkept_at      INTEGER,
  -- A JSON array of [day, accepted leads, refused requests]: the last 30 days in UTC, without those that had none.
  days                TEXT NOT NULL,
  PRIMARY KEY (user_id, token_id)
) STRICT, WITHOUT ROWID;
