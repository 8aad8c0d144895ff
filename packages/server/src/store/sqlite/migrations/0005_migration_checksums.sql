-- The migrations that made this schema. Each program compares them with its own before it changes anything.
CREATE TABLE migrations (
  version  INTEGER PRIMARY KEY,
  name     TEXT NOT NULL,
  -- SHA-256 in hexadecimal.
  checksum TEXT NOT NULL
) STRICT;
