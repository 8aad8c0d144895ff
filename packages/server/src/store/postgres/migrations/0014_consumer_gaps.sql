-- What a consumer has asked past without being sent it, and when the service could not answer.
ALTER TABLE leadtap.consumers ADD COLUMN gaps text;
COMMENT ON COLUMN leadtap.consumers.gaps IS 'Leads that the consumer was never sent although its positions are past them: a JSON array of ranges of created_at, in milliseconds since 1970. A lead in one of them is neither confirmed nor delivered, but skipped. Null: none.';

CREATE TABLE leadtap.availability (
  id                boolean PRIMARY KEY DEFAULT true CHECK (id),
  unavailable_since leadtap.moment,
  available_since   leadtap.moment,
  stopped_at        leadtap.moment
);
COMMENT ON TABLE leadtap.availability IS 'One row: the last time in which the service could not answer polls, and when an instance last stopped. Consumers are not late because of it.';
