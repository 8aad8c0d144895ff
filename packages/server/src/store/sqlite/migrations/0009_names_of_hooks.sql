-- What people call the subscription. Null: it has no name of its own.
ALTER TABLE hooks ADD COLUMN name TEXT;
