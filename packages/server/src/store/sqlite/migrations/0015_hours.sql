-- What each had in the last 25 hours: JSON of the hour (since 1970) in which recording began, and of [hour, leads, failures] for each in which
-- something happened. Null: it was not recorded.
ALTER TABLE consumers ADD COLUMN hours TEXT;
ALTER TABLE hooks ADD COLUMN hours TEXT;
ALTER TABLE senders ADD COLUMN hours TEXT;
-- The times of the last 25 hours in which the service could not answer polls for a whole hour: JSON. Null: none.
ALTER TABLE availability ADD COLUMN downtimes TEXT;
