-- What a hook sends is a column, no longer the fragment of its URL, and batches of leads (#leads) are gone: such a hook sends one lead in each
-- request. An older program would send events to it and move its position, so it is refused. The table is made again because its key changes.

CREATE TABLE next_hooks (
  id                TEXT PRIMARY KEY,
  -- Of the user, when the hook was added.
  company_id        TEXT NOT NULL,
  user_id           TEXT NOT NULL,
  -- '' for all tokens of the user that have no id.
  token_id          TEXT NOT NULL,
  token_expires_at  INTEGER,
  -- A secret: who knows it can call the receiver.
  url               TEXT NOT NULL,
  -- event: that there are leads. lead: each lead.
  send              TEXT NOT NULL CHECK (send IN ('event', 'lead')),
  -- The {base_url} that the subscription was sent to.
  base_url          TEXT NOT NULL,
  created_at        INTEGER NOT NULL,
  -- A receiver has accepted an event for all leads up to here, or all these leads.
  announced_through INTEGER NOT NULL,
  -- The `since` of the last accepted event. Of a hook that sends leads: where the subscription started.
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
  UNIQUE (user_id, token_id, url, send)
) STRICT, WITHOUT ROWID;

-- Of two that sent leads to one URL, the one that works and is further behind stays: no lead is skipped.
INSERT OR IGNORE INTO next_hooks
  SELECT id, company_id, user_id, token_id, token_expires_at,
         CASE WHEN url LIKE '%#lead' THEN substr(url, 1, length(url) - 5) WHEN url LIKE '%#leads' THEN substr(url, 1, length(url) - 6) ELSE url END,
         CASE WHEN url LIKE '%#lead' OR url LIKE '%#leads' THEN 'lead' ELSE 'event' END,
         base_url, created_at, announced_through, announced_since, last_event_at, last_status, failures, failing_since, disabled_at, not_before,
         check_at, remind_at
    FROM hooks ORDER BY disabled_at IS NOT NULL, announced_through;

DROP TABLE hooks;
ALTER TABLE next_hooks RENAME TO hooks;
CREATE INDEX hooks_by_company ON hooks (company_id);
CREATE INDEX hooks_by_check ON hooks (check_at) WHERE check_at IS NOT NULL;
