-- The signing key of a token, so that `leadtap token list` can say which tokens ended with their key. Null for earlier tokens.
-- Also for databases to get the function leads_before_insert that makes the commit of a lead durable (lead-functions.sql).
ALTER TABLE leadtap.issued_tokens ADD COLUMN key_id text;
