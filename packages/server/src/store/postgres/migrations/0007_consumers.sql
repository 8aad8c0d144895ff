-- The tokens that poll, and how far each has come. Its rows are bookkeeping: they are written every few seconds, are not in the
-- change log, and refer to no other table, so that a row of a removed user or a revoked token prevents nothing. Half-empty pages
-- let an updated row stay on its page (HOT update).
CREATE TABLE leadtap.consumers (
  user_id           text COLLATE "C" NOT NULL,
  token_id          text COLLATE "C" NOT NULL,
  token_expires_at  leadtap.moment,
  first_poll_at     leadtap.moment NOT NULL,
  last_poll_at      leadtap.moment NOT NULL,
  last_status       integer NOT NULL,
  polls             integer NOT NULL,
  waiting_until     leadtap.moment,
  interval_ms       integer,
  confirmed_through leadtap.moment,
  delivered_through leadtap.moment,
  gap_after         leadtap.moment,
  gap_before        leadtap.moment,
  PRIMARY KEY (user_id, token_id)
) WITH (fillfactor = 50);
COMMENT ON TABLE leadtap.consumers IS 'The tokens that poll, and how far each has come. A lead is confirmed if confirmed_through >= its created_at, delivered if delivered_through >= it, and waiting otherwise.';
COMMENT ON COLUMN leadtap.consumers.token_id IS 'Empty for all tokens of the user that have no id.';
COMMENT ON COLUMN leadtap.consumers.token_expires_at IS 'When the token of the last poll expires.';
COMMENT ON COLUMN leadtap.consumers.last_status IS 'The HTTP status of the last poll.';
COMMENT ON COLUMN leadtap.consumers.waiting_until IS 'A poll waits for a lead (Prefer: wait) until this time at most.';
COMMENT ON COLUMN leadtap.consumers.interval_ms IS 'The usual time between two polls, in milliseconds.';
COMMENT ON COLUMN leadtap.consumers.confirmed_through IS 'The largest since that the consumer has sent.';
COMMENT ON COLUMN leadtap.consumers.delivered_through IS 'The newest created_at that was sent to the consumer.';
COMMENT ON COLUMN leadtap.consumers.gap_after IS 'A full page without since left out the leads between gap_after and gap_before.';
