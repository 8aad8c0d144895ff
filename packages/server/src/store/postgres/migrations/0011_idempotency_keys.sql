-- The Idempotency-Keys of requests that have sent leads, for 30 days. A request that comes again gets the same result.
CREATE TABLE leadtap.idempotency_keys (
  company_id text COLLATE "C" NOT NULL,
  key_hash   text COLLATE "C" NOT NULL CHECK (key_hash ~ '^[0-9a-f]{64}$'),
  body_hash  text COLLATE "C" NOT NULL CHECK (body_hash ~ '^[0-9a-f]{64}$'),
  results    text NOT NULL,
  used_at    leadtap.moment NOT NULL,
  PRIMARY KEY (company_id, key_hash)
);
CREATE INDEX idempotency_keys_by_age ON leadtap.idempotency_keys (company_id, used_at);
COMMENT ON TABLE leadtap.idempotency_keys IS 'The Idempotency-Keys of requests that have sent leads, for 30 days. A request that comes again gets the same result.';
COMMENT ON COLUMN leadtap.idempotency_keys.key_hash IS 'SHA-256 of company and key, in hexadecimal.';
COMMENT ON COLUMN leadtap.idempotency_keys.body_hash IS 'HMAC-SHA-256 of the request with the key, which is not stored: no content can be guessed from it.';
COMMENT ON COLUMN leadtap.idempotency_keys.results IS 'created_at and result of each lead, as JSON, without their ids.';
