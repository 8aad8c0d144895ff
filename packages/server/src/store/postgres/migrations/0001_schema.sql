-- The schema of Leadtap on PostgreSQL 14 or later. Ids are given by the operator; times are stored in whole milliseconds.
-- Constraints and triggers keep the delivery contract (docs/delivery.md) for every program that writes rows.
--
-- Two functions are not here: leads_before_insert and read_page name every column of a lead, and are created before the migrations
-- run (lead-functions.sql).

COMMENT ON SCHEMA leadtap IS 'Leadtap: new leads on tap.';

CREATE TABLE leadtap.migrations (
  version    integer PRIMARY KEY,
  name       text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now(),
  checksum   text NOT NULL
);
COMMENT ON TABLE leadtap.migrations IS 'The migrations that made this schema. Its version is that of the last one.';
COMMENT ON COLUMN leadtap.migrations.checksum IS 'SHA-256 of the migration in hexadecimal. Each program compares it with its own before it changes anything.';

-- Types ---------------------------------------------------------------------------------------------------------------

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
-- The users of one company, sorted by id, for `leadtap org export`.
CREATE INDEX users_by_company ON leadtap.users (company_id, id);
COMMENT ON TABLE leadtap.users IS 'The users that may poll. The subject of a token is the id of a user.';
COMMENT ON COLUMN leadtap.users.plan IS 'PROFESSIONAL may poll; any other upper-case word may not.';
COMMENT ON COLUMN leadtap.users.access_level IS 'COMPANY sees all leads of the company, BRANCH those of the branch, DEPARTMENT those of the department.';

-- Tokens --------------------------------------------------------------------------------------------------------------

CREATE TABLE leadtap.issued_tokens (
  id         text COLLATE "C" PRIMARY KEY,
  user_id    text COLLATE "C" NOT NULL,
  name       text,
  issued_at  leadtap.moment NOT NULL,
  expires_at leadtap.moment NOT NULL,
  scope      text COLLATE "C" NOT NULL DEFAULT 'leads:read',
  key_id     text
);
COMMENT ON TABLE leadtap.issued_tokens IS 'The tokens that `leadtap token issue` made, without the tokens themselves. A token may be issued for a user who does not exist yet, and is kept when the user is removed.';
COMMENT ON COLUMN leadtap.issued_tokens.scope IS 'What the token may do, as its claim `scope` has it: leads:read, leads:write, or both with a space between them.';
COMMENT ON COLUMN leadtap.issued_tokens.key_id IS 'The signing key, so that `leadtap token list` can say which tokens ended with their key.';
CREATE INDEX issued_tokens_by_user ON leadtap.issued_tokens (user_id, issued_at);

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

-- ANALYZE copies samples of every column into pg_statistic, where an erased person would stay. No query of Leadtap that needs
-- statistics compares these columns.
ALTER TABLE leadtap.leads
  ALTER first_name SET STATISTICS 0, ALTER last_name SET STATISTICS 0, ALTER full_name SET STATISTICS 0,
  ALTER phone1 SET STATISTICS 0, ALTER phone2 SET STATISTICS 0, ALTER email SET STATISTICS 0,
  ALTER address SET STATISTICS 0, ALTER postal_code SET STATISTICS 0, ALTER address_notes SET STATISTICS 0,
  ALTER custom_fields SET STATISTICS 0, ALTER images SET STATISTICS 0;

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

-- Without a reference to companies: a company that is deleted and inserted again must not get the leads back.
CREATE TABLE leadtap.erased_leads (
  company_id text COLLATE "C" NOT NULL,
  id_hash    text COLLATE "C" NOT NULL CHECK (id_hash ~ '^[0-9a-f]{64}$'),
  erased_at  leadtap.moment NOT NULL,
  PRIMARY KEY (company_id, id_hash)
);
COMMENT ON TABLE leadtap.erased_leads IS 'The ids of leads that were erased with `leadtap leads erase`. An INSERT with such an id fails with LT002.';
COMMENT ON COLUMN leadtap.erased_leads.id_hash IS 'SHA-256 of the id in hexadecimal, because an id may be personal data.';

CREATE TABLE leadtap.idempotency_keys (
  company_id text COLLATE "C" NOT NULL,
  key_hash   text COLLATE "C" NOT NULL CHECK (key_hash ~ '^[0-9a-f]{64}$'),
  body_hash  text COLLATE "C" NOT NULL CHECK (body_hash ~ '^[0-9a-f]{64}$'),
  results    text NOT NULL,
  used_at    leadtap.moment NOT NULL,
  PRIMARY KEY (company_id, key_hash)
);
CREATE INDEX idempotency_keys_by_age ON leadtap.idempotency_keys (company_id, used_at);
COMMENT ON TABLE leadtap.idempotency_keys IS 'The Idempotency-Keys of requests that have sent leads, for 30 days. A request that comes again gets the same result.';
COMMENT ON COLUMN leadtap.idempotency_keys.key_hash IS 'SHA-256 of company, user, token and key, in hexadecimal.';
COMMENT ON COLUMN leadtap.idempotency_keys.body_hash IS 'HMAC-SHA-256 of the request with the key, which is not stored: no content can be guessed from it.';
COMMENT ON COLUMN leadtap.idempotency_keys.results IS 'created_at and result of each lead, as JSON, without their ids.';

-- Consumers and hooks -------------------------------------------------------------------------------------------------

-- The tokens that poll, and how far each has come. Its rows are bookkeeping: they are written every few seconds, are not in the
-- change log, and refer to no other table, so that a row of a removed user or a revoked token prevents nothing. Half-empty pages
-- let an updated row stay on its page (HOT update).
CREATE TABLE leadtap.consumers (
  user_id           text COLLATE "C" NOT NULL,
  token_id          text COLLATE "C" NOT NULL,
  token_expires_at  leadtap.moment,
  first_poll_at     leadtap.moment NOT NULL,
  last_poll_at      leadtap.moment NOT NULL,
  last_status       integer NOT NULL,
  polls             integer NOT NULL,
  waiting_until     leadtap.moment,
  interval_ms       integer,
  confirmed_through leadtap.moment,
  delivered_through leadtap.moment,
  gaps              text,
  confirmed_at      leadtap.moment,
  PRIMARY KEY (user_id, token_id)
) WITH (fillfactor = 50);
COMMENT ON TABLE leadtap.consumers IS 'The tokens that poll, and how far each has come. A lead is confirmed if confirmed_through >= its created_at, delivered if delivered_through >= it, and waiting otherwise.';
COMMENT ON COLUMN leadtap.consumers.token_id IS 'Empty for all tokens of the user that have no id.';
COMMENT ON COLUMN leadtap.consumers.token_expires_at IS 'When the token of the last poll expires.';
COMMENT ON COLUMN leadtap.consumers.last_status IS 'The HTTP status of the last poll.';
COMMENT ON COLUMN leadtap.consumers.waiting_until IS 'A poll waits for a lead (Prefer: wait) until this time at most.';
COMMENT ON COLUMN leadtap.consumers.interval_ms IS 'The usual time between two polls, in milliseconds.';
COMMENT ON COLUMN leadtap.consumers.confirmed_through IS 'The largest since that the consumer has sent.';
COMMENT ON COLUMN leadtap.consumers.delivered_through IS 'The newest created_at that was sent to the consumer.';
COMMENT ON COLUMN leadtap.consumers.gaps IS 'Leads that the consumer was never sent although its positions are past them: a JSON array of ranges of created_at, in milliseconds since 1970. A lead in one of them is neither confirmed nor delivered, but skipped. Null: none.';
COMMENT ON COLUMN leadtap.consumers.confirmed_at IS 'When confirmed_through last rose, or the last poll before leads after it were sent. Null: unknown, or the last page was asked for without since.';

CREATE TABLE leadtap.availability (
  id                boolean PRIMARY KEY DEFAULT true CHECK (id),
  unavailable_since leadtap.moment,
  available_since   leadtap.moment,
  stopped_at        leadtap.moment
);
COMMENT ON TABLE leadtap.availability IS 'One row: the last time in which the service could not answer polls, and when an instance last stopped. Consumers are not late because of it.';

-- Webhook subscriptions, and up to which lead each was announced. Its rows are bookkeeping: they are not in the change log, and refer to
-- no other table, so that a row of a removed user or a revoked token prevents nothing.
CREATE TABLE leadtap.hooks (
  id                text COLLATE "C" PRIMARY KEY,
  company_id        text COLLATE "C" NOT NULL,
  user_id           text COLLATE "C" NOT NULL,
  token_id          text COLLATE "C" NOT NULL,
  token_expires_at  leadtap.moment,
  url               text COLLATE "C" NOT NULL,
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
CREATE UNIQUE INDEX hooks_by_user ON leadtap.hooks (user_id, token_id, sha256(replace(url, '\', '\\')::bytea));
CREATE INDEX hooks_by_company ON leadtap.hooks (company_id);
CREATE INDEX hooks_by_check ON leadtap.hooks (check_at) WHERE check_at IS NOT NULL;
COMMENT ON TABLE leadtap.hooks IS 'Webhook subscriptions. An event is due while the user may see a lead after announced_through.';
COMMENT ON COLUMN leadtap.hooks.company_id IS 'Of the user, when the hook was added.';
COMMENT ON COLUMN leadtap.hooks.token_id IS 'Empty for all tokens of the user that have no id.';
COMMENT ON COLUMN leadtap.hooks.token_expires_at IS 'The hook ends with its token.';
COMMENT ON COLUMN leadtap.hooks.url IS 'A secret: who knows it can call the receiver.';
COMMENT ON COLUMN leadtap.hooks.base_url IS 'The {base_url} that the subscription was sent to.';
COMMENT ON COLUMN leadtap.hooks.announced_through IS 'A receiver has accepted an event for all leads up to here.';
COMMENT ON COLUMN leadtap.hooks.announced_since IS 'The since of the last accepted event.';
COMMENT ON COLUMN leadtap.hooks.last_event_at IS 'The time of the last attempt.';
COMMENT ON COLUMN leadtap.hooks.last_status IS 'The HTTP status of the last attempt. Null if there was no response.';
COMMENT ON COLUMN leadtap.hooks.failures IS 'Failed attempts since the last accepted event.';
COMMENT ON COLUMN leadtap.hooks.failing_since IS 'The time of the first of these failures.';
COMMENT ON COLUMN leadtap.hooks.not_before IS 'No event is sent before: the end of a claim, of a backoff, or of the pause between two events.';
COMMENT ON COLUMN leadtap.hooks.check_at IS 'The hook is examined at this time, also without new leads.';
COMMENT ON COLUMN leadtap.hooks.remind_at IS 'The last event is repeated once if the consumer has not polled by then.';

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
COMMENT ON TABLE leadtap.changes IS 'The change log of the last minutes. Written by triggers, read by leadtap.revalidate.';
COMMENT ON COLUMN leadtap.changes.kind IS 'leads-appended: a company has new leads, all of them later than those it had; company: something else that shows in its pages has changed; user, token: a user was changed or removed, a token was revoked; all: everything may have changed.';
COMMENT ON COLUMN leadtap.changes.server IS 'When the server of the transaction started: a restored dump may contain transaction ids that the new server assigns again.';

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

-- Times in milliseconds -----------------------------------------------------------------------------------------------

-- The only clock that stamps: the clocks of two instances may differ.
CREATE FUNCTION leadtap.clock_ms() RETURNS bigint LANGUAGE sql VOLATILE
  RETURN floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint;
COMMENT ON FUNCTION leadtap.clock_ms() IS 'The time now, in milliseconds since 1970.';

CREATE FUNCTION leadtap.to_ms(at timestamptz) RETURNS bigint LANGUAGE sql STABLE STRICT PARALLEL SAFE
  RETURN (extract(epoch FROM at) * 1000)::bigint;
COMMENT ON FUNCTION leadtap.to_ms(timestamptz) IS 'Milliseconds since 1970.';

-- In two steps: the product of an interval and a large number of milliseconds is not exact.
CREATE FUNCTION leadtap.from_ms(ms bigint) RETURNS timestamptz LANGUAGE sql STABLE STRICT PARALLEL SAFE
  RETURN timestamptz 'epoch' + (ms / 1000) * interval '1 second' + (ms % 1000) * interval '1 millisecond';
COMMENT ON FUNCTION leadtap.from_ms(bigint) IS 'The time that is so many milliseconds after the start of 1970.';

-- RFC 9562: sorts by time, so that new ids are neighbours in the index.
CREATE FUNCTION leadtap.uuid_v7(ms bigint) RETURNS text LANGUAGE sql VOLATILE STRICT
  RETURN encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid()) PLACING substring(int8send(ms) FROM 3) FROM 1 FOR 6), 52, 1), 53, 1), 'hex')::uuid::text;
COMMENT ON FUNCTION leadtap.uuid_v7(bigint) IS 'A new UUID of version 7 for a time in milliseconds since 1970.';

-- The lock of a company -----------------------------------------------------------------------------------------------

-- Two companies may have the same key by chance. Then their writers wait for each other; nothing else happens.
CREATE FUNCTION leadtap.company_lock(company text) RETURNS integer LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN hashtext(company);
COMMENT ON FUNCTION leadtap.company_lock(text) IS 'The second key of the advisory lock of a company; the first is leadtap.lock_class().';

CREATE FUNCTION leadtap.lock_class() RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN 1280587088; -- "LTAP"
COMMENT ON FUNCTION leadtap.lock_class() IS 'The first key of every advisory lock that Leadtap takes.';

CREATE FUNCTION leadtap.lock_companies(companies text[]) RETURNS void LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  company text;
BEGIN
  FOR company IN SELECT DISTINCT c COLLATE "C" FROM unnest(companies) AS c ORDER BY 1 LOOP
    PERFORM pg_advisory_xact_lock(leadtap.lock_class(), leadtap.company_lock(company));
  END LOOP;
END $$;
COMMENT ON FUNCTION leadtap.lock_companies(text[]) IS 'Takes the locks of companies until the transaction ends, in the one order that avoids deadlocks: that of company_id, byte by byte.';

-- Values for a new lead -----------------------------------------------------------------------------------------------

CREATE FUNCTION leadtap.last_stamp(company text) RETURNS timestamptz LANGUAGE sql VOLATILE STRICT
BEGIN ATOMIC
  SELECT greatest(
    (SELECT c.stamp_floor FROM leadtap.companies AS c WHERE c.id = company),
    (SELECT l.created_at FROM leadtap.leads AS l WHERE l.company_id = company ORDER BY l.created_at DESC LIMIT 1),
    (SELECT d.created_at FROM leadtap.deleted_stamps AS d WHERE d.company_id = company ORDER BY d.created_at DESC LIMIT 1));
END;
COMMENT ON FUNCTION leadtap.last_stamp(text) IS 'The newest created_at that was ever given in a company; null when there was none.';

CREATE FUNCTION leadtap.branch_of(company text, department text) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
  branch text;
BEGIN
  SELECT d.branch_id INTO branch FROM leadtap.departments AS d WHERE d.company_id = company AND d.id = department;
  IF NOT FOUND THEN
    RAISE foreign_key_violation USING
      MESSAGE = format('company %L has no department %L', company, department),
      SCHEMA = 'leadtap', TABLE = 'leads', COLUMN = 'department_id';
  END IF;
  RETURN branch;
END $$;
COMMENT ON FUNCTION leadtap.branch_of(text, text) IS 'The branch of a department; an error if there is no such department.';

-- The setting leadtap.free_time holds where the last search of this transaction ended: otherwise, historical leads with equal times
-- would search the same range again for each row.
CREATE FUNCTION leadtap.free_time(company text, wanted timestamptz) RETURNS timestamptz LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  key text := leadtap.to_ms(wanted) || ' ' || company;
  last_search text[] := string_to_array(current_setting('leadtap.free_time', true), E'\n');
  free timestamptz := wanted;
BEGIN
  -- The id of a company may contain line breaks.
  IF array_to_string(last_search[2:], E'\n') = key THEN
    free := leadtap.from_ms(last_search[1]::bigint + 1);
  END IF;
  -- LIMIT instead of EXISTS: a plan for EXISTS that was made while the table was empty reads all leads of the company.
  WHILE free = (SELECT l.created_at FROM leadtap.leads AS l WHERE l.company_id = company AND l.created_at >= free
                 ORDER BY l.created_at LIMIT 1) LOOP
    free := free + interval '1 millisecond';
  END LOOP;
  PERFORM set_config('leadtap.free_time', leadtap.to_ms(free) || E'\n' || key, true);
  RETURN free;
END $$;
COMMENT ON FUNCTION leadtap.free_time(text, timestamptz) IS 'The first millisecond, from the wanted one on, that no lead of the company has.';

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
COMMENT ON FUNCTION leadtap.leads_before_update() IS 'Refuses changes of the values that never change, and sets updated_at.';
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
COMMENT ON FUNCTION leadtap.refuse_later_triggers() IS 'Refuses a statement while a BEFORE ROW trigger sorts after the one that is named by the argument.';
CREATE TRIGGER refuse_later_triggers BEFORE INSERT ON leadtap.leads
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.refuse_later_triggers('~leads_before_insert');
CREATE TRIGGER refuse_later_update_triggers BEFORE UPDATE ON leadtap.leads
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.refuse_later_triggers('~leads_before_update');

-- Delete: a stamp is never given again --------------------------------------------------------------------------------

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
COMMENT ON FUNCTION leadtap.leads_after_delete() IS 'Keeps the newest stamp among deleted leads.';
CREATE TRIGGER leads_after_delete AFTER DELETE ON leadtap.leads REFERENCING OLD TABLE AS deleted
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.leads_after_delete();

CREATE FUNCTION leadtap.leads_before_truncate() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE leadtap.companies AS c SET stamp_floor = leadtap.last_stamp(c.id);
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.leads_before_truncate() IS 'Keeps the newest stamp of every company in its stamp_floor.';
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
COMMENT ON FUNCTION leadtap.companies_after_delete() IS 'Keeps the last stamps of deleted companies.';
CREATE TRIGGER companies_after_delete AFTER DELETE ON leadtap.companies REFERENCING OLD TABLE AS deleted
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.companies_after_delete();

-- For clients, a new id is another company, and the old one is deleted.
CREATE FUNCTION leadtap.companies_after_id_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO leadtap.deleted_stamps (company_id, created_at) SELECT OLD.id, OLD.stamp_floor WHERE OLD.stamp_floor IS NOT NULL
    ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.companies_after_id_change() IS 'Keeps the last stamp of the id that a company had.';
CREATE TRIGGER companies_after_id_change AFTER UPDATE OF id ON leadtap.companies
  FOR EACH ROW WHEN (OLD.id IS DISTINCT FROM NEW.id) EXECUTE FUNCTION leadtap.companies_after_id_change();

CREATE FUNCTION leadtap.companies_before_truncate() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO leadtap.deleted_stamps (company_id, created_at)
    SELECT c.id, s.stamp FROM leadtap.companies AS c, leadtap.last_stamp(c.id) AS s (stamp) WHERE s.stamp IS NOT NULL
    ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.companies_before_truncate() IS 'Keeps the last stamps of all companies.';
CREATE TRIGGER companies_before_truncate BEFORE TRUNCATE ON leadtap.companies
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.companies_before_truncate();

-- They run with the rights of the owner, so no other role may put them on a table of its own.
REVOKE EXECUTE ON FUNCTION leadtap.leads_before_update(), leadtap.leads_after_delete(),
  leadtap.leads_before_truncate(), leadtap.companies_after_delete(), leadtap.companies_after_id_change(),
  leadtap.companies_before_truncate() FROM PUBLIC;

-- Writing the change log ----------------------------------------------------------------------------------------------

-- Once for each transaction, however many rows it changes.
CREATE FUNCTION leadtap.log_change(kind text, id text) RETURNS void LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  INSERT INTO leadtap.changes (kind, id) SELECT log_change.kind, log_change.id
   WHERE NOT EXISTS (SELECT FROM leadtap.changes AS c
                      WHERE c.xid = pg_current_xact_id() AND c.server = pg_postmaster_start_time()
                        AND c.kind = log_change.kind AND c.id = log_change.id);
END;
COMMENT ON FUNCTION leadtap.log_change(text, text) IS 'Adds an entry to the change log, unless this transaction has added it before.';

-- A transaction that adds leads updates the row of the company, once (leadtap.leads_before_insert).
CREATE FUNCTION leadtap.log_change_leads_appended() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO leadtap.changes (kind, id) VALUES ('leads-appended', NEW.id);
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.log_change_leads_appended() IS 'Logs that a company has new leads.';
CREATE TRIGGER log_change_leads_appended AFTER UPDATE OF last_writer ON leadtap.companies
  FOR EACH ROW EXECUTE FUNCTION leadtap.log_change_leads_appended();

CREATE FUNCTION leadtap.log_change_leads() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM leadtap.log_change('company', l.company_id) FROM (SELECT DISTINCT o.company_id FROM old_leads AS o) AS l;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.log_change_leads() IS 'Logs the companies whose leads were updated or deleted.';
CREATE TRIGGER log_change_updated AFTER UPDATE ON leadtap.leads REFERENCING OLD TABLE AS old_leads
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.log_change_leads();
CREATE TRIGGER log_change_deleted AFTER DELETE ON leadtap.leads REFERENCING OLD TABLE AS old_leads
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.log_change_leads();

CREATE FUNCTION leadtap.log_change_company() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM leadtap.log_change('company', to_jsonb(OLD) ->> TG_ARGV[0]);
  PERFORM leadtap.log_change('company', to_jsonb(NEW) ->> TG_ARGV[0]);
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.log_change_company() IS 'Logs the company whose name, or the name of whose branch, department or status, was changed. Its argument is the column that contains the company.';
CREATE TRIGGER log_change_company AFTER UPDATE OF id, name ON leadtap.companies FOR EACH ROW EXECUTE FUNCTION leadtap.log_change_company('id');
CREATE TRIGGER log_change_company AFTER UPDATE ON leadtap.statuses FOR EACH ROW EXECUTE FUNCTION leadtap.log_change_company('company_id');
CREATE TRIGGER log_change_company AFTER UPDATE ON leadtap.branches FOR EACH ROW EXECUTE FUNCTION leadtap.log_change_company('company_id');
CREATE TRIGGER log_change_company AFTER UPDATE ON leadtap.departments FOR EACH ROW EXECUTE FUNCTION leadtap.log_change_company('company_id');

CREATE FUNCTION leadtap.log_change_user() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO leadtap.changes (kind, id) VALUES ('user', OLD.id);
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.log_change_user() IS 'Logs a user who was changed or removed.';
CREATE TRIGGER log_change_user AFTER UPDATE OR DELETE ON leadtap.users FOR EACH ROW EXECUTE FUNCTION leadtap.log_change_user();

CREATE FUNCTION leadtap.log_change_token() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO leadtap.changes (kind, id) VALUES ('token', NEW.token_id);
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.log_change_token() IS 'Logs a token that was revoked.';
CREATE TRIGGER log_change_token AFTER INSERT OR UPDATE ON leadtap.revoked_tokens FOR EACH ROW EXECUTE FUNCTION leadtap.log_change_token();

CREATE FUNCTION leadtap.log_change_all() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM leadtap.log_change('all', '');
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.log_change_all() IS 'Logs that a table was truncated.';
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
COMMENT ON FUNCTION leadtap.log_change_replicated() IS 'Logs the company of a lead that replication has added, changed or deleted.';
CREATE TRIGGER log_change_replicated AFTER INSERT OR UPDATE OR DELETE ON leadtap.leads
  FOR EACH ROW EXECUTE FUNCTION leadtap.log_change_replicated();
ALTER TABLE leadtap.leads ENABLE REPLICA TRIGGER log_change_replicated, ENABLE ALWAYS TRIGGER log_change_all;
ALTER TABLE leadtap.companies ENABLE ALWAYS TRIGGER log_change_leads_appended, ENABLE ALWAYS TRIGGER log_change_company;
ALTER TABLE leadtap.statuses ENABLE ALWAYS TRIGGER log_change_company;
ALTER TABLE leadtap.branches ENABLE ALWAYS TRIGGER log_change_company;
ALTER TABLE leadtap.departments ENABLE ALWAYS TRIGGER log_change_company;
ALTER TABLE leadtap.users ENABLE ALWAYS TRIGGER log_change_user, ENABLE ALWAYS TRIGGER log_change_all;
ALTER TABLE leadtap.revoked_tokens ENABLE ALWAYS TRIGGER log_change_token;

-- Called every few minutes, and when leadtap.revalidate could not say what has changed. Runs with the rights of the owner: no other
-- role can delete an entry.
CREATE FUNCTION leadtap.prune_changes() RETURNS void LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  prune_below xid8;
BEGIN
  INSERT INTO leadtap.server_epoch DEFAULT VALUES ON CONFLICT DO NOTHING;
  SELECT s.next_pruned_below INTO prune_below FROM leadtap.change_log_state AS s
   WHERE s.next_set_at < clock_timestamp() - interval '5 minutes' FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  -- After a restore, the entries and the state may be those of another server, whose transactions had other ids.
  prune_below := least(prune_below, pg_snapshot_xmin(pg_current_snapshot()));
  DELETE FROM leadtap.changes AS c WHERE c.xid < prune_below;
  DELETE FROM leadtap.changes AS c WHERE c.xid >= pg_snapshot_xmax(pg_current_snapshot());
  -- Of the stamps of deleted leads, only the latest of each company is needed.
  DELETE FROM leadtap.deleted_stamps AS d
   WHERE EXISTS (SELECT FROM leadtap.deleted_stamps AS later WHERE later.company_id = d.company_id AND later.created_at > d.created_at);
  UPDATE leadtap.change_log_state
     SET pruned_below = prune_below, next_pruned_below = pg_snapshot_xmin(pg_current_snapshot()), next_set_at = clock_timestamp();
END $$;
COMMENT ON FUNCTION leadtap.prune_changes() IS 'Deletes the entries of leadtap.changes that are older than five minutes, and starts a new epoch after a crash.';

REVOKE EXECUTE ON FUNCTION leadtap.log_change(text, text), leadtap.log_change_leads_appended(), leadtap.log_change_leads(),
  leadtap.log_change_company(), leadtap.log_change_user(), leadtap.log_change_token(), leadtap.log_change_all(),
  leadtap.log_change_replicated(), leadtap.prune_changes() FROM PUBLIC;

-- Changes of accounts -------------------------------------------------------------------------------------------------

-- A request that sends leads checks its account and commits; no change of the account may be committed in between. So the request
-- locks its user and its token in shared mode before the check, and the triggers lock the users and the tokens that a statement has
-- changed, exclusively. The second of the two waits until the first has committed. Users and tokens have locks of their own, so that
-- no revocation waits for a long transaction that changes users.

-- 1,024 locks for all ids of a kind: a transaction that changes more users than the server has locks must not fail. Ids that share a
-- lock wait for each other; nothing else happens.
CREATE FUNCTION leadtap.account_lock(id text) RETURNS integer LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN hashtext(id) & 1023;
COMMENT ON FUNCTION leadtap.account_lock(text) IS 'The second key of the advisory lock of a user or a token; the first is leadtap.lock_class() + 1 for users, + 2 for tokens.';

CREATE FUNCTION leadtap.lock_changed_accounts(kind integer, ids text[]) RETURNS void LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  lock_key integer;
BEGIN
  FOR lock_key IN SELECT DISTINCT leadtap.account_lock(id) FROM unnest(ids) AS id ORDER BY 1 LOOP
    PERFORM pg_advisory_xact_lock(leadtap.lock_class() + kind, lock_key);
  END LOOP;
END $$;
COMMENT ON FUNCTION leadtap.lock_changed_accounts(integer, text[]) IS 'Takes the locks of users (kind 1) or tokens (kind 2) until the transaction ends, in the one order that avoids deadlocks.';

CREATE FUNCTION leadtap.lock_sender(user_id text, token_id text) RETURNS void LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(leadtap.lock_class() + 1, leadtap.account_lock(user_id));
  IF token_id IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock_shared(leadtap.lock_class() + 2, leadtap.account_lock(token_id));
  END IF;
END $$;
COMMENT ON FUNCTION leadtap.lock_sender(text, text) IS 'Until the transaction ends, no other one can commit a change of this user, or revoke this token.';

CREATE FUNCTION leadtap.lock_changed_users() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM leadtap.lock_changed_accounts(1, ARRAY(SELECT c.id FROM changed AS c));
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.lock_changed_users() IS 'Waits for the requests that send leads as one of these users.';
CREATE TRIGGER lock_changed_users AFTER UPDATE ON leadtap.users REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.lock_changed_users();
CREATE TRIGGER lock_removed_users AFTER DELETE ON leadtap.users REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.lock_changed_users();

CREATE FUNCTION leadtap.lock_revoked_tokens() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM leadtap.lock_changed_accounts(2, ARRAY(SELECT c.token_id FROM changed AS c));
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.lock_revoked_tokens() IS 'Waits for the requests that send leads with one of these tokens.';
CREATE TRIGGER lock_revoked_tokens AFTER INSERT ON leadtap.revoked_tokens REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.lock_revoked_tokens();

-- Polls ---------------------------------------------------------------------------------------------------------------

-- The two functions that polls call: leadtap.revalidate, once for all polls of one turn of the event loop, and leadtap.read_page.
--
-- Both read under the company's lock in shared mode. While it is held, no writer is between stamp and commit, so a lead that is not
-- in the page will be stamped after read_at (D3). That needs a snapshot that is younger than the lock: every statement of a volatile
-- function has its own snapshot in READ COMMITTED, and only there.
--
-- Their settings: all plans but index scans are off, because a table without statistics, after a bulk load for one, would be read
-- and sorted as a whole. plan_cache_mode: with sequential scans off, PostgreSQL estimates such high costs that it made a new plan
-- for every call, half of the time of a revalidation. A plan that is kept must also fit tables that grow, hence no hash or merge
-- joins. lock_timeout: the service gives up a query after 3 s, but a backend that waits for a table lock, of VACUUM FULL for one,
-- does not notice that, and such backends would use up the connections of the server.

-- STABLE: it reads in the snapshot of the calling statement.
CREATE FUNCTION leadtap.page_keys(company text, branch text, department text, since timestamptz, page_limit integer)
  RETURNS timestamptz[] LANGUAGE plpgsql STABLE AS $$
BEGIN
  -- Each is a range scan of one index.
  IF department IS NOT NULL THEN
    IF since IS NULL THEN
      RETURN ARRAY(SELECT l.created_at FROM leadtap.leads AS l
        WHERE l.company_id = company AND l.department_id = department
        ORDER BY l.created_at DESC LIMIT page_limit);
    END IF;
    RETURN ARRAY(SELECT l.created_at FROM leadtap.leads AS l
      WHERE l.company_id = company AND l.department_id = department AND l.created_at > since
      ORDER BY l.created_at LIMIT page_limit);
  ELSIF branch IS NOT NULL THEN
    IF since IS NULL THEN
      RETURN ARRAY(SELECT l.created_at FROM leadtap.leads AS l
        WHERE l.company_id = company AND l.branch_id = branch
        ORDER BY l.created_at DESC LIMIT page_limit);
    END IF;
    RETURN ARRAY(SELECT l.created_at FROM leadtap.leads AS l
      WHERE l.company_id = company AND l.branch_id = branch AND l.created_at > since
      ORDER BY l.created_at LIMIT page_limit);
  ELSIF since IS NULL THEN
    RETURN ARRAY(SELECT l.created_at FROM leadtap.leads AS l
      WHERE l.company_id = company
      ORDER BY l.created_at DESC LIMIT page_limit);
  END IF;
  RETURN ARRAY(SELECT l.created_at FROM leadtap.leads AS l
    WHERE l.company_id = company AND l.created_at > since
    ORDER BY l.created_at LIMIT page_limit);
END $$;
COMMENT ON FUNCTION leadtap.page_keys(text, text, text, timestamptz, integer) IS 'The created_at of the leads of a page, in its order.';

-- users and tokens are parallel arrays; a token may be null. busy: the companies whose lock is not free at once.
-- An instance passes as known the seen of its last call, and gets the changes since then, as 'kind id'. changed is null when
-- anything may have changed: known is null or of another epoch of the server, or the log is pruned beyond it.
CREATE FUNCTION leadtap.revalidate(
  companies text[], users text[], tokens text[], known text,
  OUT read_at bigint, OUT busy text[], OUT accounts json, OUT seen text, OUT changed text[]
) LANGUAGE plpgsql VOLATILE
  SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
  SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off SET lock_timeout = '5s' AS $$
DECLARE
  epoch text;
  user_companies text[];
  before pg_snapshot;
  after_xid xid8;
  open_xids xid8[];
  max_changes constant integer := 1000;
BEGIN
  IF pg_is_in_recovery() THEN
    RAISE read_only_sql_transaction USING MESSAGE = 'this is a standby, whose locks say nothing about the writers of its primary';
  END IF;
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE invalid_transaction_state USING MESSAGE = 'polls need the isolation level READ COMMITTED',
      HINT = 'Set default_transaction_isolation to it for the role that polls.';
  END IF;
  IF cardinality(users) > 0 THEN
    SELECT json_agg(json_build_object(
             'isRevoked', EXISTS (SELECT FROM leadtap.revoked_tokens AS r WHERE r.token_id = bearer.token_id),
             'user', CASE WHEN u.id IS NOT NULL THEN json_build_object(
               'id', u.id, 'companyId', u.company_id, 'email', u.email, 'name', u.name, 'plan', u.plan,
               'accessLevel', u.access_level, 'branchId', u.branch_id, 'departmentId', u.department_id) END)
             ORDER BY bearer.ordinality),
           array_agg(u.company_id)
      INTO accounts, user_companies
      FROM unnest(users, tokens) WITH ORDINALITY AS bearer (user_id, token_id, ordinality)
      LEFT JOIN leadtap.users AS u ON u.id = bearer.user_id;
  END IF;
  busy := ARRAY(SELECT company FROM unnest(companies || user_companies) AS company
                 WHERE NOT pg_try_advisory_xact_lock_shared(leadtap.lock_class(), leadtap.company_lock(company)));
  read_at := leadtap.clock_ms();

  -- The start of the server differs where the row was restored; the file of the log, in a copied database or a new table.
  SELECT e.id || '/' || extract(epoch FROM pg_postmaster_start_time()) || '/' || pg_relation_filepath('leadtap.changes') || '/'
    INTO epoch FROM leadtap.server_epoch AS e;
  IF starts_with(known, epoch) THEN
    before := substr(known, length(epoch) + 1)::pg_snapshot;
    after_xid := pg_snapshot_xmax(before);
    open_xids := ARRAY(SELECT pg_snapshot_xip(before));
  END IF;
  -- One statement, hence one snapshot. Transactions that the snapshot before did not see were open then, or began later.
  SELECT coalesce(epoch, '') || pg_current_snapshot(),
         CASE WHEN s.pruned_below <= pg_snapshot_xmin(before) THEN ARRAY(
           SELECT c.kind || ' ' || c.id FROM leadtap.changes AS c WHERE c.xid >= after_xid
           UNION ALL
           SELECT c.kind || ' ' || c.id FROM leadtap.changes AS c WHERE c.xid = ANY (open_xids)
           LIMIT max_changes + 1)
         END
    INTO seen, changed FROM leadtap.change_log_state AS s;
  IF cardinality(changed) > max_changes OR 'all ' = ANY (changed) THEN
    changed := NULL;
  END IF;
END $$;
COMMENT ON FUNCTION leadtap.revalidate(text[], text[], text[], text) IS 'What the polls of one turn need: their users, the moment, under the locks of their companies, and the changes since the last revalidation.';
