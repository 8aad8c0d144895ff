-- PostgreSQL 14 or later. Identifiers are the operator's own; times are kept in whole milliseconds.
-- Whatever program writes a row, the constraints and triggers here keep the delivery contract (docs/delivery.md).

-- Times as the service counts them ----------------------------------------------------------------------------------

-- The one clock that stamps: an instance's own may differ from another's.
CREATE FUNCTION leadtap.clock_ms() RETURNS bigint LANGUAGE sql VOLATILE
  RETURN floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint;
COMMENT ON FUNCTION leadtap.clock_ms() IS 'The time now, in milliseconds since 1970.';

CREATE FUNCTION leadtap.to_ms(at timestamptz) RETURNS bigint LANGUAGE sql STABLE STRICT PARALLEL SAFE
  RETURN (extract(epoch FROM at) * 1000)::bigint;
COMMENT ON FUNCTION leadtap.to_ms(timestamptz) IS 'Milliseconds since 1970.';

-- In two steps, because a number of milliseconds times an interval is only exact for so long.
CREATE FUNCTION leadtap.from_ms(ms bigint) RETURNS timestamptz LANGUAGE sql STABLE STRICT PARALLEL SAFE
  RETURN timestamptz 'epoch' + (ms / 1000) * interval '1 second' + (ms % 1000) * interval '1 millisecond';
COMMENT ON FUNCTION leadtap.from_ms(bigint) IS 'The time that is so many milliseconds after 1970 began.';

-- Tables ------------------------------------------------------------------------------------------------------------

-- Sorted by their bytes, whatever the language of the database: users are listed in the same order everywhere, straight
-- from the index, and an upgrade of the system's language rules cannot spoil an index. Ids are plain texts and no domains:
-- for a domain, an operator in another schema may fit better than that of text, and whoever may make operators would then
-- run code with the rights of whoever compares ids.

-- No 'infinity', and no year that ISO 8601 would write with more or less than four digits; its year 0 is 1 BC here.
CREATE DOMAIN leadtap.moment AS timestamptz(3)
  CHECK (VALUE >= '0001-01-01 00:00:00+00 BC' AND VALUE < '10000-01-01 00:00:00+00');
COMMENT ON DOMAIN leadtap.moment IS 'A point in time, in whole milliseconds.';

CREATE FUNCTION leadtap.are_images(images text[]) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN array_ndims(images) = 1 AND cardinality(images) <= 50
    AND (SELECT bool_and(image IS NOT NULL AND char_length(image) <= 10000) FROM unnest(images) AS image);
COMMENT ON FUNCTION leadtap.are_images(text[]) IS 'At most 50, of at most 10,000 characters each.';

-- Half empty pages, so that the row that every writing transaction changes stays where the index finds it.
CREATE TABLE leadtap.companies (
  id          text COLLATE "C" PRIMARY KEY CHECK (char_length(id) BETWEEN 1 AND 200),
  name        text NOT NULL CHECK (name <> ''),
  stamp_floor leadtap.moment,
  last_writer xid8
) WITH (fillfactor = 50);
COMMENT ON TABLE leadtap.companies IS 'Who the leads belong to. Nobody sees the leads of another company.';
COMMENT ON COLUMN leadtap.companies.id IS 'The operator''s own id.';
COMMENT ON COLUMN leadtap.companies.name IS 'As automations see it: companyName.';
COMMENT ON COLUMN leadtap.companies.stamp_floor IS 'New leads are stamped after this, whatever the clock says: the newest created_at of leads that were deleted, or that another database gave.';
COMMENT ON COLUMN leadtap.companies.last_writer IS 'The transaction that last added a lead. A transaction with an older snapshot cannot stamp, and must be tried again.';

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
COMMENT ON COLUMN leadtap.branches.name IS 'As automations see it: branchName.';

CREATE TABLE leadtap.departments (
  company_id text COLLATE "C" NOT NULL,
  id         text COLLATE "C" NOT NULL CHECK (char_length(id) BETWEEN 1 AND 200),
  branch_id  text COLLATE "C" NOT NULL,
  name       text NOT NULL CHECK (name <> ''),
  PRIMARY KEY (company_id, id),
  -- What leads refer to, so that a lead's department is one of its branch.
  UNIQUE (company_id, branch_id, id),
  FOREIGN KEY (company_id, branch_id) REFERENCES leadtap.branches (company_id, id)
);
COMMENT ON TABLE leadtap.departments IS 'Parts of a branch. Ids are unique in their company.';
COMMENT ON COLUMN leadtap.departments.name IS 'As automations see it: departmentName.';

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
COMMENT ON TABLE leadtap.users IS 'Who may poll. The subject of a token is the id of a user.';
COMMENT ON COLUMN leadtap.users.plan IS 'PROFESSIONAL may poll; any other upper-case word may not.';
COMMENT ON COLUMN leadtap.users.access_level IS 'COMPANY sees all leads of the company, BRANCH those of the branch, DEPARTMENT those of the department.';

CREATE TABLE leadtap.issued_tokens (
  id         text COLLATE "C" PRIMARY KEY,
  user_id    text COLLATE "C" NOT NULL,
  name       text,
  issued_at  leadtap.moment NOT NULL,
  expires_at leadtap.moment NOT NULL
);
COMMENT ON TABLE leadtap.issued_tokens IS 'What `leadtap token issue` made, without the tokens themselves. A token may be issued for a user who does not exist yet, and outlives one who is removed.';
CREATE INDEX issued_tokens_by_user ON leadtap.issued_tokens (user_id, issued_at);

CREATE TABLE leadtap.revoked_tokens (
  token_id   text COLLATE "C" PRIMARY KEY,
  revoked_at leadtap.moment NOT NULL
);
COMMENT ON TABLE leadtap.revoked_tokens IS 'Tokens that are refused although they have not expired. A row counts from the next request on.';

-- The limits are those of `leadtap leads import`, or wider. One lead that is too large, or nested too deeply to be rendered, would
-- stop every poll that comes upon it; and a number that is too large for JavaScript would be delivered as null.
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
                          AND octet_length(custom_fields::text) <= 65536
                          AND NOT jsonb_path_exists(custom_fields, '$.**{101}')
                          AND NOT jsonb_path_exists(custom_fields, '$.** ? (@ > 1.7976931348623157e308 || @ < -1.7976931348623157e308)')),
  images                text[] NOT NULL CHECK (images = '{}' OR leadtap.are_images(images)),
  same_day              boolean NOT NULL,
  updated_at            leadtap.moment NOT NULL,
  automation_trigger_id text NOT NULL CHECK (char_length(automation_trigger_id) BETWEEN 1 AND 64),
  automation_created_at leadtap.moment NOT NULL,
  -- D1. A page of a company's leads is a run of neighbouring entries of this index.
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

COMMENT ON TABLE leadtap.leads IS 'The leads. INSERT with a company_id and whatever is known; triggers supply the rest.';
COMMENT ON COLUMN leadtap.leads.id IS 'Your own id, unique in the company; made when left out. An INSERT with an id that is there already updates that lead.';
COMMENT ON COLUMN leadtap.leads.created_at IS 'Given by the database, unique and rising within a company. Never changes. Kept as given only where leadtap.historical is on.';
COMMENT ON COLUMN leadtap.leads.branch_id IS 'Taken from the department when left out.';
COMMENT ON COLUMN leadtap.leads.full_name IS 'Where it is null, answers show the first and the last name.';
COMMENT ON COLUMN leadtap.leads.timeslot IS 'HH:MM.';
COMMENT ON COLUMN leadtap.leads.status_value IS 'One of the company''s statuses; NEW, or else the first one, when left out.';
COMMENT ON COLUMN leadtap.leads.custom_fields IS 'A JSON object.';
COMMENT ON COLUMN leadtap.leads.images IS 'Web addresses.';
COMMENT ON COLUMN leadtap.leads.updated_at IS 'Set by the database with every change.';
COMMENT ON COLUMN leadtap.leads.automation_trigger_id IS 'What automations tell leads apart by. Never changes.';
COMMENT ON COLUMN leadtap.leads.automation_created_at IS 'When the lead was taken in. Never changes.';

-- The lock of a company ---------------------------------------------------------------------------------------------

-- Two companies may share a lock by chance; they then wait for each other, and nothing else happens.
CREATE FUNCTION leadtap.company_lock(company text) RETURNS integer LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN hashtext(company);
COMMENT ON FUNCTION leadtap.company_lock(text) IS 'The second key of the advisory lock of a company; the first is that of leadtap.lock_class().';

CREATE FUNCTION leadtap.lock_class() RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN 1280587088; -- "LTAP"
COMMENT ON FUNCTION leadtap.lock_class() IS 'The first key of every advisory lock that Leadtap takes.';

CREATE FUNCTION leadtap.last_stamp(company text) RETURNS timestamptz LANGUAGE sql VOLATILE STRICT
BEGIN ATOMIC
  SELECT greatest(
    (SELECT c.stamp_floor FROM leadtap.companies AS c WHERE c.id = company),
    (SELECT l.created_at FROM leadtap.leads AS l WHERE l.company_id = company ORDER BY l.created_at DESC LIMIT 1));
END;
COMMENT ON FUNCTION leadtap.last_stamp(text) IS 'The newest created_at that was ever given in a company; null when there was none.';

-- What a writer needs not say ---------------------------------------------------------------------------------------

-- RFC 9562: sorts by time, so that new ids lie side by side in the index.
CREATE FUNCTION leadtap.uuid_v7(ms bigint) RETURNS text LANGUAGE sql VOLATILE STRICT
  RETURN encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid()) PLACING substring(int8send(ms) FROM 3) FROM 1 FOR 6), 52, 1), 53, 1), 'hex')::uuid::text;
COMMENT ON FUNCTION leadtap.uuid_v7(bigint) IS 'A new UUID of version 7 for a time in milliseconds since 1970.';

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
COMMENT ON FUNCTION leadtap.branch_of(text, text) IS 'The branch of a department, which must be there.';

-- The first millisecond from a wanted one on that no lead of the company has. Where the last search of this transaction
-- ended is remembered: history full of equal times would else search the same run again for each row.
CREATE FUNCTION leadtap.free_time(company text, wanted timestamptz) RETURNS timestamptz LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  key text := leadtap.to_ms(wanted) || ' ' || company;
  remembered text[] := string_to_array(current_setting('leadtap.free_time', true), E'\n');
  free timestamptz := wanted;
BEGIN
  -- The id of a company may have lines of its own.
  IF array_to_string(remembered[2:], E'\n') = key THEN
    free := leadtap.from_ms(remembered[1]::bigint + 1);
  END IF;
  -- With a limit and not with EXISTS, whose plan, if it was made while the table was empty, reads all leads of the company.
  WHILE free = (SELECT l.created_at FROM leadtap.leads AS l WHERE l.company_id = company AND l.created_at >= free
                 ORDER BY l.created_at LIMIT 1) LOOP
    free := free + interval '1 millisecond';
  END LOOP;
  PERFORM set_config('leadtap.free_time', leadtap.to_ms(free) || E'\n' || key, true);
  RETURN free;
END $$;
COMMENT ON FUNCTION leadtap.free_time(text, timestamptz) IS 'The first time from a wanted one on that no lead of the company has.';

-- Triggers ----------------------------------------------------------------------------------------------------------

-- D1, D2, D3: the stamp is taken under the company's lock, which is held until the transaction ends. Nothing is remembered
-- from row to row: whatever a trigger can remember, the session could set, and the stamps would be what it likes.
CREATE FUNCTION leadtap.take_in_lead() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  writer xid8;
  last timestamptz;
  now_ms bigint;
  department text;
  -- 'on' keeps the created_at that a row brings; 'moved', for `leadtap migrate --from`, all that identifies the lead.
  history text := current_setting('leadtap.historical', true);
BEGIN
  PERFORM pg_advisory_xact_lock(leadtap.lock_class(), leadtap.company_lock(NEW.company_id));
  SELECT c.last_writer,
         greatest(c.stamp_floor, (SELECT l.created_at FROM leadtap.leads AS l WHERE l.company_id = c.id
                                   ORDER BY l.created_at DESC LIMIT 1))
    INTO writer, last FROM leadtap.companies AS c WHERE c.id = NEW.company_id;
  IF NOT FOUND THEN
    RAISE foreign_key_violation USING
      MESSAGE = format('there is no company %L', NEW.company_id),
      HINT = 'Add the company first, with `leadtap org apply` for one.',
      SCHEMA = 'leadtap', TABLE = 'leads', COLUMN = 'company_id';
  END IF;
  -- Once in a transaction. In one whose snapshot is older than the last lead this fails (40001), and it must: it could
  -- not see the stamp that its own must follow.
  IF writer IS DISTINCT FROM pg_current_xact_id() THEN
    UPDATE leadtap.companies SET last_writer = pg_current_xact_id() WHERE id = NEW.company_id;
  END IF;

  IF NEW.department_id IS NOT NULL AND NEW.branch_id IS NULL THEN
    NEW.branch_id := leadtap.branch_of(NEW.company_id, NEW.department_id);
  END IF;

  -- D5: the same id again is an update. What is not given stays.
  IF NEW.id IS NOT NULL THEN
    UPDATE leadtap.leads AS l SET
      branch_id = coalesce(NEW.branch_id, l.branch_id),
      department_id = coalesce(NEW.department_id, l.department_id),
      first_name = coalesce(NEW.first_name, l.first_name),
      last_name = coalesce(NEW.last_name, l.last_name),
      full_name = coalesce(NEW.full_name, l.full_name),
      phone1 = coalesce(NEW.phone1, l.phone1),
      phone2 = coalesce(NEW.phone2, l.phone2),
      email = coalesce(NEW.email, l.email),
      address = coalesce(NEW.address, l.address),
      postal_code = coalesce(NEW.postal_code, l.postal_code),
      address_notes = coalesce(NEW.address_notes, l.address_notes),
      appointment_date_time = coalesce(NEW.appointment_date_time, l.appointment_date_time),
      timeslot = coalesce(NEW.timeslot, l.timeslot),
      status_value = coalesce(NEW.status_value, l.status_value),
      custom_fields = coalesce(NEW.custom_fields, l.custom_fields),
      images = coalesce(NEW.images, l.images),
      same_day = coalesce(NEW.same_day, l.same_day)
    WHERE l.company_id = NEW.company_id AND l.id = NEW.id
    RETURNING l.department_id INTO department;
    IF FOUND THEN
      -- It has left the department that it had for another branch, but was told to be in both.
      IF NEW.department_id <> coalesce(department, '') THEN
        RAISE foreign_key_violation USING
          MESSAGE = format('department %L is not one of branch %L', NEW.department_id, NEW.branch_id),
          SCHEMA = 'leadtap', TABLE = 'leads', COLUMN = 'department_id';
      END IF;
      RETURN NULL;
    END IF;
  END IF;

  now_ms := leadtap.clock_ms();
  IF history IN ('on', 'moved') AND NEW.created_at IS NOT NULL THEN
    NEW.created_at := leadtap.free_time(NEW.company_id, NEW.created_at);
    -- All later leads would have to follow it.
    IF leadtap.to_ms(NEW.created_at) > greatest(now_ms, leadtap.to_ms(last)) + 60000 THEN
      RAISE check_violation USING
        MESSAGE = format('%s lies in the future', NEW.created_at),
        HINT = 'History needs the time at which the lead was created.',
        SCHEMA = 'leadtap', TABLE = 'leads', COLUMN = 'created_at';
    END IF;
  ELSE
    history := NULL;
    now_ms := greatest(now_ms, leadtap.to_ms(last)) + 1;
    NEW.created_at := leadtap.from_ms(now_ms);
  END IF;
  IF history IS DISTINCT FROM 'moved' THEN
    NEW.updated_at := NEW.created_at;
    NEW.automation_created_at := leadtap.from_ms(now_ms);
    NEW.automation_trigger_id := leadtap.uuid_v7(now_ms);
  END IF;

  NEW.id := coalesce(NEW.id, leadtap.uuid_v7(now_ms));
  IF NEW.status_value IS NULL THEN
    SELECT s.value INTO NEW.status_value FROM leadtap.statuses AS s
     WHERE s.company_id = NEW.company_id ORDER BY s.value <> 'NEW', s.position LIMIT 1;
  END IF;
  NEW.custom_fields := coalesce(NEW.custom_fields, '{}');
  NEW.images := coalesce(NEW.images, '{}');
  NEW.same_day := coalesce(NEW.same_day, false);
  RETURN NEW;
END $$;
COMMENT ON FUNCTION leadtap.take_in_lead() IS 'Stamps a new lead under the lock of its company, and supplies what its writer left out.';
CREATE TRIGGER take_in BEFORE INSERT ON leadtap.leads FOR EACH ROW EXECUTE FUNCTION leadtap.take_in_lead();

-- D4: what identifies a lead to an automation never changes.
CREATE FUNCTION leadtap.change_lead() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF (NEW.company_id, NEW.id, NEW.created_at, NEW.automation_trigger_id, NEW.automation_created_at)
     IS DISTINCT FROM (OLD.company_id, OLD.id, OLD.created_at, OLD.automation_trigger_id, OLD.automation_created_at) THEN
    RAISE integrity_constraint_violation USING
      MESSAGE = 'company_id, id, created_at, automation_trigger_id and automation_created_at of a lead never change',
      SCHEMA = 'leadtap', TABLE = 'leads';
  END IF;
  -- The department says which branch it is; a lead that moves to another branch leaves the department it had.
  IF NEW.department_id IS DISTINCT FROM OLD.department_id THEN
    IF NEW.department_id IS NOT NULL AND NEW.branch_id IS NOT DISTINCT FROM OLD.branch_id THEN
      NEW.branch_id := leadtap.branch_of(NEW.company_id, NEW.department_id);
    END IF;
  ELSIF NEW.branch_id IS DISTINCT FROM OLD.branch_id THEN
    NEW.department_id := NULL;
  END IF;
  -- Stamps may run ahead of the clock; a lead is never older than its own creation.
  NEW.updated_at := greatest(leadtap.from_ms(leadtap.clock_ms()), OLD.updated_at, OLD.created_at);
  RETURN NEW;
END $$;
COMMENT ON FUNCTION leadtap.change_lead() IS 'Keeps what never changes, and moves updated_at.';
CREATE TRIGGER change BEFORE UPDATE ON leadtap.leads FOR EACH ROW EXECUTE FUNCTION leadtap.change_lead();

-- A stamp is never given again, also when the lead that had it is gone. While a newer lead is left, nothing needs to be
-- remembered. The rows are locked by then and the company is not yet: who adds leads takes them the other way round, and if
-- it is the same lead, PostgreSQL ends one of the two (40P01).
CREATE FUNCTION leadtap.remember_stamps() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  gone record;
BEGIN
  FOR gone IN
    SELECT d.company_id, max(d.created_at) AS newest FROM deleted AS d GROUP BY d.company_id
    HAVING max(d.created_at) > coalesce(leadtap.last_stamp(d.company_id), '-infinity')
     ORDER BY leadtap.company_lock(d.company_id)
  LOOP
    PERFORM pg_advisory_xact_lock(leadtap.lock_class(), leadtap.company_lock(gone.company_id));
    UPDATE leadtap.companies AS c SET stamp_floor = gone.newest
     WHERE c.id = gone.company_id AND (c.stamp_floor IS NULL OR c.stamp_floor < gone.newest);
  END LOOP;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.remember_stamps() IS 'Remembers the newest stamp among deleted leads.';
CREATE TRIGGER forget AFTER DELETE ON leadtap.leads REFERENCING OLD TABLE AS deleted
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.remember_stamps();

CREATE FUNCTION leadtap.remember_all_stamps() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE leadtap.companies AS c SET stamp_floor = leadtap.last_stamp(c.id);
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.remember_all_stamps() IS 'Remembers the newest stamp of every company.';
CREATE TRIGGER forget_all BEFORE TRUNCATE ON leadtap.leads
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.remember_all_stamps();

-- They work with the rights of the owner, so nobody else may put them on a table of their own.
REVOKE EXECUTE ON FUNCTION leadtap.take_in_lead(), leadtap.change_lead(), leadtap.remember_stamps(), leadtap.remember_all_stamps()
  FROM PUBLIC;

-- Polls -------------------------------------------------------------------------------------------------------------

-- One page, read under the company's lock in shared mode: while it is held, nobody stands between stamp and commit, so
-- whatever is not in the page will be stamped after read_at (D3). That needs a snapshot that is younger than the lock:
-- every statement of a volatile function has its own in READ COMMITTED, and only there.
--   wait_ms 0      takes the lock if it is free; else locked is false and leads is null
--   wait_ms > 0    waits for so long, then fails with 55P03
--   wait_ms null   does without: read_at is the last stamp, up to which the page is complete all the same
-- Other plans than index scans are switched off, because a table without statistics, after a bulk load for one, would
-- be read and sorted as a whole.
CREATE FUNCTION leadtap.read_page(
  company text, branch text, department text, since_ms bigint, page_limit integer, wait_ms integer,
  OUT read_at bigint, OUT locked boolean, OUT leads json
) LANGUAGE plpgsql VOLATILE
  SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
DECLARE
  since timestamptz := leadtap.from_ms(since_ms);
  page leadtap.leads[];
  rendered integer;
  company_name text;
BEGIN
  IF pg_is_in_recovery() THEN
    RAISE read_only_sql_transaction USING MESSAGE = 'this is a standby, whose locks say nothing about the writers of its primary';
  END IF;
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE invalid_transaction_state USING MESSAGE = 'polls need the isolation level READ COMMITTED',
      HINT = 'Set default_transaction_isolation to it for the role that polls.';
  END IF;
  IF wait_ms IS NULL THEN
    locked := false;
    read_at := least(leadtap.clock_ms(), coalesce(leadtap.to_ms(leadtap.last_stamp(company)), 0));
  ELSE
    IF wait_ms = 0 THEN
      locked := pg_try_advisory_xact_lock_shared(leadtap.lock_class(), leadtap.company_lock(company));
      IF NOT locked THEN
        RETURN;
      END IF;
    ELSE
      PERFORM set_config('lock_timeout', wait_ms::text, true);
      PERFORM pg_advisory_xact_lock_shared(leadtap.lock_class(), leadtap.company_lock(company));
      locked := true;
    END IF;
    read_at := leadtap.clock_ms();
  END IF;

  LOOP
    -- Each is a range scan of one index.
    IF department IS NOT NULL THEN
      IF since IS NULL THEN
        page := ARRAY(SELECT l FROM leadtap.leads AS l
          WHERE l.company_id = company AND l.department_id = department
          ORDER BY l.created_at DESC LIMIT page_limit);
      ELSE
        page := ARRAY(SELECT l FROM leadtap.leads AS l
          WHERE l.company_id = company AND l.department_id = department AND l.created_at > since
          ORDER BY l.created_at LIMIT page_limit);
      END IF;
    ELSIF branch IS NOT NULL THEN
      IF since IS NULL THEN
        page := ARRAY(SELECT l FROM leadtap.leads AS l
          WHERE l.company_id = company AND l.branch_id = branch
          ORDER BY l.created_at DESC LIMIT page_limit);
      ELSE
        page := ARRAY(SELECT l FROM leadtap.leads AS l
          WHERE l.company_id = company AND l.branch_id = branch AND l.created_at > since
          ORDER BY l.created_at LIMIT page_limit);
      END IF;
    ELSIF since IS NULL THEN
      page := ARRAY(SELECT l FROM leadtap.leads AS l
        WHERE l.company_id = company
        ORDER BY l.created_at DESC LIMIT page_limit);
    ELSE
      page := ARRAY(SELECT l FROM leadtap.leads AS l
        WHERE l.company_id = company AND l.created_at > since
        ORDER BY l.created_at LIMIT page_limit);
    END IF;

    IF cardinality(page) = 0 THEN
      leads := '[]';
      RETURN;
    END IF;
    -- With the names that places and statuses have now.
    SELECT c.name INTO company_name FROM leadtap.companies AS c WHERE c.id = company;
    SELECT json_agg(lead), count(*) INTO leads, rendered FROM (
      SELECT l.id, l.first_name, l.last_name, l.full_name, l.phone1, l.phone2, l.email, l.address, l.postal_code,
             l.address_notes, leadtap.to_ms(l.appointment_date_time) AS appointment_date_time, l.timeslot,
             l.status_value, s.label AS status_label, s.color AS status_color, s.final AS status_final,
             l.custom_fields, l.images, l.same_day, leadtap.to_ms(l.created_at) AS created_at,
             leadtap.to_ms(l.updated_at) AS updated_at, company_name, b.name AS branch_name,
             d.name AS department_name, l.automation_trigger_id,
             leadtap.to_ms(l.automation_created_at) AS automation_created_at
        FROM unnest(page) WITH ORDINALITY AS l
        JOIN leadtap.statuses AS s ON s.company_id = company AND s.value = l.status_value
        LEFT JOIN leadtap.branches AS b ON b.company_id = company AND b.id = l.branch_id
        LEFT JOIN leadtap.departments AS d ON d.company_id = company AND d.id = l.department_id
       ORDER BY l.ordinality
    ) AS lead;
    -- The names are of a younger snapshot than the leads. If a status is gone by now, its leads have another.
    EXIT WHEN rendered = cardinality(page);
  END LOOP;
END $$;
COMMENT ON FUNCTION leadtap.read_page(text, text, text, bigint, integer, integer) IS 'A page of the leads of a company, a branch or a department, under the lock of the company.';

-- All that a poll asks, in one round trip. Without page_limit, no page is read; if the lock of the company is not free at
-- once, leads is null.
CREATE FUNCTION leadtap.read_poll(
  user_id text, token_id text, since_ms bigint, page_limit integer,
  OUT revoked boolean, OUT account json, OUT read_at bigint, OUT locked boolean, OUT leads json
) LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  found_user leadtap.users;
BEGIN
  revoked := EXISTS (SELECT FROM leadtap.revoked_tokens AS r WHERE r.token_id = read_poll.token_id);
  SELECT * INTO found_user FROM leadtap.users AS u WHERE u.id = user_id;
  IF revoked OR NOT FOUND THEN
    RETURN;
  END IF;
  account := json_build_object(
    'id', found_user.id, 'companyId', found_user.company_id, 'email', found_user.email, 'name', found_user.name,
    'plan', found_user.plan, 'accessLevel', found_user.access_level, 'branchId', found_user.branch_id,
    'departmentId', found_user.department_id);
  -- Who sees what: a level reaches no further than its own place, and without one nowhere. The service asks for the page
  -- by the place that its own rule gives, and uses this one only if the two agree.
  IF page_limit IS NULL
     OR found_user.access_level = 'BRANCH' AND found_user.branch_id IS NULL
     OR found_user.access_level = 'DEPARTMENT' AND found_user.department_id IS NULL THEN
    RETURN;
  END IF;
  SELECT p.read_at, p.locked, p.leads INTO read_at, locked, leads FROM leadtap.read_page(
    found_user.company_id,
    CASE found_user.access_level WHEN 'BRANCH' THEN found_user.branch_id END,
    CASE found_user.access_level WHEN 'DEPARTMENT' THEN found_user.department_id END,
    since_ms, page_limit, 0) AS p;
END $$;
COMMENT ON FUNCTION leadtap.read_poll(text, text, bigint, integer) IS 'Whether a token is revoked, whose it is, and the page that its user may see.';
