ALTER TABLE leadtap.consumers ADD COLUMN hours text;
ALTER TABLE leadtap.hooks ADD COLUMN hours text;
ALTER TABLE leadtap.senders ADD COLUMN hours text;
ALTER TABLE leadtap.availability ADD COLUMN downtimes text;
COMMENT ON COLUMN leadtap.consumers.hours IS 'What it had in the last 25 hours: JSON of the hour (since 1970) in which recording began, and of [hour, leads, failures] for each in which something happened. Null: it was not recorded.';
COMMENT ON COLUMN leadtap.hooks.hours IS 'What was sent to it in the last 25 hours, as in leadtap.consumers.';
COMMENT ON COLUMN leadtap.senders.hours IS 'What it sent in the last 25 hours, as in leadtap.consumers.';
COMMENT ON COLUMN leadtap.availability.downtimes IS 'The times of the last 25 hours in which the service could not answer polls for a whole hour: JSON. Null: none.';
