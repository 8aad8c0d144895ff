-- Webhook subscriptions, and up to which lead each was announced. Its rows are bookkeeping: they are not in the change log, and refer to
-- no other table, so that a row of a removed user or a revoked token prevents nothing.
CREATE TABLE hooks (
  id                TEXT PRIMARY KEY,
  -- Of the user, when the hook was added.
  company_id        TEXT NOT NULL,
  user_id           TEXT NOT NULL,
  -- '' for all tokens of the user that have no id.
  token_id          TEXT NOT NULL,
  token_expires_at  INTEGER,
  -- A secret: who knows it can call the receiver.
  url               TEXT NOT NULL,
  -- The {base_url} that the subscription was sent to.
  base_url          TEXT NOT NULL,
  created_at        INTEGER NOT NULL,
  -- A receiver has accepted an event for all leads up to here.
  announced_through INTEGER NOT NULL,
  -- The `since` of the last accepted event.
  announced_since   INTEGER,
  -- Time and HTTP status of the last attempt. The status is null if there was no response.
  last_event_at     INTEGER,
  last_status       INTEGER,
  -- Failed attempts since the last accepted event, and the time of the first of them.
  failures          INTEGER NOT NULL,
  failing_since     INTEGER,
  disabled_at       INTEGER,
  -- No event is sent before: the end of a claim, of a backoff, or of the pause between two events.
  not_before        INTEGER NOT NULL,
  -- The hook is examined at this time, also without new leads.
  check_at          INTEGER,
  -- The last event is repeated once if the consumer has not polled by then.
  remind_at         INTEGER,
  UNIQUE (user_id, token_id, url)
) STRICT, WITHOUT ROWID;
CREATE INDEX hooks_by_company ON hooks (company_id);
CREATE INDEX hooks_by_check ON hooks (check_at) WHERE check_at IS NOT NULL;
