ALTER TABLE leadtap.hooks ADD COLUMN key_id text COLLATE "C";
COMMENT ON COLUMN leadtap.hooks.key_id IS 'The key that signed the token, or the issuer of the identity provider: nothing is sent if it is not accepted any more. Null: it is not known.';

UPDATE leadtap.hooks AS h SET key_id = t.key_id FROM leadtap.issued_tokens AS t WHERE t.id = h.token_id;
