-- Made by `npm run generate` from the migrations. This is what they come to: read it here, change it there.

PRAGMA application_id = 1280590160;
PRAGMA user_version = 3;

CREATE TABLE companies (
  id         TEXT PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 200),
  name       TEXT NOT NULL CHECK (length(name) > 0),
  -- The stamp of the newest lead. The next one is larger, whatever the clock says (delivery contract, D1, D2).
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

CREATE TABLE issued_tokens (
  id         TEXT PRIMARY KEY,
  user_id    TEXT NOT NULL,
  name       TEXT,
  issued_at  INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX issued_tokens_by_user ON issued_tokens (user_id, issued_at);

CREATE TABLE revoked_tokens (
  token_id   TEXT PRIMARY KEY,
  revoked_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

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

CREATE TRIGGER leads_frozen BEFORE UPDATE OF company_id, id, created_at, automation_trigger_id, automation_created_at ON leads
BEGIN
  SELECT RAISE(ABORT, 'company_id, id, created_at, automation_trigger_id and automation_created_at of a lead never change');
END;

CREATE TABLE changes (
  seq  INTEGER PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('leads-appended', 'company', 'user', 'token')),
  id   TEXT NOT NULL,
  -- Tells the entry from one of the same number in a backup that was put in the place of this file.
  mark TEXT NOT NULL DEFAULT (hex(randomblob(8)))
) STRICT;

CREATE TRIGGER changes_are_few AFTER INSERT ON changes
BEGIN
  DELETE FROM changes WHERE seq <= NEW.seq - 10000;
END;

CREATE TRIGGER company_grown AFTER UPDATE OF last_stamp ON companies
BEGIN
  INSERT INTO changes (kind, id) VALUES ('leads-appended', NEW.id);
END;

CREATE TRIGGER lead_changed AFTER UPDATE ON leads
BEGIN
  INSERT INTO changes (kind, id) VALUES ('company', NEW.company_id);
END;

CREATE TRIGGER lead_gone AFTER DELETE ON leads
BEGIN
  INSERT INTO changes (kind, id) VALUES ('company', OLD.company_id);
END;

CREATE TRIGGER company_renamed AFTER UPDATE OF id, name ON companies
BEGIN
  INSERT INTO changes (kind, id) VALUES ('company', OLD.id), ('company', NEW.id);
END;

CREATE TRIGGER status_changed AFTER UPDATE ON statuses
BEGIN
  INSERT INTO changes (kind, id) VALUES ('company', OLD.company_id), ('company', NEW.company_id);
END;

CREATE TRIGGER status_gone AFTER DELETE ON statuses
BEGIN
  INSERT INTO changes (kind, id) VALUES ('company', OLD.company_id);
END;

CREATE TRIGGER branch_changed AFTER UPDATE ON branches
BEGIN
  INSERT INTO changes (kind, id) VALUES ('company', OLD.company_id), ('company', NEW.company_id);
END;

CREATE TRIGGER department_changed AFTER UPDATE ON departments
BEGIN
  INSERT INTO changes (kind, id) VALUES ('company', OLD.company_id), ('company', NEW.company_id);
END;

CREATE TRIGGER user_changed AFTER UPDATE ON users
BEGIN
  INSERT INTO changes (kind, id) VALUES ('user', OLD.id);
END;

CREATE TRIGGER user_gone AFTER DELETE ON users
BEGIN
  INSERT INTO changes (kind, id) VALUES ('user', OLD.id);
END;

CREATE TRIGGER token_revoked AFTER INSERT ON revoked_tokens
BEGIN
  INSERT INTO changes (kind, id) VALUES ('token', NEW.token_id);
END;

CREATE TABLE stamp_floors (
  company_id TEXT PRIMARY KEY,
  -- New leads of a company with this id are stamped after it. That of a company that exists may be out of date.
  last_stamp INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER company_deleted AFTER DELETE ON companies WHEN OLD.last_stamp > 0
BEGIN
  INSERT INTO stamp_floors (company_id, last_stamp) VALUES (OLD.id, OLD.last_stamp)
    ON CONFLICT (company_id) DO UPDATE SET last_stamp = max(last_stamp, excluded.last_stamp);
END;

CREATE TRIGGER company_replaced BEFORE INSERT ON companies
  WHEN EXISTS (SELECT 1 FROM companies WHERE id = NEW.id AND last_stamp > 0)
BEGIN
  INSERT INTO stamp_floors (company_id, last_stamp) SELECT id, last_stamp FROM companies WHERE id = NEW.id
    ON CONFLICT (company_id) DO UPDATE SET last_stamp = max(last_stamp, excluded.last_stamp);
END;

CREATE TRIGGER company_id_replaced BEFORE UPDATE OF id ON companies WHEN OLD.id <> NEW.id
BEGIN
  INSERT INTO stamp_floors (company_id, last_stamp)
    SELECT id, last_stamp FROM companies WHERE id IN (OLD.id, NEW.id) AND last_stamp > 0
    ON CONFLICT (company_id) DO UPDATE SET last_stamp = max(last_stamp, excluded.last_stamp);
END;

CREATE TRIGGER company_inserted AFTER INSERT ON companies
  WHEN EXISTS (SELECT 1 FROM stamp_floors WHERE company_id = NEW.id AND last_stamp > NEW.last_stamp)
BEGIN
  UPDATE companies SET last_stamp = (SELECT last_stamp FROM stamp_floors WHERE company_id = NEW.id) WHERE id = NEW.id;
END;

CREATE TRIGGER company_id_changed AFTER UPDATE OF id ON companies
  WHEN EXISTS (SELECT 1 FROM stamp_floors WHERE company_id = NEW.id AND last_stamp > NEW.last_stamp)
BEGIN
  UPDATE companies SET last_stamp = (SELECT last_stamp FROM stamp_floors WHERE company_id = NEW.id) WHERE id = NEW.id;
END;
