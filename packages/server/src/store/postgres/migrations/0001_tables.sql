-- PostgreSQL 14 or later. Ids are given by the operator; times are stored in whole milliseconds.
-- The constraints here and the triggers of 0002_stamps.sql keep the delivery contract (docs/delivery.md) for every program that
-- writes rows.

-- Ids are sorted by their bytes (COLLATE "C"), in whatever language the database is: users are listed in the same order everywhere,
-- straight from the index, and an upgrade of the system's collations cannot corrupt an index. Ids are of type text and not of a
-- domain: for a domain, PostgreSQL may prefer an operator from another schema, which would run with the rights of the caller.

-- No 'infinity', and no year that ISO 8601 writes with more or fewer than four digits. Its year 0 is 1 BC here.
CREATE DOMAIN leadtap.moment AS timestamptz(3)
  CHECK (VALUE >= '0001-01-01 00:00:00+00 BC' AND VALUE < '10000-01-01 00:00:00+00');
COMMENT ON DOMAIN leadtap.moment IS 'A point in time, in whole milliseconds.';

CREATE FUNCTION leadtap.are_valid_images(images text[]) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN array_ndims(images) = 1 AND cardinality(images) <= 50
    AND (SELECT bool_and(image IS NOT NULL AND char_length(image) <= 10000) FROM unnest(images) AS image);
COMMENT ON FUNCTION leadtap.are_valid_images(text[]) IS 'Whether there are at most 50 images, of at most 10,000 characters each.';

-- Organisation --------------------------------------------------------------------------------------------------------

-- Every writing transaction updates the row of its company. Half-empty pages let it stay on its page (HOT update).
CREATE TABLE leadtap.companies (
  id                 text COLLATE "C" PRIMARY KEY CHECK (char_length(id) BETWEEN 1 AND 200),
  name               text NOT NULL CHECK (name <> ''),
  stamp_floor        leadtap.moment,
  last_writer        xid8,
  last_writer_server timestamptz
) WITH (fillfactor = 50);
COMMENT ON TABLE leadtap.companies IS 'The owners of leads. No user sees the leads of another company.';
COMMENT ON COLUMN leadtap.companies.id IS 'The operator''s own id.';
COMMENT ON COLUMN leadtap.companies.name IS 'The companyName of leads.';
COMMENT ON COLUMN leadtap.companies.stamp_floor IS 'New leads are stamped after this, whatever the clock says: the newest created_at before a TRUNCATE, or in the database that was migrated from.';
COMMENT ON COLUMN leadtap.companies.last_writer IS 'The transaction that last added a lead. A transaction with an older snapshot cannot stamp, and must be retried.';
COMMENT ON COLUMN leadtap.companies.last_writer_server IS 'When the server of that transaction started. A restored dump may contain transaction ids that the new server assigns again.';

CREATE TABLE leadtap.statuses (
  company_id text COLLATE "C" NOT NULL REFERENCES leadtap.companies (id),
  value      text COLLATE "C" NOT NULL CHECK (value ~ '^[A-Z][A-Z0-9_]*$' AND char_length(value) <= 64),
  label      text NOT NULL,
  color      text NOT NULL,
  final      boolean NOT NULL,
  position   integer NOT NULL CHECK (position >= 0),
  PRIMARY KEY (company_id, value)
);
COMMENT ON TABLE leadtap.statuses IS 'The catalogue of statuses that a company''s leads can have.';
COMMENT ON COLUMN leadtap.statuses.value IS 'An upper-case word, such as NEW.';
COMMENT ON COLUMN leadtap.statuses.label IS 'For people, such as "New".';
COMMENT ON COLUMN leadtap.statuses.color IS 'For screens, such as #2563eb.';
COMMENT ON COLUMN leadtap.statuses.final IS 'Whether a lead stays in it: won, or lost.';
COMMENT ON COLUMN leadtap.statuses.position IS 'Their order, from 0. A new lead is NEW, or else has the first status.';

CREATE TABLE leadtap.branches (
  company_id text COLLATE "C" NOT NULL REFERENCES leadtap.companies (id),
  id         text COLLATE "C" NOT NULL CHECK (char_length(id) BETWEEN 1 AND 200),
  name       text NOT NULL CHECK (name <> ''),
  PRIMARY KEY (company_id, id)
);
COMMENT ON TABLE leadtap.branches IS 'Parts of a company. Ids are unique in their company.';
COMMENT ON COLUMN leadtap.branches.name IS 'The branchName of leads.';

CREATE TABLE leadtap.departments (
  company_id text COLLATE "C" NOT NULL,
  id         text COLLATE "C" NOT NULL CHECK (char_length(id) BETWEEN 1 AND 200),
  branch_id  text COLLATE "C" NOT NULL,
  name       text NOT NULL CHECK (name <> ''),
  PRIMARY KEY (company_id, id),
  -- The key that leads refer to, so that a lead's department belongs to its branch.
  UNIQUE (company_id, branch_id, id),
  FOREIGN KEY (company_id, branch_id) REFERENCES leadtap.branches (company_id, id)
);
COMMENT ON TABLE leadtap.departments IS 'Parts of a branch. Ids are unique in their company.';
COMMENT ON COLUMN leadtap.departments.name IS 'The departmentName of leads.';

CREATE TABLE leadtap.users (
  id            text COLLATE "C" PRIMARY KEY CHECK (char_length(id) BETWEEN 1 AND 200),
  company_id    text COLLATE "C" NOT NULL REFERENCES leadtap.companies (id),
  email         text,
  name          text,
  plan          text NOT NULL CHECK (plan ~ '^[A-Z][A-Z0-9_]*$' AND char_length(plan) <= 64),
  access_level  text NOT NULL CHECK (access_level IN ('COMPANY', 'BRANCH', 'DEPARTMENT')),
  branch_id     text COLLATE "C",
  department_id text COLLATE "C",
  CHECK (access_level <> 'BRANCH' OR branch_id IS NOT NULL),
  CHECK (access_level <> 'DEPARTMENT' OR department_id IS NOT NULL),
  FOREIGN KEY (company_id, branch_id) REFERENCES leadtap.branches (company_id, id),
  FOREIGN KEY (company_id, department_id) REFERENCES leadtap.departments (company_id, id)
);
COMMENT ON TABLE leadtap.users IS 'The users that may poll. The subject of a token is the id of a user.';
COMMENT ON COLUMN leadtap.users.plan IS 'PROFESSIONAL may poll; any other upper-case word may not.';
COMMENT ON COLUMN leadtap.users.access_level IS 'COMPANY sees all leads of the company, BRANCH those of the branch, DEPARTMENT those of the department.';

CREATE TABLE leadtap.issued_tokens (
  id         text COLLATE "C" PRIMARY KEY,
  user_id    text COLLATE "C" NOT NULL,
  name       text,
  issued_at  leadtap.moment NOT NULL,
  expires_at leadtap.moment NOT NULL
);
COMMENT ON TABLE leadtap.issued_tokens IS 'The tokens that `leadtap token issue` made, without the tokens themselves. A token may be issued for a user who does not exist yet, and is kept when the user is removed.';
CREATE INDEX issued_tokens_by_user ON leadtap.issued_tokens (user_id, issued_at);

CREATE TABLE leadtap.revoked_tokens (
  token_id   text COLLATE "C" PRIMARY KEY,
  revoked_at leadtap.moment NOT NULL
);
COMMENT ON TABLE leadtap.revoked_tokens IS 'Tokens that are refused although they have not expired. A row counts from the next request on.';

-- Leads ---------------------------------------------------------------------------------------------------------------

-- The limits are those of `leadtap leads import`, or wider. One lead that is too large, or nested too deeply to be rendered, would
-- fail every poll whose page contains it; a number that is too large for JavaScript would be delivered as null.
-- Small values skip the expensive checks: a text of 200 bytes cannot contain 101 levels or a number of 309 digits.
CREATE TABLE leadtap.leads (
  company_id            text COLLATE "C" NOT NULL,
  id                    text COLLATE "C" NOT NULL CHECK (char_length(id) BETWEEN 1 AND 200),
  created_at            leadtap.moment NOT NULL,
  branch_id             text COLLATE "C",
  department_id         text COLLATE "C",
  first_name            text CHECK (char_length(first_name) <= 10000),
  last_name             text CHECK (char_length(last_name) <= 10000),
  full_name             text CHECK (char_length(full_name) <= 10000),
  phone1                text CHECK (char_length(phone1) <= 10000),
  phone2                text CHECK (char_length(phone2) <= 10000),
  email                 text CHECK (char_length(email) <= 10000),
  address               text CHECK (char_length(address) <= 10000),
  postal_code           text CHECK (char_length(postal_code) <= 10000),
  address_notes         text CHECK (char_length(address_notes) <= 10000),
  appointment_date_time leadtap.moment,
  timeslot              text CHECK (timeslot ~ '^([01][0-9]|2[0-3]):[0-5][0-9]$'),
  status_value          text COLLATE "C" NOT NULL,
  custom_fields         jsonb NOT NULL CHECK (custom_fields = '{}' OR jsonb_typeof(custom_fields) = 'object'
                          AND (octet_length(custom_fields::text) <= 200
                            OR octet_length(custom_fields::text) <= 65536
                            AND NOT jsonb_path_exists(custom_fields, '$.**{101}')
                            AND NOT jsonb_path_exists(custom_fields, '$.** ? (@ > 1.7976931348623157e308 || @ < -1.7976931348623157e308)'))),
  images                text[] NOT NULL CHECK (images = '{}' OR array_ndims(images) = 1 AND cardinality(images) <= 50
                          AND array_position(images, NULL) IS NULL
                          AND (char_length(array_to_string(images, '')) <= 10000 OR leadtap.are_valid_images(images))),
  same_day              boolean NOT NULL,
  updated_at            leadtap.moment NOT NULL,
  automation_trigger_id text NOT NULL CHECK (char_length(automation_trigger_id) BETWEEN 1 AND 64),
  automation_created_at leadtap.moment NOT NULL,
  -- D1. A page of a company's leads is a range of this index.
  PRIMARY KEY (company_id, created_at),
  -- D5.
  CONSTRAINT leads_id_key UNIQUE (company_id, id),
  CONSTRAINT department_has_branch CHECK (department_id IS NULL OR branch_id IS NOT NULL),
  FOREIGN KEY (company_id, status_value) REFERENCES leadtap.statuses (company_id, value),
  FOREIGN KEY (company_id, branch_id) REFERENCES leadtap.branches (company_id, id),
  FOREIGN KEY (company_id, branch_id, department_id) REFERENCES leadtap.departments (company_id, branch_id, id)
);
CREATE INDEX leads_by_branch ON leadtap.leads (company_id, branch_id, created_at) WHERE branch_id IS NOT NULL;
CREATE INDEX leads_by_department ON leadtap.leads (company_id, department_id, created_at) WHERE department_id IS NOT NULL;

COMMENT ON TABLE leadtap.leads IS 'The leads. INSERT with a company_id and the columns that you have; triggers supply the rest.';
COMMENT ON COLUMN leadtap.leads.id IS 'Your own id, unique in the company; generated when left out. An INSERT with an existing id updates that lead.';
COMMENT ON COLUMN leadtap.leads.created_at IS 'Set by the database, unique and rising within a company. Never changes. Kept as given only where leadtap.historical is on.';
COMMENT ON COLUMN leadtap.leads.branch_id IS 'Taken from the department when left out.';
COMMENT ON COLUMN leadtap.leads.full_name IS 'Where it is null, answers contain the first and the last name.';
COMMENT ON COLUMN leadtap.leads.timeslot IS 'HH:MM.';
COMMENT ON COLUMN leadtap.leads.status_value IS 'One of the company''s statuses; NEW, or else the first one, when left out.';
COMMENT ON COLUMN leadtap.leads.custom_fields IS 'A JSON object.';
COMMENT ON COLUMN leadtap.leads.images IS 'Web addresses.';
COMMENT ON COLUMN leadtap.leads.updated_at IS 'Set by the database with every change.';
COMMENT ON COLUMN leadtap.leads.automation_trigger_id IS 'The id by which automations recognise the lead. Never changes.';
COMMENT ON COLUMN leadtap.leads.automation_created_at IS 'When the lead was added. Never changes.';

CREATE TABLE leadtap.deleted_stamps (
  company_id text COLLATE "C" NOT NULL,
  created_at leadtap.moment NOT NULL,
  PRIMARY KEY (company_id, created_at)
);
COMMENT ON TABLE leadtap.deleted_stamps IS 'Stamps of deleted leads that no newer lead has followed. A company, also one that is deleted and inserted again, continues after them.';
