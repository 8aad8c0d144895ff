-- The schema of Leadtap on PostgreSQL 14 or later. Ids are given by the operator; times are stored in whole milliseconds.
-- Constraints and triggers keep the delivery contract (docs/delivery.md) for every program that writes rows. functions.sql, which is run
-- first, has the functions that the service calls, and the one that stamps a new lead.

COMMENT ON SCHEMA leadtap IS 'Leadtap: new leads on tap.';

CREATE TABLE leadtap.migrations (
  version    integer PRIMARY KEY,
  name       text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now(),
  checksum   text NOT NULL,
  functions  text NOT NULL
);
COMMENT ON TABLE leadtap.migrations IS 'What made this schema: version 1 is schema.sql, later ones are the files of migrations/. checksum is the SHA-256 of the file, functions that of functions.sql then. Each program compares them with its own before it changes anything.';

-- Types ---------------------------------------------------------------------------------------------------------------

-- Ids are sorted by their bytes (COLLATE "C"), in whatever language the database is: users are listed in the same order everywhere,
-- straight from the index, and an upgrade of the system's collations cannot corrupt an index. Ids are of type text and not of a
-- domain: for a domain, PostgreSQL may prefer an operator from another schema, which would run with the rights of the caller.

-- No 'infinity', and no year that ISO 8601 writes with more or fewer than four digits. Its year 0 is 1 BC here.
CREATE DOMAIN leadtap.moment AS timestamptz(3)
  CHECK (VALUE >= '0001-01-01 00:00:00+00 BC' AND VALUE < '10000-01-01 00:00:00+00');
COMMENT ON DOMAIN leadtap.moment IS 'A point in time, in whole milliseconds.';

-- Whether there are at most 50 images, of at most 10,000 characters each.
CREATE FUNCTION leadtap.are_valid_images(images text[]) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN array_ndims(images) = 1 AND cardinality(images) <= 50
    AND (SELECT bool_and(image IS NOT NULL AND char_length(image) <= 10000) FROM unnest(images) AS image);

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

CREATE TABLE leadtap.branches (
  company_id text COLLATE "C" NOT NULL REFERENCES leadtap.companies (id),
  id         text COLLATE "C" NOT NULL CHECK (char_length(id) BETWEEN 1 AND 200),
  name       text NOT NULL CHECK (name <> ''),
  PRIMARY KEY (company_id, id)
);
COMMENT ON TABLE leadtap.branches IS 'Parts of a company. Ids are unique in their company.';

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
-- The users of one company, sorted by id, for `leadtap org export`.
CREATE INDEX users_by_company ON leadtap.users (company_id, id);
COMMENT ON TABLE leadtap.users IS 'The users that may poll. The subject of a token is the id of a user.';

-- Tokens --------------------------------------------------------------------------------------------------------------

CREATE TABLE leadtap.issued_tokens (
  id         text COLLATE "C" PRIMARY KEY,
  user_id    text COLLATE "C" NOT NULL,
  name       text,
  issued_at  leadtap.moment NOT NULL,
  expires_at leadtap.moment NOT NULL,
  scope      text COLLATE "C" NOT NULL DEFAULT 'leads:read',
  key_id     text,
  settings   text NOT NULL DEFAULT '{}',
  replaced_by text COLLATE "C",
  used_at    leadtap.moment
);
COMMENT ON COLUMN leadtap.issued_tokens.settings IS 'JSON: what else the token says, so that it can be renewed.';
COMMENT ON COLUMN leadtap.issued_tokens.replaced_by IS 'The token that was made in its place: it ends when that one polls.';
COMMENT ON COLUMN leadtap.issued_tokens.used_at IS 'Of one that was replaced.';
COMMENT ON TABLE leadtap.issued_tokens IS 'The tokens that `leadtap token issue` made, without the tokens themselves. A token may be issued for a user who does not exist yet, and is kept when the user is removed.';
CREATE INDEX issued_tokens_by_user ON leadtap.issued_tokens (user_id, issued_at);
CREATE INDEX issued_tokens_replaced ON leadtap.issued_tokens (replaced_by) WHERE replaced_by IS NOT NULL;

CREATE TABLE leadtap.revoked_tokens (
  token_id   text COLLATE "C" PRIMARY KEY,
  revoked_at leadtap.moment NOT NULL
);
COMMENT ON TABLE leadtap.revoked_tokens IS 'Tokens that are refused although they have not expired. A row counts from the next request on.';

-- Leads ---------------------------------------------------------------------------------------------------------------

-- The limits are those of `leadtap leads import`, or wider. One lead that is too large, or nested too deeply to be rendered, would
-- fail every poll whose page contains it; a number that is too large for JavaScript would be delivered as null.
-- The text of jsonb has spaces after colons and commas: it is up to half as long again as the 64 KiB of JSON that are accepted.
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
                            OR octet_length(custom_fields::text) <= 98304
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
-- Imported history.
CREATE INDEX leads_of_history ON leadtap.leads (company_id, created_at) WHERE created_at <> automation_created_at;

-- ANALYZE copies samples of every column into pg_statistic, where an erased person would stay. No query of Leadtap that needs
-- statistics compares these columns.
ALTER TABLE leadtap.leads
  ALTER first_name SET STATISTICS 0, ALTER last_name SET STATISTICS 0, ALTER full_name SET STATISTICS 0,
  ALTER phone1 SET STATISTICS 0, ALTER phone2 SET STATISTICS 0, ALTER email SET STATISTICS 0,
  ALTER address SET STATISTICS 0, ALTER postal_code SET STATISTICS 0, ALTER address_notes SET STATISTICS 0,
  ALTER custom_fields SET STATISTICS 0, ALTER images SET STATISTICS 0;

COMMENT ON TABLE leadtap.leads IS 'The leads. INSERT with a company_id and the columns that you have; triggers supply the rest. An INSERT with an existing id updates that lead.';

CREATE TABLE leadtap.deleted_stamps (
  company_id text COLLATE "C" NOT NULL,
  created_at leadtap.moment NOT NULL,
  PRIMARY KEY (company_id, created_at)
);
COMMENT ON TABLE leadtap.deleted_stamps IS 'Stamps of deleted leads that no newer lead has followed. A company, also one that is deleted and inserted again, continues after them.';

-- Without a reference to companies: a company that is deleted and inserted again must not get the leads back.
CREATE TABLE leadtap.erased_leads (
  company_id text COLLATE "C" NOT NULL,
  id_hash    text COLLATE "C" NOT NULL CHECK (id_hash ~ '^[0-9a-f]{64}$'),
  erased_at  leadtap.moment NOT NULL,
  PRIMARY KEY (company_id, id_hash)
);
COMMENT ON TABLE leadtap.erased_leads IS 'The ids (SHA-256) of leads that were erased with `leadtap leads erase`. An INSERT with such an id fails with LT002.';

CREATE TABLE leadtap.idempotency_keys (
  company_id text COLLATE "C" NOT NULL,
  key_hash   text COLLATE "C" NOT NULL CHECK (key_hash ~ '^[0-9a-f]{64}$'),
  body_hash  text COLLATE "C" NOT NULL CHECK (body_hash ~ '^[0-9a-f]{64}$'),
  results    text NOT NULL,
  used_at    leadtap.moment NOT NULL,
  PRIMARY KEY (company_id, key_hash)
);
CREATE INDEX idempotency_keys_by_age ON leadtap.idempotency_keys (company_id, used_at);
COMMENT ON TABLE leadtap.idempotency_keys IS 'The Idempotency-Keys of requests that have sent leads, for 30 days. A request that comes again gets the same results (JSON, without ids). body_hash is an HMAC with the key, which is not stored: no content can be guessed from it.';

-- Not in the change log, and without references to other tables: the instances delete its rows after 30 days, and those of removed users.
CREATE TABLE leadtap.refused_leads (
  id          text COLLATE "C" PRIMARY KEY,
  company_id  text COLLATE "C" NOT NULL,
  user_id     text COLLATE "C" NOT NULL,
  token_id    text COLLATE "C" NOT NULL,
  client      text,
  source      text,
  answer_map  text,
  time_zone   text,
  received_at leadtap.moment NOT NULL,
  last_at     leadtap.moment NOT NULL,
  times       integer NOT NULL,
  code        text NOT NULL,
  bytes       integer NOT NULL,
  media_type  text NOT NULL,
  body_hash   text COLLATE "C" NOT NULL,
  errors      text NOT NULL,
  body        text NOT NULL,
  UNIQUE (company_id, user_id, token_id, body_hash)
);
-- No sample of a body in the statistics of the planner.
ALTER TABLE leadtap.refused_leads ALTER body SET STATISTICS 0, ALTER errors SET STATISTICS 0, ALTER answer_map SET STATISTICS 0;
CREATE INDEX refused_leads_by_body ON leadtap.refused_leads (company_id, body_hash);
CREATE INDEX refused_leads_by_time ON leadtap.refused_leads (last_at);
-- All that the bounds read: without it, each row is read with its errors.
CREATE INDEX refused_leads_by_token ON leadtap.refused_leads (company_id, user_id, token_id, client, bytes);
COMMENT ON TABLE leadtap.refused_leads IS 'Requests that sent leads and were refused, with their bodies (Base64), for 30 days. An operator can accept them. source, answer_map and time_zone are those of the token; errors has no values of the body.';

-- Hooks ---------------------------------------------------------------------------------------------------------------

-- Bookkeeping: not in the change log, and it refers to no other table, so that a row of a removed user or a revoked token prevents nothing.
-- token_id is empty for all tokens of a user that have no id.

CREATE TABLE leadtap.hooks (
  id                text COLLATE "C" PRIMARY KEY,
  company_id        text COLLATE "C" NOT NULL,
  user_id           text COLLATE "C" NOT NULL,
  connection_id     text COLLATE "C",
  token_id          text COLLATE "C" NOT NULL,
  token_expires_at  leadtap.moment,
  key_id            text COLLATE "C",
  url               text COLLATE "C" NOT NULL,
  send              text COLLATE "C" NOT NULL CHECK (send IN ('event', 'lead')),
  name              text,
  base_url          text COLLATE "C" NOT NULL,
  created_at        leadtap.moment NOT NULL,
  announced_through leadtap.moment NOT NULL,
  announced_since   leadtap.moment,
  last_event_at     leadtap.moment,
  last_status       integer,
  failures          integer NOT NULL,
  failing_since     leadtap.moment,
  disabled_at       leadtap.moment,
  not_before        leadtap.moment NOT NULL,
  check_at          leadtap.moment,
  remind_at         leadtap.moment
);
-- The hash, because an index has no room for the longest URLs. A backslash would begin an escape sequence of bytea.
CREATE UNIQUE INDEX hooks_by_user ON leadtap.hooks (user_id, token_id, sha256(replace(url, '\', '\\')::bytea), send);
CREATE INDEX hooks_by_company ON leadtap.hooks (company_id);
CREATE INDEX hooks_by_check ON leadtap.hooks (check_at) WHERE check_at IS NOT NULL;
COMMENT ON TABLE leadtap.hooks IS 'Webhook subscriptions. An event, or a lead, is due while the user may see a lead after announced_through.';
COMMENT ON COLUMN leadtap.hooks.key_id IS 'The signing key of the token, or the issuer of the identity provider: nothing is sent if it is not accepted any more.';
COMMENT ON COLUMN leadtap.hooks.url IS 'A secret: who knows it can call the receiver.';
COMMENT ON COLUMN leadtap.hooks.announced_since IS 'Where the subscription started. Of one that sends events: leads up to here are not announced again.';
COMMENT ON COLUMN leadtap.hooks.not_before IS 'No event is sent before: the end of a claim, of a backoff, or of the pause between two events.';
COMMENT ON COLUMN leadtap.hooks.check_at IS 'The hook is examined at this time, also without new leads.';
COMMENT ON COLUMN leadtap.hooks.remind_at IS 'What was announced is announced again if it waits for the connection of its token then.';

-- Connections ---------------------------------------------------------------------------------------------------------

CREATE TABLE leadtap.connections (
  id                     text COLLATE "C" PRIMARY KEY,
  company_id             text COLLATE "C" NOT NULL,
  user_id                text COLLATE "C" NOT NULL,
  kind                   text NOT NULL CHECK (kind IN ('send', 'poll', 'webhook')),
  key                    text COLLATE "C" NOT NULL,
  name                   text NOT NULL,
  source                 text NOT NULL,
  first_at               leadtap.moment NOT NULL,
  last_at                leadtap.moment,
  token_expires_at       leadtap.moment,
  last_lead_at           leadtap.moment,
  start_stamp            leadtap.moment,
  started_at             leadtap.moment,
  position               leadtap.moment,
  audited_through        leadtap.moment,
  noted_position         leadtap.moment,
  worked_at              leadtap.moment,
  ended_at               leadtap.moment,
  ended_by               text,
  end_stamp              leadtap.moment,
  paused_at              leadtap.moment,
  paused_by              text,
  errors                 integer NOT NULL DEFAULT 0,
  failing_since          leadtap.moment,
  last_error_at          leadtap.moment,
  last_error_code        text,
  ahead                  text,
  ahead_since            leadtap.moment,
  pruned                 integer NOT NULL DEFAULT 0,
  event_at               leadtap.moment,
  event_open_since       leadtap.moment,
  access_changed_through leadtap.moment,
  is_access_changed      boolean NOT NULL DEFAULT false,
  before_level           text,
  before_branch          text COLLATE "C",
  before_department      text COLLATE "C",
  habit                  text NOT NULL,
  UNIQUE (user_id, kind, key)
) WITH (fillfactor = 50);
CREATE INDEX connections_by_company ON leadtap.connections (company_id, kind);
COMMENT ON TABLE leadtap.connections IS 'The ways in and out. A connection is a user, a kind and a key: its name, or else the id of its only token. Its rows, and those that refer to them, are bookkeeping: they are not in the change log, and refer to no other table. habit is JSON: how it asks.';

CREATE TABLE leadtap.deliveries (
  created_at leadtap.moment NOT NULL,
  connection text COLLATE "C" NOT NULL,
  sent_at    leadtap.moment NOT NULL,
  PRIMARY KEY (created_at, connection)
);
COMMENT ON TABLE leadtap.deliveries IS 'The leads that were written to a socket, or that a receiver has accepted: one row for each lead and connection.';

CREATE TABLE leadtap.missed (
  connection text COLLATE "C" NOT NULL,
  created_at leadtap.moment NOT NULL,
  why        text NOT NULL CHECK (why IN ('passed', 'moved', 'narrowed', 'not-recorded')),
  missed_at  leadtap.moment NOT NULL,
  handled_at leadtap.moment,
  PRIMARY KEY (connection, created_at)
);
COMMENT ON TABLE leadtap.missed IS 'The leads that a connection was not sent and will not be: a row counts while there is none in deliveries.';

CREATE TABLE leadtap.pending_leads (
  connection text COLLATE "C" NOT NULL,
  created_at leadtap.moment NOT NULL,
  why        text NOT NULL CHECK (why IN ('moved', 'again')),
  since      leadtap.moment NOT NULL,
  message    text NOT NULL,
  PRIMARY KEY (connection, created_at)
);
COMMENT ON TABLE leadtap.pending_leads IS 'The leads that are sent to a webhook beside the new ones, or that the next page of a poller without since has.';

CREATE TABLE leadtap.lost_requests (
  connection text COLLATE "C" NOT NULL,
  why        text NOT NULL,
  requests   integer NOT NULL,
  first_at   leadtap.moment NOT NULL,
  last_at    leadtap.moment NOT NULL,
  PRIMARY KEY (connection, why)
);
COMMENT ON TABLE leadtap.lost_requests IS 'Requests whose leads were neither stored nor held, by cause, until a person marks them as handled.';

CREATE TABLE leadtap.activity (
  connection text COLLATE "C" NOT NULL,
  first_at   leadtap.moment NOT NULL,
  last_at    leadtap.moment NOT NULL,
  times      integer NOT NULL,
  kind       text NOT NULL,
  leads      integer NOT NULL,
  after      leadtap.moment,
  through    leadtap.moment,
  reason     text,
  details    text NOT NULL,
  PRIMARY KEY (connection, first_at)
);
COMMENT ON TABLE leadtap.activity IS 'The log: equal requests in a row are one row. It has counts and times, no data of leads but what a receiver has answered.';

CREATE TABLE leadtap.activity_hours (
  connection text COLLATE "C" NOT NULL,
  hour       integer NOT NULL,
  leads      integer NOT NULL,
  updated    integer NOT NULL,
  failed     integer NOT NULL,
  PRIMARY KEY (connection, hour)
) WITH (fillfactor = 50);
COMMENT ON TABLE leadtap.activity_hours IS 'Counts by hour since 1970, of two days; before that by day, at its first hour.';

CREATE TABLE leadtap.lead_moves (
  company_id text COLLATE "C" NOT NULL,
  created_at leadtap.moment NOT NULL,
  moved_at   leadtap.moment NOT NULL,
  is_new     boolean NOT NULL,
  PRIMARY KEY (company_id, created_at)
);
CREATE INDEX lead_moves_new ON leadtap.lead_moves (company_id) WHERE is_new;
COMMENT ON TABLE leadtap.lead_moves IS 'Leads whose branch or department was changed, with the time of the last change.';

CREATE TABLE leadtap.unassigned (
  company_id text COLLATE "C" NOT NULL,
  created_at leadtap.moment NOT NULL,
  since      leadtap.moment NOT NULL,
  PRIMARY KEY (company_id, created_at)
);
COMMENT ON TABLE leadtap.unassigned IS 'Leads that no automation gets.';

CREATE TABLE leadtap.audits (
  company_id       text COLLATE "C" PRIMARY KEY,
  audited_at       leadtap.moment NOT NULL,
  runs             text NOT NULL,
  assigned_through leadtap.moment NOT NULL
);
COMMENT ON TABLE leadtap.audits IS 'How far the audit of each company has come. runs is JSON: the time and the last stamp of each run of the last 16 minutes.';

CREATE TABLE leadtap.instances (
  id         text COLLATE "C" PRIMARY KEY,
  started_at leadtap.moment NOT NULL,
  seen_at    leadtap.moment NOT NULL,
  stopped_at leadtap.moment,
  dropped_at leadtap.moment
) WITH (fillfactor = 50);
COMMENT ON TABLE leadtap.instances IS 'The processes that serve. One without a farewell that is not seen any more has died: what it had not written is not known.';

-- Change log ----------------------------------------------------------------------------------------------------------

-- Each instance reads the entries that its last snapshot did not see, and invalidates its cache. Readers and writers
-- do not wait for each other, and no committed change is missed.

CREATE TABLE leadtap.changes (
  xid    xid8 NOT NULL DEFAULT pg_current_xact_id(),
  kind   text COLLATE "C" NOT NULL CHECK (kind IN ('leads-appended', 'company', 'user', 'token', 'all')),
  id     text COLLATE "C" NOT NULL,
  server timestamptz NOT NULL DEFAULT pg_postmaster_start_time()
);
CREATE INDEX changes_by_xid ON leadtap.changes (xid);
COMMENT ON TABLE leadtap.changes IS 'The change log of the last minutes. Written by triggers, read by leadtap.revalidate. leads-appended: a company has new leads, all of them later than those it had; company: something else that shows in its pages has changed; user, token: a user was changed or removed, a token was revoked; all: everything may have changed. server is when the server started: a restored dump may contain transaction ids that the new server assigns again.';

-- Entries are pruned in two steps, five minutes apart, so that an instance that polls now and then misses none.
CREATE TABLE leadtap.change_log_state (
  is_only           boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  pruned_below      xid8 NOT NULL,
  next_pruned_below xid8 NOT NULL,
  next_set_at       timestamptz NOT NULL
);
COMMENT ON TABLE leadtap.change_log_state IS 'One row: below which transaction the change log is pruned, and below which it is pruned next.';
INSERT INTO leadtap.change_log_state (pruned_below, next_pruned_below, next_set_at)
  SELECT pg_snapshot_xmin(s), pg_snapshot_xmin(s), clock_timestamp() FROM pg_current_snapshot() AS s;

-- Unlogged, hence empty after a crash. Then, transactions whose ids an instance has seen may never have committed, and the server
-- assigns these ids again.
CREATE UNLOGGED TABLE leadtap.server_epoch (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  id      uuid NOT NULL DEFAULT gen_random_uuid()
);
COMMENT ON TABLE leadtap.server_epoch IS 'One row, replaced after each crash. Snapshots of an earlier epoch are not comparable.';

-- Insert and update ---------------------------------------------------------------------------------------------------

-- Every lead gets its created_at from this trigger, whichever program, function or role inserts it. PostgreSQL fires triggers in the
-- order of their names, and ~ sorts after all letters: the row that an operator's own triggers produce is the row that is stamped.
CREATE TRIGGER "~leads_before_insert" BEFORE INSERT ON leadtap.leads FOR EACH ROW EXECUTE FUNCTION leadtap.leads_before_insert();

-- D4: the values that identify a lead to an automation never change.
CREATE FUNCTION leadtap.leads_before_update() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF (NEW.company_id, NEW.id, NEW.created_at, NEW.automation_trigger_id, NEW.automation_created_at)
     IS DISTINCT FROM (OLD.company_id, OLD.id, OLD.created_at, OLD.automation_trigger_id, OLD.automation_created_at) THEN
    RAISE integrity_constraint_violation USING
      MESSAGE = 'company_id, id, created_at, automation_trigger_id and automation_created_at of a lead never change',
      SCHEMA = 'leadtap', TABLE = 'leads';
  END IF;
  -- The department determines the branch; a lead that moves to another branch leaves its department.
  IF NEW.department_id IS DISTINCT FROM OLD.department_id THEN
    IF NEW.department_id IS NOT NULL AND NEW.branch_id IS NOT DISTINCT FROM OLD.branch_id THEN
      NEW.branch_id := leadtap.branch_of(NEW.company_id, NEW.department_id);
    END IF;
  ELSIF NEW.branch_id IS DISTINCT FROM OLD.branch_id THEN
    NEW.department_id := NULL;
  END IF;
  -- Stamps may run ahead of the clock; updated_at is never before created_at.
  NEW.updated_at := greatest(leadtap.from_ms(leadtap.clock_ms()), OLD.updated_at, OLD.created_at);
  RETURN NEW;
END $$;
CREATE TRIGGER "~leads_before_update" BEFORE UPDATE ON leadtap.leads FOR EACH ROW EXECUTE FUNCTION leadtap.leads_before_update();

-- A trigger that fires after ours could change the company or the stamp of a row, so statements fail while there is one.
CREATE FUNCTION leadtap.refuse_later_triggers() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  later text;
BEGIN
  -- The bits of tgtype: 1 for each row, 2 before, 4 insert, 16 update.
  SELECT t.tgname INTO later FROM pg_trigger AS t
   WHERE t.tgrelid = TG_RELID AND t.tgname > TG_ARGV[0]::name AND t.tgenabled IN ('O', 'A')
     AND t.tgtype & 3 = 3 AND t.tgtype & CASE TG_OP WHEN 'INSERT' THEN 4 ELSE 16 END > 0
   LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION USING
      ERRCODE = 'LT001',
      MESSAGE = format('trigger %I on leadtap.leads would fire after %I', later, TG_ARGV[0]),
      DETAIL = 'It could change a lead after it was stamped, and pollers would miss it.',
      HINT = format('Give it a name that sorts earlier: ALTER TRIGGER %I ON leadtap.leads RENAME TO …', later),
      SCHEMA = 'leadtap', TABLE = 'leads';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER refuse_later_triggers BEFORE INSERT ON leadtap.leads
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.refuse_later_triggers('~leads_before_insert');
CREATE TRIGGER refuse_later_update_triggers BEFORE UPDATE ON leadtap.leads
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.refuse_later_triggers('~leads_before_update');

-- Delete: a stamp is never given again --------------------------------------------------------------------------------

-- The newest created_at that was ever given in a company; null when there was none.
CREATE FUNCTION leadtap.last_stamp(company text) RETURNS timestamptz LANGUAGE sql VOLATILE STRICT
BEGIN ATOMIC
  SELECT greatest(
    (SELECT c.stamp_floor FROM leadtap.companies AS c WHERE c.id = company),
    (SELECT l.created_at FROM leadtap.leads AS l WHERE l.company_id = company ORDER BY l.created_at DESC LIMIT 1),
    (SELECT d.created_at FROM leadtap.deleted_stamps AS d WHERE d.company_id = company ORDER BY d.created_at DESC LIMIT 1));
END;

-- Without the lock of the company: a transaction that deletes a lead would hold its row and wait for the lock, while one that writes
-- the same lead holds the lock and waits for the row. Until the delete commits, writers see the lead itself. While a newer lead
-- remains, nothing needs to be kept.
CREATE FUNCTION leadtap.leads_after_delete() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO leadtap.deleted_stamps (company_id, created_at)
    SELECT d.company_id, max(d.created_at) FROM deleted AS d GROUP BY d.company_id
    HAVING max(d.created_at) > coalesce(leadtap.last_stamp(d.company_id), '-infinity')
    ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER leads_after_delete AFTER DELETE ON leadtap.leads REFERENCING OLD TABLE AS deleted
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.leads_after_delete();

-- Keeps the newest stamp of every company in its stamp_floor.
CREATE FUNCTION leadtap.leads_before_truncate() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE leadtap.companies AS c SET stamp_floor = leadtap.last_stamp(c.id);
  RETURN NULL;
END $$;
CREATE TRIGGER leads_before_truncate BEFORE TRUNCATE ON leadtap.leads
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.leads_before_truncate();

-- stamp_floor is deleted with the row of the company.
CREATE FUNCTION leadtap.companies_after_delete() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO leadtap.deleted_stamps (company_id, created_at)
    SELECT o.id, o.stamp_floor FROM deleted AS o WHERE o.stamp_floor IS NOT NULL
    ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER companies_after_delete AFTER DELETE ON leadtap.companies REFERENCING OLD TABLE AS deleted
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.companies_after_delete();

-- For clients, a new id is another company, and the old one is deleted.
CREATE FUNCTION leadtap.companies_after_id_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO leadtap.deleted_stamps (company_id, created_at) SELECT OLD.id, OLD.stamp_floor WHERE OLD.stamp_floor IS NOT NULL
    ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER companies_after_id_change AFTER UPDATE OF id ON leadtap.companies
  FOR EACH ROW WHEN (OLD.id IS DISTINCT FROM NEW.id) EXECUTE FUNCTION leadtap.companies_after_id_change();

-- Keeps the last stamps of all companies.
CREATE FUNCTION leadtap.companies_before_truncate() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO leadtap.deleted_stamps (company_id, created_at)
    SELECT c.id, s.stamp FROM leadtap.companies AS c, leadtap.last_stamp(c.id) AS s (stamp) WHERE s.stamp IS NOT NULL
    ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER companies_before_truncate BEFORE TRUNCATE ON leadtap.companies
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.companies_before_truncate();

-- They run with the rights of the owner, so no other role may put them on a table of its own.
REVOKE EXECUTE ON FUNCTION leadtap.leads_before_update(), leadtap.leads_after_delete(),
  leadtap.leads_before_truncate(), leadtap.companies_after_delete(), leadtap.companies_after_id_change(),
  leadtap.companies_before_truncate() FROM PUBLIC;

-- Activity of leads ---------------------------------------------------------------------------------------------------

CREATE FUNCTION leadtap.note_moved_lead() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO leadtap.lead_moves (company_id, created_at, moved_at, is_new)
    VALUES (NEW.company_id, NEW.created_at, NEW.updated_at, true)
    ON CONFLICT (company_id, created_at) DO UPDATE SET moved_at = excluded.moved_at, is_new = true;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.note_moved_lead() IS 'Notes that the branch or the department of a lead was changed.';
CREATE TRIGGER note_moved_lead AFTER UPDATE ON leadtap.leads FOR EACH ROW
  WHEN (NEW.branch_id IS DISTINCT FROM OLD.branch_id OR NEW.department_id IS DISTINCT FROM OLD.department_id)
  EXECUTE FUNCTION leadtap.note_moved_lead();

CREATE FUNCTION leadtap.delete_activity_of_leads() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  DELETE FROM leadtap.lead_moves AS m USING deleted AS d WHERE m.company_id = d.company_id AND m.created_at = d.created_at;
  DELETE FROM leadtap.unassigned AS u USING deleted AS d WHERE u.company_id = d.company_id AND u.created_at = d.created_at;
  DELETE FROM leadtap.deliveries AS e USING deleted AS d, leadtap.connections AS c
    WHERE e.created_at = d.created_at AND c.id = e.connection AND c.company_id = d.company_id;
  DELETE FROM leadtap.missed AS e USING deleted AS d, leadtap.connections AS c
    WHERE e.created_at = d.created_at AND c.id = e.connection AND c.company_id = d.company_id;
  DELETE FROM leadtap.pending_leads AS e USING deleted AS d, leadtap.connections AS c
    WHERE e.created_at = d.created_at AND c.id = e.connection AND c.company_id = d.company_id;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.delete_activity_of_leads() IS 'Deletes what is recorded about leads that were deleted.';
CREATE TRIGGER delete_activity_of_leads AFTER DELETE ON leadtap.leads REFERENCING OLD TABLE AS deleted
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.delete_activity_of_leads();

CREATE FUNCTION leadtap.delete_activity_of_all_leads() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  DELETE FROM leadtap.lead_moves;
  DELETE FROM leadtap.unassigned;
  DELETE FROM leadtap.deliveries;
  DELETE FROM leadtap.missed;
  DELETE FROM leadtap.pending_leads;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.delete_activity_of_all_leads() IS 'Deletes what is recorded about leads when their table is truncated.';
CREATE TRIGGER delete_activity_of_all_leads AFTER TRUNCATE ON leadtap.leads
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.delete_activity_of_all_leads();

CREATE FUNCTION leadtap.note_changed_access() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE leadtap.connections SET before_level = OLD.access_level, before_branch = OLD.branch_id, before_department = OLD.department_id,
      access_changed_through = coalesce(leadtap.last_stamp(OLD.company_id), leadtap.from_ms(0)), is_access_changed = true
    WHERE user_id = OLD.id AND kind <> 'send';
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.note_changed_access() IS 'Notes that the access of a user was changed.';
CREATE TRIGGER note_changed_access AFTER UPDATE ON leadtap.users FOR EACH ROW
  WHEN (NEW.company_id IS DISTINCT FROM OLD.company_id OR NEW.access_level IS DISTINCT FROM OLD.access_level
    OR NEW.branch_id IS DISTINCT FROM OLD.branch_id OR NEW.department_id IS DISTINCT FROM OLD.department_id)
  EXECUTE FUNCTION leadtap.note_changed_access();

REVOKE EXECUTE ON FUNCTION leadtap.note_moved_lead(), leadtap.delete_activity_of_leads(), leadtap.delete_activity_of_all_leads(),
  leadtap.note_changed_access() FROM PUBLIC;

-- Writing the change log ----------------------------------------------------------------------------------------------

-- Once for each transaction, however many rows it changes.
CREATE FUNCTION leadtap.log_change(kind text, id text) RETURNS void LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  INSERT INTO leadtap.changes (kind, id) SELECT log_change.kind, log_change.id
   WHERE NOT EXISTS (SELECT FROM leadtap.changes AS c
                      WHERE c.xid = pg_current_xact_id() AND c.server = pg_postmaster_start_time()
                        AND c.kind = log_change.kind AND c.id = log_change.id);
END;

-- A transaction that adds leads updates the row of the company, once (leadtap.leads_before_insert).
CREATE FUNCTION leadtap.log_change_leads_appended() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO leadtap.changes (kind, id) VALUES ('leads-appended', NEW.id);
  RETURN NULL;
END $$;
CREATE TRIGGER log_change_leads_appended AFTER UPDATE OF last_writer ON leadtap.companies
  FOR EACH ROW EXECUTE FUNCTION leadtap.log_change_leads_appended();

CREATE FUNCTION leadtap.log_change_leads() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM leadtap.log_change('company', l.company_id) FROM (SELECT DISTINCT o.company_id FROM old_leads AS o) AS l;
  RETURN NULL;
END $$;
CREATE TRIGGER log_change_updated AFTER UPDATE ON leadtap.leads REFERENCING OLD TABLE AS old_leads
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.log_change_leads();
CREATE TRIGGER log_change_deleted AFTER DELETE ON leadtap.leads REFERENCING OLD TABLE AS old_leads
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.log_change_leads();

-- The argument is the column that contains the company.
CREATE FUNCTION leadtap.log_change_company() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM leadtap.log_change('company', to_jsonb(OLD) ->> TG_ARGV[0]);
  PERFORM leadtap.log_change('company', to_jsonb(NEW) ->> TG_ARGV[0]);
  RETURN NULL;
END $$;
CREATE TRIGGER log_change_company AFTER UPDATE OF id, name ON leadtap.companies FOR EACH ROW EXECUTE FUNCTION leadtap.log_change_company('id');
CREATE TRIGGER log_change_company AFTER UPDATE ON leadtap.statuses FOR EACH ROW EXECUTE FUNCTION leadtap.log_change_company('company_id');
CREATE TRIGGER log_change_company AFTER UPDATE ON leadtap.branches FOR EACH ROW EXECUTE FUNCTION leadtap.log_change_company('company_id');
CREATE TRIGGER log_change_company AFTER UPDATE ON leadtap.departments FOR EACH ROW EXECUTE FUNCTION leadtap.log_change_company('company_id');

CREATE FUNCTION leadtap.log_change_user() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO leadtap.changes (kind, id) VALUES ('user', OLD.id);
  RETURN NULL;
END $$;
CREATE TRIGGER log_change_user AFTER UPDATE OR DELETE ON leadtap.users FOR EACH ROW EXECUTE FUNCTION leadtap.log_change_user();

CREATE FUNCTION leadtap.log_change_token() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO leadtap.changes (kind, id) VALUES ('token', NEW.token_id);
  RETURN NULL;
END $$;
CREATE TRIGGER log_change_token AFTER INSERT OR UPDATE ON leadtap.revoked_tokens FOR EACH ROW EXECUTE FUNCTION leadtap.log_change_token();

CREATE FUNCTION leadtap.log_change_all() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM leadtap.log_change('all', '');
  RETURN NULL;
END $$;
CREATE TRIGGER log_change_all AFTER TRUNCATE ON leadtap.leads FOR EACH STATEMENT EXECUTE FUNCTION leadtap.log_change_all();
CREATE TRIGGER log_change_all AFTER TRUNCATE ON leadtap.users FOR EACH STATEMENT EXECUTE FUNCTION leadtap.log_change_all();

-- Logical replication, and every session with session_replication_role = replica, copies rows that have their stamps: the triggers
-- that stamp do not fire there, but caches must be invalidated. Replication fires no statement triggers, so leads have a row trigger.
CREATE FUNCTION leadtap.log_change_replicated() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    PERFORM leadtap.log_change('company', OLD.company_id);
  END IF;
  IF TG_OP <> 'DELETE' THEN
    PERFORM leadtap.log_change('company', NEW.company_id);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER log_change_replicated AFTER INSERT OR UPDATE OR DELETE ON leadtap.leads
  FOR EACH ROW EXECUTE FUNCTION leadtap.log_change_replicated();
ALTER TABLE leadtap.leads ENABLE REPLICA TRIGGER log_change_replicated, ENABLE ALWAYS TRIGGER log_change_all;
ALTER TABLE leadtap.companies ENABLE ALWAYS TRIGGER log_change_leads_appended, ENABLE ALWAYS TRIGGER log_change_company;
ALTER TABLE leadtap.statuses ENABLE ALWAYS TRIGGER log_change_company;
ALTER TABLE leadtap.branches ENABLE ALWAYS TRIGGER log_change_company;
ALTER TABLE leadtap.departments ENABLE ALWAYS TRIGGER log_change_company;
ALTER TABLE leadtap.users ENABLE ALWAYS TRIGGER log_change_user, ENABLE ALWAYS TRIGGER log_change_all;
ALTER TABLE leadtap.revoked_tokens ENABLE ALWAYS TRIGGER log_change_token;

REVOKE EXECUTE ON FUNCTION leadtap.log_change(text, text), leadtap.log_change_leads_appended(), leadtap.log_change_leads(),
  leadtap.log_change_company(), leadtap.log_change_user(), leadtap.log_change_token(), leadtap.log_change_all(),
  leadtap.log_change_replicated() FROM PUBLIC;

-- Changes of accounts -------------------------------------------------------------------------------------------------

-- A request that sends leads checks its account and commits; no change of the account may be committed in between. So the request
-- locks its user and its token in shared mode before the check, and the triggers lock the users and the tokens that a statement has
-- changed, exclusively. The second of the two waits until the first has committed. Users and tokens have locks of their own, so that
-- no revocation waits for a long transaction that changes users.

-- Waits for the requests that send leads as one of these users.
CREATE FUNCTION leadtap.lock_changed_users() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM leadtap.lock_changed_accounts(1, ARRAY(SELECT c.id FROM changed AS c));
  RETURN NULL;
END $$;
CREATE TRIGGER lock_changed_users AFTER UPDATE ON leadtap.users REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.lock_changed_users();
CREATE TRIGGER lock_removed_users AFTER DELETE ON leadtap.users REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.lock_changed_users();

-- Waits for the requests that send leads with one of these tokens.
CREATE FUNCTION leadtap.lock_revoked_tokens() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM leadtap.lock_changed_accounts(2, ARRAY(SELECT c.token_id FROM changed AS c));
  RETURN NULL;
END $$;
CREATE TRIGGER lock_revoked_tokens AFTER INSERT ON leadtap.revoked_tokens REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.lock_revoked_tokens();
