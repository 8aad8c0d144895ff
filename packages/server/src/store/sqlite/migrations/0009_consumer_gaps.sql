-- Leads that the consumer was never sent although its positions are past them: a JSON array of ranges of created_at.
ALTER TABLE consumers ADD COLUMN gaps TEXT;

-- One row: the last time in which the service could not answer polls, and when it last stopped. Consumers are not late because of it.
CREATE TABLE availability (
  id                INTEGER PRIMARY KEY CHECK (id = 1),
  unavailable_since INTEGER,
  available_since   INTEGER,
  stopped_at        INTEGER
) STRICT;
