-- Webhook subscriptions, and up to which lead each was announced. Its rows are bookkeeping: they are not in the change log, and refer to
-- no other table, so that a row of a removed user or a revoked token prevents nothing.
CREATE TABLE leadtap.hooks (
  id                text COLLATE "C" PRIMARY KEY,
  company_id        text COLLATE "C" NOT NULL,
  user_id           text COLLATE "C" NOT NULL,
  token_id          text COLLATE "C" NOT NULL,
  token_expires_at  leadtap.moment,
  url               text COLLATE "C" NOT NULL,
  base_url          text COLLATE "C" NOT NULL,
  created_at        leadtap.moment NOT NULL,
  announced_through leadtap.moment NOT NULL,
  announced_since   leadtap.moment,
  last_event_at     leadtap.moment,
  last_status       integer,
  failures          integer NOT NULL,
  failing_since     leadtap.moment,
  disabled_at       leadtap.moment,
  not_before        leadtap.moment NOT NULL,
  check_at          leadtap.moment,
  remind_at         leadtap.moment
);
-- The hash, because an index has no room for the longest URLs. A backslash would begin an escape sequence of bytea.
CREATE UNIQUE INDEX hooks_by_user ON leadtap.hooks (user_id, token_id, sha256(replace(url, '\', '\\')::bytea));
CREATE INDEX hooks_by_company ON leadtap.hooks (company_id);
CREATE INDEX hooks_by_check ON leadtap.hooks (check_at) WHERE check_at IS NOT NULL;
COMMENT ON TABLE leadtap.hooks IS 'Webhook subscriptions. An event is due while the user may see a lead after announced_through.';
COMMENT ON COLUMN leadtap.hooks.company_id IS 'Of the user, when the hook was added.';
COMMENT ON COLUMN leadtap.hooks.token_id IS 'Empty for all tokens of the user that have no id.';
COMMENT ON COLUMN leadtap.hooks.token_expires_at IS 'The hook ends with its token.';
COMMENT ON COLUMN leadtap.hooks.url IS 'A secret: who knows it can call the receiver.';
COMMENT ON COLUMN leadtap.hooks.base_url IS 'The {base_url} that the subscription was sent to.';
COMMENT ON COLUMN leadtap.hooks.announced_through IS 'A receiver has accepted an event for all leads up to here.';
COMMENT ON COLUMN leadtap.hooks.announced_since IS 'The since of the last accepted event.';
COMMENT ON COLUMN leadtap.hooks.last_event_at IS 'The time of the last attempt.';
COMMENT ON COLUMN leadtap.hooks.last_status IS 'The HTTP status of the last attempt. Null if there was no response.';
COMMENT ON COLUMN leadtap.hooks.failures IS 'Failed attempts since the last accepted event.';
COMMENT ON COLUMN leadtap.hooks.failing_since IS 'The time of the first of these failures.';
COMMENT ON COLUMN leadtap.hooks.not_before IS 'No event is sent before: the end of a claim, of a backoff, or of the pause between two events.';
COMMENT ON COLUMN leadtap.hooks.check_at IS 'The hook is examined at this time, also without new leads.';
COMMENT ON COLUMN leadtap.hooks.remind_at IS 'The last event is repeated once if the consumer has not polled by then.';
