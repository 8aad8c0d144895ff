-- What a token may do, as its claim `scope` has it: names separated by spaces.
ALTER TABLE issued_tokens ADD COLUMN scope TEXT NOT NULL DEFAULT 'leads:read';
