-- As in 0006_erased_leads.sql, and history cannot push the stamps ahead of the clock.
CREATE OR REPLACE FUNCTION leadtap.leads_before_insert() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  writer xid8;
  writer_server timestamptz;
  last timestamptz;
  is_known boolean;
  now_ms bigint;
  department text;
  -- Whether the company has erased leads at all. Nearly none has, and then the id is not hashed.
  has_erased boolean;
  hash text COLLATE "C";
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
                    ORDER BY l.id LIMIT 1),
         (SELECT true FROM leadtap.erased_leads AS e WHERE e.company_id = c.id ORDER BY e.id_hash LIMIT 1)
    INTO writer, writer_server, last, is_known, has_erased FROM leadtap.companies AS c WHERE c.id = NEW.company_id;
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

  -- Searched for in the order of the index, like the id above.
  IF has_erased AND NEW.id IS NOT NULL AND history IS DISTINCT FROM 'moved' THEN
    hash := encode(sha256(convert_to(NEW.id, 'UTF8')), 'hex');
    IF hash = (SELECT e.id_hash FROM leadtap.erased_leads AS e
                   WHERE e.company_id = NEW.company_id AND e.id_hash >= hash
                   ORDER BY e.id_hash LIMIT 1) THEN
      RAISE EXCEPTION USING
        ERRCODE = 'LT002',
        MESSAGE = format('lead %L of company %L was erased', NEW.id, NEW.company_id),
        DETAIL = 'The id of a lead that was erased with `leadtap leads erase` is not accepted again.',
        HINT = 'Use another id, or add the lead with `leadtap leads import --allow-erased`.',
        SCHEMA = 'leadtap', TABLE = 'leads', COLUMN = 'id';
    END IF;
  END IF;

  now_ms := leadtap.clock_ms();
  IF history IN ('on', 'moved') AND NEW.created_at IS NOT NULL THEN
    NEW.created_at := leadtap.free_time(NEW.company_id, NEW.created_at);
    -- All later leads have to follow it. The limit is the clock: if it were the last stamp, each row could go a minute further. A
    -- move has raised the last stamp before, and copies stamps that are ahead of the clock.
    IF leadtap.to_ms(NEW.created_at) > greatest(now_ms + 60000, CASE history WHEN 'moved' THEN leadtap.to_ms(last) END) THEN
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

-- Tokens that may only send leads are no consumers.
DELETE FROM leadtap.consumers WHERE token_id IN (SELECT id FROM leadtap.issued_tokens WHERE scope = 'leads:write');

-- They stay, because instances of the version before write them during an upgrade.
COMMENT ON COLUMN leadtap.consumers.gap_after IS 'No longer used.';
COMMENT ON COLUMN leadtap.consumers.gap_before IS 'No longer used.';
