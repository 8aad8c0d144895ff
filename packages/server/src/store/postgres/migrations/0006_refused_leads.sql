-- Requests that sent leads and were refused, with their bodies, so that an operator can accept them. Its rows are not in the change log, and
-- refer to no other table: the instances delete them after 30 days, and those of removed users.
CREATE TABLE leadtap.refused_leads (
  id          text COLLATE "C" PRIMARY KEY,
  company_id  text COLLATE "C" NOT NULL,
  user_id     text COLLATE "C" NOT NULL,
  token_id    text COLLATE "C" NOT NULL,
  source      text,
  answer_map  text,
  time_zone   text,
  received_at leadtap.moment NOT NULL,
  last_at     leadtap.moment NOT NULL,
  times       integer NOT NULL,
  dropped     integer NOT NULL DEFAULT 0,
  code        text NOT NULL,
  bytes       integer NOT NULL,
  media_type  text NOT NULL,
  body_hash   text COLLATE "C" NOT NULL,
  key_hash    text COLLATE "C",
  errors      text NOT NULL,
  body        text NOT NULL,
  UNIQUE (company_id, user_id, token_id, body_hash)
);
-- No sample of a body in the statistics of the planner.
ALTER TABLE leadtap.refused_leads ALTER body SET STATISTICS 0, ALTER errors SET STATISTICS 0, ALTER answer_map SET STATISTICS 0;
CREATE INDEX refused_leads_by_body ON leadtap.refused_leads (company_id, body_hash);
CREATE INDEX refused_leads_by_key ON leadtap.refused_leads (company_id, key_hash) WHERE key_hash IS NOT NULL;
CREATE INDEX refused_leads_by_time ON leadtap.refused_leads (last_at);
CREATE INDEX refused_leads_by_company ON leadtap.refused_leads (company_id, last_at);
COMMENT ON TABLE leadtap.refused_leads IS 'Requests that sent leads and were refused, with their bodies, for 30 days. An operator can accept them.';
COMMENT ON COLUMN leadtap.refused_leads.token_id IS 'Empty for all tokens of the user that have no id.';
COMMENT ON COLUMN leadtap.refused_leads.source IS 'The form service whose webhooks the token sends. Null: none.';
COMMENT ON COLUMN leadtap.refused_leads.answer_map IS 'The fields that the token maps (JSON). Null: none.';
COMMENT ON COLUMN leadtap.refused_leads.time_zone IS 'The time zone of the token. Null: none.';
COMMENT ON COLUMN leadtap.refused_leads.received_at IS 'When the request was first sent; last_at: when it was last sent; times: how often.';
COMMENT ON COLUMN leadtap.refused_leads.dropped IS 'How many older requests of the company were deleted to make room for this row.';
COMMENT ON COLUMN leadtap.refused_leads.code IS 'The problem of the last response.';
COMMENT ON COLUMN leadtap.refused_leads.bytes IS 'The size of the body.';
COMMENT ON COLUMN leadtap.refused_leads.media_type IS 'The whole header Content-Type.';
COMMENT ON COLUMN leadtap.refused_leads.body_hash IS 'SHA-256 of the body; key_hash: of the Idempotency-Key with its token.';
COMMENT ON COLUMN leadtap.refused_leads.errors IS 'The errors of the last response, without values of the body (JSON: index, field, detail).';
COMMENT ON COLUMN leadtap.refused_leads.body IS 'Base64.';
