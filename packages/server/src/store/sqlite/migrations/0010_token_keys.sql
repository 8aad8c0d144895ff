-- The signing key of a token, so that `leadtap token list` can say which tokens ended with their key. Null for earlier tokens.
ALTER TABLE issued_tokens ADD COLUMN key_id TEXT;
