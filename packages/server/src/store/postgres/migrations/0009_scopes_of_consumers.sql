ALTER TABLE leadtap.consumers ADD COLUMN scopes text;
COMMENT ON COLUMN leadtap.consumers.scopes IS 'What its pages could have, so that leads from before its access was widened do not count as received: a JSON array of { after, scope }, each up to the next one. Null: it was not recorded.';
