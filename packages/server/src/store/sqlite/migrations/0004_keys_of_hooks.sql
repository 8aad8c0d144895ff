-- The key that signed the token of a hook, or the issuer of the identity provider: nothing is sent if it is not accepted any more. Null: it
-- is not known.
ALTER TABLE hooks ADD COLUMN key_id TEXT;

UPDATE hooks SET key_id = (SELECT t.key_id FROM issued_tokens AS t WHERE t.id = hooks.token_id);
