ALTER TABLE leadtap.issued_tokens ADD COLUMN scope text COLLATE "C" NOT NULL DEFAULT 'leads:read';
COMMENT ON COLUMN leadtap.issued_tokens.scope IS 'What the token may do, as its claim `scope` has it: leads:read, leads:write, or both with a space between them.';
