-- The schema of the SQLite store. Times are milliseconds since 1970.

-- "LTAP": distinguishes our files from those of other programs.
PRAGMA application_id = 0x4c544150;

-- What made this schema: version 1 is this file, later ones are the files of migrations/. A program compares their SHA-256 with its own
-- before it changes anything.
CREATE TABLE migrations (
  version  INTEGER PRIMARY KEY,
  name     TEXT NOT NULL,
  checksum TEXT NOT NULL
) STRICT;

-- Organisation --------------------------------------------------------------------------------------------------------

CREATE TABLE companies (
  id         TEXT PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 200),
  name       TEXT NOT NULL CHECK (length(name) > 0),
  -- The largest stamp ever given. The next one is larger, even if the clock was set back (delivery contract, D1, D2).
  last_stamp INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE statuses (
  company_id TEXT NOT NULL REFERENCES companies (id),
  value      TEXT NOT NULL CHECK (value GLOB '[A-Z]*' AND value NOT GLOB '*[^A-Z0-9_]*'),
  label      TEXT NOT NULL,
  color      TEXT NOT NULL,
  final      INTEGER NOT NULL CHECK (final IN (0, 1)),
  position   INTEGER NOT NULL,
  PRIMARY KEY (company_id, value)
) STRICT, WITHOUT ROWID;

CREATE TABLE branches (
  company_id TEXT NOT NULL REFERENCES companies (id),
  id         TEXT NOT NULL CHECK (length(id) BETWEEN 1 AND 200),
  name       TEXT NOT NULL CHECK (length(name) > 0),
  PRIMARY KEY (company_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE departments (
  company_id TEXT NOT NULL,
  id         TEXT NOT NULL CHECK (length(id) BETWEEN 1 AND 200),
  branch_id  TEXT NOT NULL,
  name       TEXT NOT NULL CHECK (length(name) > 0),
  PRIMARY KEY (company_id, id),
  FOREIGN KEY (company_id, branch_id) REFERENCES branches (company_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE users (
  id            TEXT PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 200),
  company_id    TEXT NOT NULL REFERENCES companies (id),
  email         TEXT,
  name          TEXT,
  plan          TEXT NOT NULL CHECK (plan GLOB '[A-Z]*' AND plan NOT GLOB '*[^A-Z0-9_]*'),
  access_level  TEXT NOT NULL CHECK (access_level IN ('COMPANY', 'BRANCH', 'DEPARTMENT')),
  branch_id     TEXT,
  department_id TEXT,
  CHECK (access_level <> 'BRANCH' OR branch_id IS NOT NULL),
  CHECK (access_level <> 'DEPARTMENT' OR department_id IS NOT NULL),
  FOREIGN KEY (company_id, branch_id) REFERENCES branches (company_id, id),
  FOREIGN KEY (company_id, department_id) REFERENCES departments (company_id, id)
) STRICT, WITHOUT ROWID;
-- For `leadtap org export`.
CREATE INDEX users_by_company ON users (company_id, id);

-- Tokens --------------------------------------------------------------------------------------------------------------

-- A token may be issued for a user who does not exist yet, and outlives a user who is removed.
CREATE TABLE issued_tokens (
  id         TEXT PRIMARY KEY,
  user_id    TEXT NOT NULL,
  name       TEXT,
  issued_at  INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  scope      TEXT NOT NULL DEFAULT 'leads:read',
  key_id     TEXT,
  -- JSON: what else it says, so that it can be renewed.
  settings   TEXT NOT NULL DEFAULT '{}',
  -- The token that was made in its place: it ends when that one polls.
  replaced_by TEXT,
  -- Of one that was replaced.
  used_at    INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX issued_tokens_by_user ON issued_tokens (user_id, issued_at);
CREATE INDEX issued_tokens_replaced ON issued_tokens (replaced_by) WHERE replaced_by IS NOT NULL;

CREATE TABLE revoked_tokens (
  token_id   TEXT PRIMARY KEY,
  revoked_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Leads ---------------------------------------------------------------------------------------------------------------

-- Clustered by company and stamp: a page of a company's leads is one range of adjacent rows, however many leads the other
-- companies have.
CREATE TABLE leads (
  company_id            TEXT NOT NULL REFERENCES companies (id),
  created_at            INTEGER NOT NULL,
  id                    TEXT NOT NULL CHECK (length(id) BETWEEN 1 AND 200),
  branch_id             TEXT,
  department_id         TEXT,
  first_name            TEXT,
  last_name             TEXT,
  full_name             TEXT,
  phone1                TEXT,
  phone2                TEXT,
  email                 TEXT,
  address               TEXT,
  postal_code           TEXT,
  address_notes         TEXT,
  appointment_date_time INTEGER,
  timeslot              TEXT CHECK (timeslot GLOB '[01][0-9]:[0-5][0-9]' OR timeslot GLOB '2[0-3]:[0-5][0-9]'),
  status_value          TEXT NOT NULL,
  custom_fields         TEXT NOT NULL DEFAULT '{}',
  images                TEXT NOT NULL DEFAULT '[]',
  same_day              INTEGER NOT NULL DEFAULT 0 CHECK (same_day IN (0, 1)),
  updated_at            INTEGER NOT NULL,
  automation_trigger_id TEXT NOT NULL CHECK (length(automation_trigger_id) <= 64),
  automation_created_at INTEGER NOT NULL,
  PRIMARY KEY (company_id, created_at),
  FOREIGN KEY (company_id, branch_id) REFERENCES branches (company_id, id),
  FOREIGN KEY (company_id, department_id) REFERENCES departments (company_id, id),
  FOREIGN KEY (company_id, status_value) REFERENCES statuses (company_id, value)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX leads_by_id ON leads (company_id, id);
CREATE INDEX leads_by_branch ON leads (company_id, branch_id, created_at) WHERE branch_id IS NOT NULL;
CREATE INDEX leads_by_department ON leads (company_id, department_id, created_at) WHERE department_id IS NOT NULL;
-- Imported history.
CREATE INDEX leads_of_history ON leads (company_id, created_at) WHERE created_at <> automation_created_at;

-- D4: these columns never change, whichever program writes.
CREATE TRIGGER leads_frozen BEFORE UPDATE OF company_id, id, created_at, automation_trigger_id, automation_created_at ON leads BEGIN
  SELECT RAISE(ABORT, 'company_id, id, created_at, automation_trigger_id and automation_created_at of a lead never change');
END;

-- The last stamps of deleted companies; out of date while the company exists. A company that is inserted again continues after its last
-- stamp, whichever program inserts it: a client that has stored a later createdAt as its `since` would miss its leads.
CREATE TABLE stamp_floors (
  company_id TEXT PRIMARY KEY,
  last_stamp INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER keep_stamp_of_deleted_company AFTER DELETE ON companies WHEN OLD.last_stamp > 0 BEGIN
  INSERT INTO stamp_floors (company_id, last_stamp) VALUES (OLD.id, OLD.last_stamp)
    ON CONFLICT (company_id) DO UPDATE SET last_stamp = max(last_stamp, excluded.last_stamp);
END;

-- INSERT OR REPLACE and UPDATE OR REPLACE delete a row without its DELETE triggers, so the stamp is kept before that.
CREATE TRIGGER keep_stamp_of_replaced_company BEFORE INSERT ON companies
  WHEN EXISTS (SELECT 1 FROM companies WHERE id = NEW.id AND last_stamp > 0) BEGIN
  INSERT INTO stamp_floors (company_id, last_stamp) SELECT id, last_stamp FROM companies WHERE id = NEW.id
    ON CONFLICT (company_id) DO UPDATE SET last_stamp = max(last_stamp, excluded.last_stamp);
END;
CREATE TRIGGER keep_stamp_of_replaced_company_id BEFORE UPDATE OF id ON companies WHEN OLD.id <> NEW.id BEGIN
  INSERT INTO stamp_floors (company_id, last_stamp)
    SELECT id, last_stamp FROM companies WHERE id IN (OLD.id, NEW.id) AND last_stamp > 0
    ON CONFLICT (company_id) DO UPDATE SET last_stamp = max(last_stamp, excluded.last_stamp);
END;

CREATE TRIGGER restore_stamp_of_inserted_company AFTER INSERT ON companies
  WHEN EXISTS (SELECT 1 FROM stamp_floors WHERE company_id = NEW.id AND last_stamp > NEW.last_stamp) BEGIN
  UPDATE companies SET last_stamp = (SELECT last_stamp FROM stamp_floors WHERE company_id = NEW.id) WHERE id = NEW.id;
END;
CREATE TRIGGER restore_stamp_of_changed_company_id AFTER UPDATE OF id ON companies
  WHEN EXISTS (SELECT 1 FROM stamp_floors WHERE company_id = NEW.id AND last_stamp > NEW.last_stamp) BEGIN
  UPDATE companies SET last_stamp = (SELECT last_stamp FROM stamp_floors WHERE company_id = NEW.id) WHERE id = NEW.id;
END;

-- The ids (SHA-256) of leads that were erased for good. A lead with such an id is not added again unless its writer asks for it. Without a
-- reference to companies: a company that is deleted and inserted again must not get the leads back.
CREATE TABLE erased_leads (
  company_id TEXT NOT NULL,
  id_hash    TEXT NOT NULL CHECK (length(id_hash) = 64),
  erased_at  INTEGER NOT NULL,
  PRIMARY KEY (company_id, id_hash)
) STRICT, WITHOUT ROWID;

-- The Idempotency-Keys of requests that have sent leads, for 30 days. A request that comes again gets the same results (JSON: createdAt and
-- result of each lead, without ids). body_hash is an HMAC with the key, which is not stored: no content can be guessed from it.
CREATE TABLE idempotency_keys (
  company_id TEXT NOT NULL,
  key_hash   TEXT NOT NULL CHECK (length(key_hash) = 64),
  body_hash  TEXT NOT NULL CHECK (length(body_hash) = 64),
  results    TEXT NOT NULL,
  used_at    INTEGER NOT NULL,
  PRIMARY KEY (company_id, key_hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (company_id, used_at);

-- Requests that sent leads and were refused, with their bodies, so that an operator can accept them: for 30 days, or until their user is
-- removed. Not in the change log, and without references to other tables. source, answer_map and time_zone are those of the token.
CREATE TABLE refused_leads (
  id          TEXT PRIMARY KEY,
  company_id  TEXT NOT NULL,
  user_id     TEXT NOT NULL,
  token_id    TEXT NOT NULL,
  client      TEXT,
  source      TEXT,
  answer_map  TEXT,
  time_zone   TEXT,
  received_at INTEGER NOT NULL,
  last_at     INTEGER NOT NULL,
  times       INTEGER NOT NULL,
  code        TEXT NOT NULL,
  bytes       INTEGER NOT NULL,
  media_type  TEXT NOT NULL,
  body_hash   TEXT NOT NULL,
  -- JSON of index, field and detail, without values of the body.
  errors      TEXT NOT NULL,
  -- Base64. The last column, so that a list does not read its pages.
  body        TEXT NOT NULL,
  UNIQUE (company_id, user_id, token_id, body_hash)
) STRICT;
CREATE INDEX refused_leads_by_body ON refused_leads (company_id, body_hash);
CREATE INDEX refused_leads_by_time ON refused_leads (last_at);
-- All that the bounds read: without it, each row is read with its errors.
CREATE INDEX refused_leads_by_token ON refused_leads (company_id, user_id, token_id, client, bytes);

-- Hooks ---------------------------------------------------------------------------------------------------------------

-- Bookkeeping: not in the change log, and it refers to no other table, so that a row of a removed user or a revoked token prevents nothing.
-- token_id is '' for all tokens of a user that have no id.

-- Webhook subscriptions, and up to which lead each has got an event, or the leads themselves.
CREATE TABLE hooks (
  id                TEXT PRIMARY KEY,
  company_id        TEXT NOT NULL,
  user_id           TEXT NOT NULL,
  -- Of a hook that sends leads.
  connection_id     TEXT,
  token_id          TEXT NOT NULL,
  token_expires_at  INTEGER,
  -- The signing key of the token, or the issuer of the identity provider: nothing is sent if it is not accepted any more.
  key_id            TEXT,
  -- A secret: who knows it can call the receiver.
  url               TEXT NOT NULL,
  send              TEXT NOT NULL CHECK (send IN ('event', 'lead')),
  name              TEXT,
  base_url          TEXT NOT NULL,
  created_at        INTEGER NOT NULL,
  -- The receiver has accepted an event for all leads up to here, or all these leads.
  announced_through INTEGER NOT NULL,
  -- The `since` of the last accepted event. Of a hook that sends leads: where the subscription started.
  announced_since   INTEGER,
  last_event_at     INTEGER,
  last_status       INTEGER,
  failures          INTEGER NOT NULL,
  failing_since     INTEGER,
  disabled_at       INTEGER,
  -- No event is sent before: the end of a claim, of a backoff, or of the pause between two events.
  not_before        INTEGER NOT NULL,
  -- The hook is examined at this time, also without new leads.
  check_at          INTEGER,
  -- What was announced is announced again if it waits for the connection of its token then.
  remind_at         INTEGER,
  UNIQUE (user_id, token_id, url, send)
) STRICT, WITHOUT ROWID;
CREATE INDEX hooks_by_company ON hooks (company_id);
CREATE INDEX hooks_by_check ON hooks (check_at) WHERE check_at IS NOT NULL;

-- Connections ---------------------------------------------------------------------------------------------------------

-- The ways in and out. A connection is a user, a kind and a key: its name, or else the id of its only token. Its rows, and those that refer
-- to them, are bookkeeping: they are not in the change log, and refer to no other table.
CREATE TABLE connections (
  id                     TEXT PRIMARY KEY,
  company_id             TEXT NOT NULL,
  user_id                TEXT NOT NULL,
  kind                   TEXT NOT NULL CHECK (kind IN ('send', 'poll', 'webhook')),
  key                    TEXT NOT NULL,
  name                   TEXT NOT NULL,
  source                 TEXT NOT NULL,
  first_at               INTEGER NOT NULL,
  last_at                INTEGER,
  token_expires_at       INTEGER,
  last_lead_at           INTEGER,
  start_stamp            INTEGER,
  started_at             INTEGER,
  position               INTEGER,
  audited_through        INTEGER,
  noted_position         INTEGER,
  worked_at              INTEGER,
  ended_at               INTEGER,
  ended_by               TEXT,
  end_stamp              INTEGER,
  paused_at              INTEGER,
  paused_by              TEXT,
  errors                 INTEGER NOT NULL DEFAULT 0,
  failing_since          INTEGER,
  last_error_at          INTEGER,
  last_error_code        TEXT,
  ahead                  TEXT,
  ahead_since            INTEGER,
  pruned                 INTEGER NOT NULL DEFAULT 0,
  event_at               INTEGER,
  event_open_since       INTEGER,
  access_changed_through INTEGER,
  -- The audit has not seen it yet.
  is_access_changed      INTEGER NOT NULL DEFAULT 0,
  before_level           TEXT,
  before_branch          TEXT,
  before_department      TEXT,
  -- JSON: how it asks.
  habit                  TEXT NOT NULL,
  UNIQUE (user_id, kind, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX connections_by_company ON connections (company_id, kind);

-- The leads that were written to a socket, or that a receiver has accepted: one row for each lead and connection.
CREATE TABLE deliveries (
  created_at INTEGER NOT NULL,
  connection TEXT NOT NULL,
  sent_at    INTEGER NOT NULL,
  PRIMARY KEY (created_at, connection)
) STRICT, WITHOUT ROWID;

-- The leads that a connection was not sent and will not be: a row counts while there is none in deliveries.
CREATE TABLE missed (
  connection TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  why        TEXT NOT NULL CHECK (why IN ('passed', 'moved', 'narrowed', 'not-recorded')),
  missed_at  INTEGER NOT NULL,
  handled_at INTEGER,
  PRIMARY KEY (connection, created_at)
) STRICT, WITHOUT ROWID;

-- The leads that are sent to a webhook beside the new ones, or that the next page of a poller without `since` has.
CREATE TABLE pending_leads (
  connection TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  why        TEXT NOT NULL CHECK (why IN ('moved', 'again')),
  since      INTEGER NOT NULL,
  -- So that a repeated request is another one for its receiver.
  message    TEXT NOT NULL,
  PRIMARY KEY (connection, created_at)
) STRICT, WITHOUT ROWID;

-- Requests whose leads were neither stored nor held, by cause, until a person marks them as handled.
CREATE TABLE lost_requests (
  connection TEXT NOT NULL,
  why        TEXT NOT NULL,
  requests   INTEGER NOT NULL,
  first_at   INTEGER NOT NULL,
  last_at    INTEGER NOT NULL,
  PRIMARY KEY (connection, why)
) STRICT, WITHOUT ROWID;

-- The log: equal requests in a row are one row. It has counts and times, no data of leads but what a receiver has answered.
CREATE TABLE activity (
  connection TEXT NOT NULL,
  first_at   INTEGER NOT NULL,
  last_at    INTEGER NOT NULL,
  times      INTEGER NOT NULL,
  kind       TEXT NOT NULL,
  leads      INTEGER NOT NULL,
  -- Its leads: created after the one, up to the other.
  after      INTEGER,
  through    INTEGER,
  reason     TEXT,
  -- JSON of the rest.
  details    TEXT NOT NULL,
  PRIMARY KEY (connection, first_at)
) STRICT, WITHOUT ROWID;

-- Counts by hour since 1970, of two days; before that by day, at its first hour.
CREATE TABLE activity_hours (
  connection TEXT NOT NULL,
  hour       INTEGER NOT NULL,
  leads      INTEGER NOT NULL,
  updated    INTEGER NOT NULL,
  failed     INTEGER NOT NULL,
  PRIMARY KEY (connection, hour)
) STRICT, WITHOUT ROWID;

-- Leads whose branch or department was changed, with the time of the last change.
CREATE TABLE lead_moves (
  company_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  moved_at   INTEGER NOT NULL,
  -- The audit has not looked at it since.
  is_new     INTEGER NOT NULL,
  PRIMARY KEY (company_id, created_at)
) STRICT, WITHOUT ROWID;
CREATE INDEX lead_moves_new ON lead_moves (company_id) WHERE is_new = 1;

-- Leads that no automation gets.
CREATE TABLE unassigned (
  company_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  since      INTEGER NOT NULL,
  PRIMARY KEY (company_id, created_at)
) STRICT, WITHOUT ROWID;

-- How far the audit of each company has come.
CREATE TABLE audits (
  company_id       TEXT PRIMARY KEY,
  audited_at       INTEGER NOT NULL,
  -- JSON: the time and the last stamp of each run of the last 16 minutes.
  runs             TEXT NOT NULL,
  assigned_through INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The processes that serve. One without a farewell that is not seen any more has died: what it had not written is not known.
CREATE TABLE instances (
  id         TEXT PRIMARY KEY,
  started_at INTEGER NOT NULL,
  seen_at    INTEGER NOT NULL,
  stopped_at INTEGER,
  -- It could not write what it had recorded.
  dropped_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TRIGGER note_moved_lead AFTER UPDATE OF branch_id, department_id ON leads
  WHEN NEW.branch_id IS NOT OLD.branch_id OR NEW.department_id IS NOT OLD.department_id
BEGIN
  INSERT INTO lead_moves (company_id, created_at, moved_at, is_new)
    VALUES (NEW.company_id, NEW.created_at, NEW.updated_at, 1)
    ON CONFLICT (company_id, created_at) DO UPDATE SET moved_at = excluded.moved_at, is_new = 1;
END;
CREATE TRIGGER delete_activity_of_lead AFTER DELETE ON leads
BEGIN
  DELETE FROM lead_moves WHERE company_id = OLD.company_id AND created_at = OLD.created_at;
  DELETE FROM unassigned WHERE company_id = OLD.company_id AND created_at = OLD.created_at;
  DELETE FROM deliveries WHERE created_at = OLD.created_at
    AND connection IN (SELECT id FROM connections WHERE company_id = OLD.company_id);
  DELETE FROM missed WHERE created_at = OLD.created_at
    AND connection IN (SELECT id FROM connections WHERE company_id = OLD.company_id);
  DELETE FROM pending_leads WHERE created_at = OLD.created_at
    AND connection IN (SELECT id FROM connections WHERE company_id = OLD.company_id);
END;
CREATE TRIGGER note_changed_access AFTER UPDATE OF company_id, access_level, branch_id, department_id ON users
  WHEN NEW.company_id IS NOT OLD.company_id OR NEW.access_level IS NOT OLD.access_level
    OR NEW.branch_id IS NOT OLD.branch_id OR NEW.department_id IS NOT OLD.department_id
BEGIN
  UPDATE connections SET before_level = OLD.access_level, before_branch = OLD.branch_id, before_department = OLD.department_id,
      access_changed_through = (SELECT last_stamp FROM companies WHERE id = OLD.company_id),
      is_access_changed = 1
    WHERE user_id = OLD.id AND kind <> 'send';
END;

-- Change log ----------------------------------------------------------------------------------------------------------

-- For processes that cache what they have read: each reads the entries after the last one it has seen. The kinds:
--   leads-appended  a company has new leads, all of them later than its other leads
--   company         any other change of what is in its pages: leads, names of places, statuses
--   user, token     a user was changed or removed; a token was revoked
CREATE TABLE changes (
  seq  INTEGER PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('leads-appended', 'company', 'user', 'token')),
  id   TEXT NOT NULL,
  -- Distinguishes the entry from one with the same number in a backup that replaces this file.
  mark TEXT NOT NULL DEFAULT (hex(randomblob(8)))
) STRICT;
-- The position that the first reader starts from.
INSERT INTO changes (kind, id) VALUES ('company', '');

-- A reader that needs older entries discards its whole cache.
CREATE TRIGGER prune_changes AFTER INSERT ON changes BEGIN DELETE FROM changes WHERE seq <= NEW.seq - 10000; END;

-- A transaction that appends leads raises the last stamp once. One that adds history logs the change itself.
CREATE TRIGGER log_change_of_stamp AFTER UPDATE OF last_stamp ON companies BEGIN INSERT INTO changes (kind, id) VALUES ('leads-appended', NEW.id); END;
CREATE TRIGGER log_change_of_lead AFTER UPDATE ON leads BEGIN INSERT INTO changes (kind, id) VALUES ('company', NEW.company_id); END;
CREATE TRIGGER log_delete_of_lead AFTER DELETE ON leads BEGIN INSERT INTO changes (kind, id) VALUES ('company', OLD.company_id); END;
CREATE TRIGGER log_change_of_company AFTER UPDATE OF id, name ON companies BEGIN INSERT INTO changes (kind, id) VALUES ('company', OLD.id), ('company', NEW.id); END;
CREATE TRIGGER log_change_of_status AFTER UPDATE ON statuses BEGIN INSERT INTO changes (kind, id) VALUES ('company', OLD.company_id), ('company', NEW.company_id); END;
CREATE TRIGGER log_delete_of_status AFTER DELETE ON statuses BEGIN INSERT INTO changes (kind, id) VALUES ('company', OLD.company_id); END;
CREATE TRIGGER log_change_of_branch AFTER UPDATE ON branches BEGIN INSERT INTO changes (kind, id) VALUES ('company', OLD.company_id), ('company', NEW.company_id); END;
CREATE TRIGGER log_change_of_department AFTER UPDATE ON departments BEGIN INSERT INTO changes (kind, id) VALUES ('company', OLD.company_id), ('company', NEW.company_id); END;
CREATE TRIGGER log_change_of_user AFTER UPDATE ON users BEGIN INSERT INTO changes (kind, id) VALUES ('user', OLD.id); END;
CREATE TRIGGER log_delete_of_user AFTER DELETE ON users BEGIN INSERT INTO changes (kind, id) VALUES ('user', OLD.id); END;
CREATE TRIGGER log_revoked_token AFTER INSERT ON revoked_tokens BEGIN INSERT INTO changes (kind, id) VALUES ('token', NEW.token_id); END;
