CREATE TABLE leadtap.ended_consumers (
  user_id       text COLLATE "C" NOT NULL,
  token_id      text COLLATE "C" NOT NULL,
  ended_at      leadtap.moment NOT NULL,
  company_id    text COLLATE "C" NOT NULL,
  access_level  text COLLATE "C" NOT NULL,
  branch_id     text COLLATE "C",
  department_id text COLLATE "C",
  through       leadtap.moment NOT NULL,
  gaps          text,
  scopes        text,
  PRIMARY KEY (user_id, token_id, ended_at)
);
COMMENT ON TABLE leadtap.ended_consumers IS 'What consumers have received that do not exist any more: webhooks that were deleted, consumers that were forgotten, those of removed users. For 30 days, so that the leads that they received do not count as unseen.';
COMMENT ON COLUMN leadtap.ended_consumers.token_id IS 'As in leadtap.received_leads.';
COMMENT ON COLUMN leadtap.ended_consumers.access_level IS 'With the places: what its user could see then.';
COMMENT ON COLUMN leadtap.ended_consumers.through IS 'How far it had come: later leads waited for it.';
COMMENT ON COLUMN leadtap.ended_consumers.gaps IS 'As in leadtap.consumers.';
COMMENT ON COLUMN leadtap.ended_consumers.scopes IS 'As in leadtap.consumers.';
