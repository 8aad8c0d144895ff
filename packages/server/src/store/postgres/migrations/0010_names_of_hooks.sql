ALTER TABLE leadtap.hooks ADD COLUMN name text;
COMMENT ON COLUMN leadtap.hooks.name IS 'What people call the subscription. Null: it has no name of its own.';
