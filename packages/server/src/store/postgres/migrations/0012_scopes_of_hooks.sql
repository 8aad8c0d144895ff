ALTER TABLE leadtap.hooks ADD COLUMN scopes text;
COMMENT ON COLUMN leadtap.hooks.scopes IS 'Of a hook that sends leads: what its user could see, as in leadtap.consumers, so that leads from before the access of the user was widened do not count as received. Null: it has sent none, or it was not recorded.';
