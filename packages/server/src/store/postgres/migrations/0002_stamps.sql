-- Stamps: how every lead gets its created_at, whichever program, function or role inserts it.

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

-- D1, D2, D3: the stamp is taken under the company's lock, which is held until the transaction ends. The trigger keeps no state
-- between rows: a session could change that state and so choose its stamps.
CREATE FUNCTION leadtap.leads_before_insert() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  writer xid8;
  writer_server timestamptz;
  last timestamptz;
  is_known boolean;
  now_ms bigint;
  department text;
  -- 'on' keeps the created_at of the row; 'moved', for `leadtap migrate --from`, also its other times and its trigger id.
  history text := current_setting('leadtap.historical', true);
BEGIN
  PERFORM pg_advisory_xact_lock(leadtap.lock_class(), leadtap.company_lock(NEW.company_id));
  -- The id is searched for in the order of the index: otherwise, a plan that was made while the table was empty reads all leads of
  -- the company.
  SELECT c.last_writer, c.last_writer_server,
         greatest(c.stamp_floor,
                  (SELECT l.created_at FROM leadtap.leads AS l WHERE l.company_id = c.id ORDER BY l.created_at DESC LIMIT 1),
                  (SELECT d.created_at FROM leadtap.deleted_stamps AS d WHERE d.company_id = c.id ORDER BY d.created_at DESC LIMIT 1)),
         NEW.id = (SELECT l.id FROM leadtap.leads AS l WHERE l.company_id = NEW.company_id AND l.id >= NEW.id
                    ORDER BY l.id LIMIT 1)
    INTO writer, writer_server, last, is_known FROM leadtap.companies AS c WHERE c.id = NEW.company_id;
  IF NOT FOUND THEN
    RAISE foreign_key_violation USING
      MESSAGE = format('there is no company %L', NEW.company_id),
      HINT = 'Add the company first, with `leadtap org apply` for one.',
      SCHEMA = 'leadtap', TABLE = 'leads', COLUMN = 'company_id';
  END IF;
  -- Once in a transaction. With a snapshot that is older than the last lead this fails (40001), as it must: the transaction cannot
  -- see the stamp that its own must follow. The start of the server is compared too: a restored dump contains transaction ids that
  -- the new server assigns again.
  IF writer IS DISTINCT FROM pg_current_xact_id() OR writer_server IS DISTINCT FROM pg_postmaster_start_time() THEN
    UPDATE leadtap.companies SET last_writer = pg_current_xact_id(), last_writer_server = pg_postmaster_start_time()
     WHERE id = NEW.company_id;
  END IF;

  IF NEW.department_id IS NOT NULL AND NEW.branch_id IS NULL THEN
    NEW.branch_id := leadtap.branch_of(NEW.company_id, NEW.department_id);
  END IF;

  -- D5: the same id again is an update. Columns that are null in the new row keep their values.
  IF is_known THEN
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
      -- A lead that moves to another branch leaves its department; this row names both.
      IF NEW.department_id <> coalesce(department, '') THEN
        RAISE foreign_key_violation USING
          MESSAGE = format('department %L is not one of branch %L', NEW.department_id, NEW.branch_id),
          SCHEMA = 'leadtap', TABLE = 'leads', COLUMN = 'department_id';
      END IF;
      RETURN NULL;
    END IF;
    -- Nothing was updated. Either another transaction has deleted the lead meanwhile, and this one adds it again; or a trigger of
    -- the operator's has suppressed the update, and the lead still exists.
    IF NEW.id = (SELECT l.id FROM leadtap.leads AS l WHERE l.company_id = NEW.company_id AND l.id >= NEW.id
                  ORDER BY l.id LIMIT 1) THEN
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
    -- A cache of the company's leads is extended at its end only.
    IF NEW.created_at < last THEN
      PERFORM leadtap.log_change('company', NEW.company_id);
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
COMMENT ON FUNCTION leadtap.leads_before_insert() IS 'Stamps a new lead under the lock of its company, and supplies the values that its writer left out.';
-- PostgreSQL fires triggers in the order of their names, and ~ sorts after all letters: the row that an operator's own triggers
-- produce is the row that is stamped.
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
REVOKE EXECUTE ON FUNCTION leadtap.leads_before_insert(), leadtap.leads_before_update(), leadtap.leads_after_delete(),
  leadtap.leads_before_truncate(), leadtap.companies_after_delete(), leadtap.companies_after_id_change(),
  leadtap.companies_before_truncate() FROM PUBLIC;
