-- What the user of a hook that sends leads could see, as in consumers: leads from before its access was widened do not count as received.
-- Null: it has sent none, or it was not recorded.
ALTER TABLE hooks ADD COLUMN scopes TEXT;
