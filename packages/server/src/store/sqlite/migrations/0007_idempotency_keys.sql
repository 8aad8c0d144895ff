-- The Idempotency-Keys of requests that have sent leads, for 30 days. A request that comes again gets the same result.
CREATE TABLE idempotency_keys (
  company_id TEXT NOT NULL,
  -- SHA-256 in hexadecimal.
  key_hash   TEXT NOT NULL CHECK (length(key_hash) = 64),
  -- HMAC-SHA-256 of the request with the key, which is not stored: no content can be guessed from it.
  body_hash  TEXT NOT NULL CHECK (length(body_hash) = 64),
  -- createdAt and result of each lead, as JSON, without their ids.
  results    TEXT NOT NULL,
  used_at    INTEGER NOT NULL,
  PRIMARY KEY (company_id, key_hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (company_id, used_at);
