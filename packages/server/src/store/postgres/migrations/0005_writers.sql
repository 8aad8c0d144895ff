-- Every lead is inserted through the trigger leadtap.leads_before_insert, whichever program, function or role inserts it.

-- One way in ----------------------------------------------------------------------------------------------------------

-- The second way in, with its own locks and its exception in the trigger, was removed: `leadtap leads import` inserts like any program.
DROP TRIGGER take_in ON leadtap.leads;
DROP FUNCTION leadtap.add_leads(leadtap.place[], leadtap.new_lead[]);
DROP FUNCTION leadtap.known_places(leadtap.place[]);
DROP TYPE leadtap.new_lead;
DROP TYPE leadtap.place;
DROP FUNCTION leadtap.take_in_lead();
DROP FUNCTION leadtap.read_poll(text, text, bigint, integer);

-- The lock order ------------------------------------------------------------------------------------------------------

CREATE FUNCTION leadtap.lock_companies(companies text[]) RETURNS void LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  company text;
BEGIN
  FOR company IN SELECT DISTINCT c COLLATE "C" FROM unnest(companies) AS c ORDER BY 1 LOOP
    PERFORM pg_advisory_xact_lock(leadtap.lock_class(), leadtap.company_lock(company));
  END LOOP;
END $$;
COMMENT ON FUNCTION leadtap.lock_companies(text[]) IS 'Takes the locks of companies until the transaction ends, in the one order that avoids deadlocks: that of company_id, byte by byte.';

-- Transaction ids -----------------------------------------------------------------------------------------------------

-- A dump brings transaction ids along, and a server that restores it gives the same ids again. The start of the server tells
-- the two apart: an id recurs in no single run of a server.
ALTER TABLE leadtap.companies ADD COLUMN last_writer_server timestamptz;
COMMENT ON COLUMN leadtap.companies.last_writer IS 'The transaction that last added a lead. A transaction with an older snapshot cannot stamp, and must be retried.';
COMMENT ON COLUMN leadtap.companies.last_writer_server IS 'When the server of that transaction started: a restored dump may hold ids that the new server gives again.';

ALTER TABLE leadtap.changes ADD COLUMN server timestamptz NOT NULL DEFAULT pg_postmaster_start_time();
COMMENT ON COLUMN leadtap.changes.server IS 'When the server of the transaction started.';

CREATE OR REPLACE FUNCTION leadtap.note_change(kind text, id text) RETURNS void LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  INSERT INTO leadtap.changes (kind, id) SELECT note_change.kind, note_change.id
   WHERE NOT EXISTS (SELECT FROM leadtap.changes AS c
                      WHERE c.xid = pg_current_xact_id() AND c.server = pg_postmaster_start_time()
                        AND c.kind = note_change.kind AND c.id = note_change.id);
END;

-- Leads ---------------------------------------------------------------------------------------------------------------

-- D1, D2, D3: the stamp is taken under the company's lock, which is held until the transaction ends. Nothing is remembered
-- from row to row: a session could set whatever a trigger can remember, and so choose its stamps.
CREATE FUNCTION leadtap.leads_before_insert() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  writer xid8;
  writer_server timestamptz;
  last timestamptz;
  is_known boolean;
  now_ms bigint;
  department text;
  -- 'on' keeps the created_at that a row brings; 'moved', for `leadtap migrate --from`, all that identifies the lead.
  history text := current_setting('leadtap.historical', true);
BEGIN
  PERFORM pg_advisory_xact_lock(leadtap.lock_class(), leadtap.company_lock(NEW.company_id));
  -- The id is searched for in the order of the index: a plan that was made while the table was empty would else read all leads
  -- of the company.
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
  -- Once in a transaction. In one whose snapshot is older than the last lead this fails (40001), and it must: it could
  -- not see the stamp that its own must follow.
  IF writer IS DISTINCT FROM pg_current_xact_id() OR writer_server IS DISTINCT FROM pg_postmaster_start_time() THEN
    UPDATE leadtap.companies SET last_writer = pg_current_xact_id(), last_writer_server = pg_postmaster_start_time()
     WHERE id = NEW.company_id;
  END IF;

  IF NEW.department_id IS NOT NULL AND NEW.branch_id IS NULL THEN
    NEW.branch_id := leadtap.branch_of(NEW.company_id, NEW.department_id);
  END IF;

  -- D5: the same id again is an update. What is not given stays.
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
    -- Nothing was updated: another transaction has deleted the lead meanwhile, and this one adds it again; or a trigger of the
    -- operator's has suppressed the update, and the lead is still there.
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
COMMENT ON FUNCTION leadtap.leads_before_insert() IS 'Stamps a new lead under the lock of its company, and supplies what its writer left out.';

-- PostgreSQL fires triggers in the order of their names, and ~ sorts after all letters: what an operator's own triggers make of
-- a row is what is stamped.
CREATE TRIGGER "~leads_before_insert" BEFORE INSERT ON leadtap.leads FOR EACH ROW EXECUTE FUNCTION leadtap.leads_before_insert();
ALTER TRIGGER change ON leadtap.leads RENAME TO "~leads_before_update";

-- A trigger that fires after ours could change the company or the stamp of a row, so no statement runs beside one.
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

-- Stamps of what is deleted -------------------------------------------------------------------------------------------

-- A stamp is never given again, also when the lead that had it, or its company, is deleted. Its row is inserted without the lock of
-- the company: a transaction that deletes a lead would hold the row and wait for the lock, while one that writes the same lead
-- holds the lock and waits for the row. Until the delete commits, writers see the lead itself.
CREATE TABLE leadtap.deleted_stamps (
  company_id text COLLATE "C" NOT NULL,
  created_at leadtap.moment NOT NULL,
  PRIMARY KEY (company_id, created_at)
);
COMMENT ON TABLE leadtap.deleted_stamps IS 'Stamps of deleted leads that no newer lead has followed. A company, also one that is deleted and inserted again, continues after them.';

CREATE OR REPLACE FUNCTION leadtap.last_stamp(company text) RETURNS timestamptz LANGUAGE sql VOLATILE STRICT
BEGIN ATOMIC
  SELECT greatest(
    (SELECT c.stamp_floor FROM leadtap.companies AS c WHERE c.id = company),
    (SELECT l.created_at FROM leadtap.leads AS l WHERE l.company_id = company ORDER BY l.created_at DESC LIMIT 1),
    (SELECT d.created_at FROM leadtap.deleted_stamps AS d WHERE d.company_id = company ORDER BY d.created_at DESC LIMIT 1));
END;

CREATE OR REPLACE FUNCTION leadtap.remember_stamps() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO leadtap.deleted_stamps (company_id, created_at)
    SELECT d.company_id, max(d.created_at) FROM deleted AS d GROUP BY d.company_id
    HAVING max(d.created_at) > coalesce(leadtap.last_stamp(d.company_id), '-infinity')
    ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;

-- stamp_floor goes with the row of the company.
CREATE FUNCTION leadtap.companies_after_delete() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO leadtap.deleted_stamps (company_id, created_at)
    SELECT o.id, o.stamp_floor FROM deleted AS o WHERE o.stamp_floor IS NOT NULL
    ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.companies_after_delete() IS 'Keeps the last stamps of companies that were deleted, or whose id was changed.';
CREATE TRIGGER companies_after_delete AFTER DELETE ON leadtap.companies REFERENCING OLD TABLE AS deleted
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.companies_after_delete();

-- For clients, a new id is another company, and the old one is deleted.
CREATE FUNCTION leadtap.companies_after_new_id() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO leadtap.deleted_stamps (company_id, created_at) SELECT OLD.id, OLD.stamp_floor WHERE OLD.stamp_floor IS NOT NULL
    ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.companies_after_new_id() IS 'Keeps the last stamp of the id that a company had.';
CREATE TRIGGER companies_after_new_id AFTER UPDATE OF id ON leadtap.companies
  FOR EACH ROW WHEN (OLD.id IS DISTINCT FROM NEW.id) EXECUTE FUNCTION leadtap.companies_after_new_id();

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

-- As it was, and stamps that a later one of the same company replaces are deleted, too.
CREATE OR REPLACE FUNCTION leadtap.tend_changes() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  forgotten xid8;
BEGIN
  INSERT INTO leadtap.server_run DEFAULT VALUES ON CONFLICT DO NOTHING;
  SELECT f.next INTO forgotten FROM leadtap.forgotten_changes AS f
   WHERE f.next_from < clock_timestamp() - interval '5 minutes' FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  -- After a restore, what is there may be of another server, whose transactions had other numbers.
  forgotten := least(forgotten, pg_snapshot_xmin(pg_current_snapshot()));
  DELETE FROM leadtap.changes AS c WHERE c.xid < forgotten;
  DELETE FROM leadtap.changes AS c WHERE c.xid >= pg_snapshot_xmax(pg_current_snapshot());
  DELETE FROM leadtap.deleted_stamps AS d
   WHERE EXISTS (SELECT FROM leadtap.deleted_stamps AS later WHERE later.company_id = d.company_id AND later.created_at > d.created_at);
  UPDATE leadtap.forgotten_changes
     SET below = forgotten, next = pg_snapshot_xmin(pg_current_snapshot()), next_from = clock_timestamp();
END $$;
COMMENT ON FUNCTION leadtap.tend_changes() IS 'Deletes the entries of leadtap.changes that are five minutes old, and names the run of the server where it has no name.';

-- Replication ---------------------------------------------------------------------------------------------------------

-- Logical replication, and every session with session_replication_role = replica, copies rows that have their stamps: it must not
-- stamp them again. But caches must know what it has changed. It fires no triggers for statements, so leads have some for rows.
CREATE FUNCTION leadtap.log_change_replicated() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    PERFORM leadtap.note_change('company', OLD.company_id);
  END IF;
  IF TG_OP <> 'DELETE' THEN
    PERFORM leadtap.note_change('company', NEW.company_id);
  END IF;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.log_change_replicated() IS 'Logs the company of a lead that replication has added, changed or deleted.';
CREATE TRIGGER log_change_replicated AFTER INSERT OR UPDATE OR DELETE ON leadtap.leads
  FOR EACH ROW EXECUTE FUNCTION leadtap.log_change_replicated();
ALTER TABLE leadtap.leads ENABLE REPLICA TRIGGER log_change_replicated, ENABLE ALWAYS TRIGGER note_all;
ALTER TABLE leadtap.companies ENABLE ALWAYS TRIGGER note_growth, ENABLE ALWAYS TRIGGER note_name;
ALTER TABLE leadtap.statuses ENABLE ALWAYS TRIGGER note_name;
ALTER TABLE leadtap.branches ENABLE ALWAYS TRIGGER note_name;
ALTER TABLE leadtap.departments ENABLE ALWAYS TRIGGER note_name;
ALTER TABLE leadtap.users ENABLE ALWAYS TRIGGER note_user, ENABLE ALWAYS TRIGGER note_all;
ALTER TABLE leadtap.revoked_tokens ENABLE ALWAYS TRIGGER note_token;

-- Like all trigger functions that have the rights of the owner.
REVOKE EXECUTE ON FUNCTION leadtap.leads_before_insert(), leadtap.companies_after_delete(),
  leadtap.companies_after_new_id(), leadtap.companies_before_truncate(), leadtap.log_change_replicated() FROM PUBLIC;

-- Polls ---------------------------------------------------------------------------------------------------------------

-- STABLE: it reads in the snapshot of the statement that calls it.
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

-- As it was, but with named columns alone: a plan that holds whole rows of leads fails for good when a column is dropped.
-- Without since, it also gives the last stamp of the company: from there, a client continues whose first page is empty.
DROP FUNCTION leadtap.read_page(text, text, text, bigint, integer, integer);
CREATE FUNCTION leadtap.read_page(
  company text, branch text, department text, since_ms bigint, page_limit integer, wait_ms integer,
  OUT read_at bigint, OUT locked boolean, OUT last_stamp bigint, OUT leads json
) LANGUAGE plpgsql VOLATILE
  SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
  SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off AS $$
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
  -- Before the page: a lead that is committed in between has a later stamp, and is in the page.
  IF since_ms IS NULL THEN
    last_stamp := leadtap.to_ms(leadtap.last_stamp(company));
  END IF;

  -- One statement, hence one snapshot: leads with the names that places and statuses have now. Each row is looked up by
  -- itself (hence the limits): without statistics, a join would read all leads or branches of the company.
  SELECT coalesce(json_agg(lead), '[]') INTO leads FROM (
    SELECT l.id, l.first_name, l.last_name, l.full_name, l.phone1, l.phone2, l.email, l.address, l.postal_code,
           l.address_notes, leadtap.to_ms(l.appointment_date_time) AS appointment_date_time, l.timeslot,
           l.status_value, s.label AS status_label, s.color AS status_color, s.final AS status_final,
           l.custom_fields, l.images, l.same_day, leadtap.to_ms(l.created_at) AS created_at,
           leadtap.to_ms(l.updated_at) AS updated_at, (SELECT c.name FROM leadtap.companies AS c WHERE c.id = company) AS company_name,
           (SELECT b.name FROM leadtap.branches AS b WHERE b.company_id = company AND b.id = l.branch_id) AS branch_name,
           (SELECT d.name FROM leadtap.departments AS d WHERE d.company_id = company AND d.id = l.department_id) AS department_name,
           l.automation_trigger_id,
           leadtap.to_ms(l.automation_created_at) AS automation_created_at
      FROM unnest(leadtap.page_keys(company, branch, department, leadtap.from_ms(since_ms), page_limit))
             WITH ORDINALITY AS page (created_at, position)
     CROSS JOIN LATERAL (SELECT o.id, o.first_name, o.last_name, o.full_name, o.phone1, o.phone2, o.email, o.address, o.postal_code,
                              o.address_notes, o.appointment_date_time, o.timeslot, o.status_value, o.branch_id, o.department_id,
                              o.custom_fields, o.images, o.same_day, o.created_at, o.updated_at, o.automation_trigger_id,
                              o.automation_created_at
                           FROM leadtap.leads AS o
                          WHERE o.company_id = company AND o.created_at = page.created_at LIMIT 1) AS l
     CROSS JOIN LATERAL (SELECT o.label, o.color, o.final FROM leadtap.statuses AS o
                          WHERE o.company_id = company AND o.value = l.status_value LIMIT 1) AS s
     ORDER BY page.position
  ) AS lead;
END $$;
COMMENT ON FUNCTION leadtap.read_page(text, text, text, bigint, integer, integer) IS 'A page of the leads of a company, a branch or a department, under the lock of the company.';
