-- What the pages of a consumer could have, so that leads from before its access was widened do not count as received: a JSON array of
-- { after, scope }, each up to the next one. Null: it was not recorded.
ALTER TABLE consumers ADD COLUMN scopes TEXT;
