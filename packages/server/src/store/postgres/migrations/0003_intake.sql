-- Leads come in faster: each by itself, as any program writes it, and many at once, as `leadtap leads import` does.

-- Limits ------------------------------------------------------------------------------------------------------------

-- They are what they were; small values are seen to be within them at a glance. A text of 200 bytes has no room for 101
-- levels, nor for a number of 309 digits.
ALTER TABLE leadtap.leads
  DROP CONSTRAINT leads_custom_fields_check,
  ADD CONSTRAINT leads_custom_fields_check CHECK (custom_fields = '{}' OR jsonb_typeof(custom_fields) = 'object'
    AND (octet_length(custom_fields::text) <= 200
      OR octet_length(custom_fields::text) <= 65536
      AND NOT jsonb_path_exists(custom_fields, '$.**{101}')
      AND NOT jsonb_path_exists(custom_fields, '$.** ? (@ > 1.7976931348623157e308 || @ < -1.7976931348623157e308)'))),
  DROP CONSTRAINT leads_images_check,
  ADD CONSTRAINT leads_images_check CHECK (images = '{}' OR array_ndims(images) = 1 AND cardinality(images) <= 50
    AND array_position(images, NULL) IS NULL
    AND (char_length(array_to_string(images, '')) <= 10000 OR leadtap.are_images(images)));

-- One by one --------------------------------------------------------------------------------------------------------

-- D1, D2, D3: the stamp is taken under the company's lock, which is held until the transaction ends. Nothing is remembered
-- from row to row: whatever a trigger can remember, the session could set, and the stamps would be what it likes.
CREATE OR REPLACE FUNCTION leadtap.take_in_lead() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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

  -- D5: the same id again is an update. What is not given stays. It is looked for in the order of the index: a plan that was
  -- made while the table was empty would else read all leads of the company.
  IF NEW.id IS NOT NULL AND NEW.id = (SELECT l.id FROM leadtap.leads AS l WHERE l.company_id = NEW.company_id AND l.id >= NEW.id
                                       ORDER BY l.id LIMIT 1) THEN
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
    -- It has left the department that it had for another branch, but was told to be in both.
    IF NEW.department_id <> coalesce(department, '') THEN
      RAISE foreign_key_violation USING
        MESSAGE = format('department %L is not one of branch %L', NEW.department_id, NEW.branch_id),
        SCHEMA = 'leadtap', TABLE = 'leads', COLUMN = 'department_id';
    END IF;
    RETURN NULL;
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
    -- Whoever remembers the leads of the company reads on at their end.
    IF NEW.created_at < last THEN
      PERFORM leadtap.note_change('company', NEW.company_id);
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

  IF NEW.id IS NULL THEN
    NEW.id := leadtap.uuid_v7(now_ms);
  END IF;
  IF NEW.status_value IS NULL THEN
    SELECT s.value INTO NEW.status_value FROM leadtap.statuses AS s
     WHERE s.company_id = NEW.company_id ORDER BY s.value <> 'NEW', s.position LIMIT 1;
  END IF;
  NEW.custom_fields := coalesce(NEW.custom_fields, '{}');
  NEW.images := coalesce(NEW.images, '{}');
  NEW.same_day := coalesce(NEW.same_day, false);
  RETURN NEW;
END $$;

-- Many at once ------------------------------------------------------------------------------------------------------

CREATE TYPE leadtap.place AS (company_id text, branch_id text, department_id text, status_value text);
COMMENT ON TYPE leadtap.place IS 'Where leads belong: what is null is not said.';

CREATE TYPE leadtap.new_lead AS (
  place integer, id text, created_at bigint, run integer,
  first_name text, last_name text, full_name text, phone1 text, phone2 text, email text, address text, postal_code text,
  address_notes text, appointment_date_time bigint, timeslot text, custom_fields jsonb, images text[], same_day boolean,
  updated_at bigint, automation_trigger_id text, automation_created_at bigint
);
COMMENT ON TYPE leadtap.new_lead IS 'A lead for leadtap.add_leads. Its place is the number of one, from 1. Times are milliseconds since 1970; history whose times follow each other without a gap is a run, and has the same number.';

-- The places that are there, with what they leave unsaid, and the last stamp of their company.
CREATE FUNCTION leadtap.known_places(places leadtap.place[])
  RETURNS TABLE (place bigint, company_id text, branch_id text, department_id text, status_value text, last_ms bigint)
  LANGUAGE sql STABLE
BEGIN ATOMIC
  SELECT p.ordinality, c.id, coalesce(p.branch_id, d.branch_id), p.department_id, s.value,
         leadtap.to_ms(greatest(c.stamp_floor,
           (SELECT l.created_at FROM leadtap.leads AS l WHERE l.company_id = c.id ORDER BY l.created_at DESC LIMIT 1)))
    FROM unnest(places) WITH ORDINALITY AS p
    JOIN leadtap.companies AS c ON c.id = p.company_id
    LEFT JOIN leadtap.branches AS b ON b.company_id = c.id AND b.id = p.branch_id
    LEFT JOIN leadtap.departments AS d ON d.company_id = c.id AND d.id = p.department_id
   CROSS JOIN LATERAL (
     SELECT s.value FROM leadtap.statuses AS s WHERE s.company_id = c.id AND s.value = coalesce(p.status_value, s.value)
      ORDER BY s.value <> 'NEW', s.position LIMIT 1) AS s
   WHERE (p.branch_id IS NULL OR b.id IS NOT NULL)
     AND (p.department_id IS NULL OR d.branch_id = coalesce(p.branch_id, d.branch_id));
END;
COMMENT ON FUNCTION leadtap.known_places(leadtap.place[]) IS 'Those of the places that are there, by their numbers.';

-- Does for a whole batch, in one statement, what leadtap.take_in_lead does for a row, and no more than the usual case: leads
-- whose place is not there, or whose id is there already, are left out; and so are runs of history with such a lead, or with a
-- time that another lead has. Their writer has to add or change them one by one. Gives those that were added, and how far
-- each is ahead of the clock.
CREATE FUNCTION leadtap.add_leads(places leadtap.place[], leads leadtap.new_lead[])
  RETURNS TABLE (company_id text, id text, created_at bigint, ahead_ms bigint)
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  history text := coalesce(current_setting('leadtap.historical', true), '');
  keeps_time boolean := history IN ('on', 'moved');
  unfit_runs integer[] := '{}';
  now_ms bigint;
BEGIN
  -- In the order in which everybody takes them who takes several.
  PERFORM pg_advisory_xact_lock(leadtap.lock_class(), key)
     FROM (SELECT DISTINCT leadtap.company_lock(p.company_id) AS key FROM unnest(places) AS p ORDER BY key) AS keys;
  -- As in leadtap.take_in_lead: who has an older snapshot than the last lead fails here.
  UPDATE leadtap.companies AS c SET last_writer = pg_current_xact_id()
   WHERE c.id IN (SELECT p.company_id FROM unnest(places) AS p) AND c.last_writer IS DISTINCT FROM pg_current_xact_id();
  now_ms := leadtap.clock_ms();
  -- For the foreign keys of each lead: a small table would be read from its beginning to its end.
  PERFORM set_config('enable_seqscan', 'off', true);

  -- What is looked for among the leads is looked for in the order of an index, here and below: a plan that was made while the
  -- table was empty would else read all leads of the company.
  IF keeps_time THEN
    PERFORM leadtap.note_change('company', c.id)
       FROM leadtap.companies AS c WHERE c.id IN (SELECT p.company_id FROM unnest(places) AS p);
    unfit_runs := ARRAY(
      SELECT l.run FROM unnest(leads) AS l LEFT JOIN leadtap.known_places(places) AS k ON k.place = l.place
       WHERE k.place IS NULL OR l.created_at > greatest(now_ms, k.last_ms) + 60000
          OR l.id = (SELECT o.id FROM leadtap.leads AS o WHERE o.company_id = k.company_id AND o.id >= l.id ORDER BY o.id LIMIT 1)
          OR l.created_at = (SELECT leadtap.to_ms(o.created_at) FROM leadtap.leads AS o
                              WHERE o.company_id = k.company_id AND o.created_at >= leadtap.from_ms(l.created_at)
                              ORDER BY o.created_at LIMIT 1));
  END IF;

  RETURN QUERY
  WITH stamped AS (
    SELECT l.*, k.company_id, k.branch_id, k.department_id, k.status_value,
           CASE WHEN keeps_time THEN l.created_at
                ELSE greatest(now_ms, k.last_ms) + row_number() OVER (PARTITION BY k.company_id ORDER BY l.ordinality) END AS stamp_ms
      FROM unnest(leads) WITH ORDINALITY AS l JOIN leadtap.known_places(places) AS k ON k.place = l.place
     WHERE CASE WHEN keeps_time THEN l.created_at IS NOT NULL AND l.run <> ALL (unfit_runs)
                ELSE (SELECT o.id FROM leadtap.leads AS o WHERE o.company_id = k.company_id AND o.id >= l.id ORDER BY o.id LIMIT 1)
                     IS DISTINCT FROM l.id END
  )
  INSERT INTO leadtap.leads AS l (company_id, id, created_at, branch_id, department_id, first_name, last_name, full_name, phone1,
      phone2, email, address, postal_code, address_notes, appointment_date_time, timeslot, status_value, custom_fields,
      images, same_day, updated_at, automation_trigger_id, automation_created_at)
    SELECT s.company_id, s.id, leadtap.from_ms(s.stamp_ms), s.branch_id, s.department_id, s.first_name, s.last_name, s.full_name, s.phone1,
           s.phone2, s.email, s.address, s.postal_code, s.address_notes, leadtap.from_ms(s.appointment_date_time), s.timeslot,
           s.status_value, coalesce(s.custom_fields, '{}'), coalesce(s.images, '{}'), coalesce(s.same_day, false),
           leadtap.from_ms(CASE history WHEN 'moved' THEN s.updated_at ELSE s.stamp_ms END), s.automation_trigger_id,
           leadtap.from_ms(CASE history WHEN 'moved' THEN s.automation_created_at WHEN 'on' THEN now_ms ELSE s.stamp_ms END)
      FROM stamped AS s
    RETURNING l.company_id, l.id, leadtap.to_ms(l.created_at), leadtap.to_ms(l.created_at) - now_ms;
END $$;
COMMENT ON FUNCTION leadtap.add_leads(leadtap.place[], leadtap.new_lead[]) IS 'Stamps and adds many new leads under the locks of their companies, and gives those that it has added.';
REVOKE EXECUTE ON FUNCTION leadtap.add_leads(leadtap.place[], leadtap.new_lead[]) FROM PUBLIC;

-- The rows of leadtap.add_leads have their stamps. Nobody else can be taken for it: inside a function with the rights of the owner
-- the current user is the owner, while whoever logs in as the owner is it by session, and whoever has become it by SET ROLE, by role. A
-- setting would do for neither, since any session can set it. Where the owner is another role, every row is stamped by itself.
DROP TRIGGER take_in ON leadtap.leads;
CREATE TRIGGER take_in BEFORE INSERT ON leadtap.leads FOR EACH ROW
  WHEN (current_user <> 'leadtap_owner' OR session_user = 'leadtap_owner' OR current_setting('role') = 'leadtap_owner')
  EXECUTE FUNCTION leadtap.take_in_lead();
