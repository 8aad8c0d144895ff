-- The tokens that send leads. A row is bookkeeping: it is not in the change log, and refers to no other table.
CREATE TABLE leadtap.senders (
  user_id             text COLLATE "C" NOT NULL,
  token_id            text COLLATE "C" NOT NULL,
  company_id          text COLLATE "C" NOT NULL,
  source              text,
  token_expires_at    leadtap.moment,
  first_request_at    leadtap.moment NOT NULL,
  last_request_at     leadtap.moment NOT NULL,
  last_accepted_at    leadtap.moment,
  last_refused_at     leadtap.moment,
  last_refused_status integer,
  last_refused_code   text,
  last_refused_fields text,
  last_unkept_at      leadtap.moment,
  days                text NOT NULL,
  PRIMARY KEY (user_id, token_id)
) WITH (fillfactor = 50);
COMMENT ON TABLE leadtap.senders IS 'The tokens that send leads, when each last did, and what was refused of it.';
COMMENT ON COLUMN leadtap.senders.token_id IS 'Empty for all tokens of the user that have no id.';
COMMENT ON COLUMN leadtap.senders.source IS 'The service whose webhooks the token sends. Null: the bodies have the fields of a lead.';
COMMENT ON COLUMN leadtap.senders.token_expires_at IS 'When the token of the last request expires.';
COMMENT ON COLUMN leadtap.senders.last_accepted_at IS 'The last request whose leads were stored.';
COMMENT ON COLUMN leadtap.senders.last_refused_fields IS 'The names of the fields with an error, never their values: a JSON array.';
COMMENT ON COLUMN leadtap.senders.last_unkept_at IS 'The last refused request whose body was not kept.';
COMMENT ON COLUMN leadtap.senders.days IS 'A JSON array of [day, accepted leads, refused requests]: the last 30 days in UTC, without those that had none.';
