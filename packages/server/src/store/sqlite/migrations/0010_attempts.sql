-- The log of each consumer, webhook and sender. It has counts and times, no data of leads, and refers to no other table.
CREATE TABLE attempts (
  -- The public id of the consumer, the webhook or the sender.
  subject    TEXT NOT NULL,
  at         INTEGER NOT NULL,
  company_id TEXT NOT NULL,
  kind       TEXT NOT NULL,
  -- What the receiver of a webhook answered. It may repeat a lead.
  reason     TEXT,
  -- JSON of the rest.
  details    TEXT NOT NULL,
  PRIMARY KEY (subject, at)
) STRICT, WITHOUT ROWID;
CREATE INDEX attempts_by_company ON attempts (company_id, at);
