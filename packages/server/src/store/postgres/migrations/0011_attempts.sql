-- The log of each consumer, webhook and sender. It has counts and times, no data of leads, and refers to no other table.
CREATE TABLE leadtap.attempts (
  subject    text COLLATE "C" NOT NULL,
  at         leadtap.moment NOT NULL,
  company_id text COLLATE "C" NOT NULL,
  kind       text NOT NULL,
  reason     text,
  details    text NOT NULL,
  PRIMARY KEY (subject, at)
);
CREATE INDEX attempts_by_company ON leadtap.attempts (company_id, at);
COMMENT ON TABLE leadtap.attempts IS 'The last attempts of each consumer, webhook and sender: leads, refusals and failures. Counts and times, no data of leads.';
COMMENT ON COLUMN leadtap.attempts.subject IS 'The public id of the consumer, the webhook or the sender.';
COMMENT ON COLUMN leadtap.attempts.at IS 'Of the last one, if several equal ones are one row.';
COMMENT ON COLUMN leadtap.attempts.reason IS 'What the receiver of a webhook answered. It may repeat a lead, so it is deleted when leads are.';
COMMENT ON COLUMN leadtap.attempts.details IS 'JSON of the rest.';
