-- The functions that name every column of a lead, and those that writes of leads call. `leadtap migrate` creates them again before it runs new migrations, with the
-- columns of LEAD_FIELDS (lead-functions.ts). To change this file, add a migration too, so that databases get the change; it may be
-- empty.

-- The trigger of INSERT INTO leadtap.leads: takes the lock of the company, stamps the lead, or updates the one with the same id.
-- D1, D2, D3: the lock is held until the transaction ends. The trigger keeps no state between rows: a session could change that
-- state and so choose its stamps.
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
  wrong_image text;
  -- 'on' keeps the created_at of the row; 'moved', for `leadtap migrate --from`, also its other times and its trigger id.
  history text := current_setting('leadtap.historical', true);
BEGIN
  -- Until the end of the transaction. The last commits of a session with `off` may be lost in a crash, with stamps that clients have
  -- seen already: they would miss the next lead, whose stamp is not after them.
  IF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
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

  -- As over HTTP and in files. A move copies what is there.
  IF NEW.images <> '{}' AND history IS DISTINCT FROM 'moved' THEN
    SELECT image INTO wrong_image FROM unnest(NEW.images) AS image
     WHERE image !~* '^https?://[^ \t\n\r\f\v]+$' OR char_length(image) > 2048 LIMIT 1;
    IF FOUND THEN
      RAISE check_violation USING
        MESSAGE = format('%L is not a web address of at most 2048 characters', left(wrong_image, 100)),
        HINT = 'An image must begin with https:// or http://.',
        SCHEMA = 'leadtap', TABLE = 'leads', COLUMN = 'images', CONSTRAINT = 'leads_images_are_web_addresses';
    END IF;
  END IF;

  IF NEW.department_id IS NOT NULL AND NEW.branch_id IS NULL THEN
    NEW.branch_id := leadtap.branch_of(NEW.company_id, NEW.department_id);
  END IF;

  -- D5: the same id again is an update. Columns that are null in the new row keep their values.
  IF is_known THEN
    UPDATE leadtap.leads AS l SET
      branch_id = coalesce(NEW.branch_id, l.branch_id),
      department_id = coalesce(NEW.department_id, l.department_id),
      status_value = coalesce(NEW.status_value, l.status_value),
      {{content_updates}}
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
COMMENT ON FUNCTION leadtap.leads_before_insert() IS 'Stamps a new lead under the lock of its company, and supplies the values that its writer left out.';
-- It runs with the rights of the owner, so no other role may put it on a table of its own.
REVOKE EXECUTE ON FUNCTION leadtap.leads_before_insert() FROM PUBLIC;

-- A page of leads, under the lock of the company (0001_schema.sql says why so, under "Polls").
--   wait_ms 0      takes the lock if it is free; otherwise locked is false and leads is null
--   wait_ms > 0    waits for the lock for so long, then fails with 55P03
--   wait_ms null   reads without the lock: read_at is the last stamp, up to which the page is complete all the same
-- Without since, it also returns the last stamp of the company, from which a client continues whose first page is empty.
-- Columns are listed by name: a plan that contains whole rows of leads fails for good when a column is dropped.
CREATE OR REPLACE FUNCTION leadtap.read_page(
  company text, branch text, department text, since_ms bigint, page_limit integer, wait_ms integer,
  OUT read_at bigint, OUT locked boolean, OUT last_stamp bigint, OUT leads json
) LANGUAGE plpgsql VOLATILE
  SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
  SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off SET lock_timeout = '5s' AS $$
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

  -- One statement, hence one snapshot: leads with the present names of places and statuses.
  SELECT coalesce(json_agg(lead), '[]') INTO leads FROM (
    SELECT {{page_columns}},
           s.label AS status_label, s.color AS status_color, s.final AS status_final,
           {{company_name}} AS company_name, {{branch_name}} AS branch_name, {{department_name}} AS department_name
      FROM {{page}}
     ORDER BY page.position
  ) AS lead;
END $$;
COMMENT ON FUNCTION leadtap.read_page(text, text, text, bigint, integer, integer) IS 'A page of the leads of a company, a branch or a department, under the lock of the company.';

-- The leads of a page for the cache, without the lock: the revalidation before gives the time of the answer. One line for each lead,
-- whose parts are separated by tabs (lead-functions.ts).
CREATE OR REPLACE FUNCTION leadtap.read_leads(company text, branch text, department text, since_ms bigint, page_limit integer)
  RETURNS text LANGUAGE plpgsql STABLE
  SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
  SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off SET lock_timeout = '5s' AS $$
BEGIN
  IF pg_is_in_recovery() THEN
    RAISE read_only_sql_transaction USING MESSAGE = 'this is a standby, which may lack leads of its primary';
  END IF;
  RETURN (SELECT string_agg(leadtap.to_ms(l.created_at) || E'\t' || {{lead_json}}, E'\n' ORDER BY page.position)
            FROM {{page}});
END $$;
COMMENT ON FUNCTION leadtap.read_leads(text, text, text, bigint, integer) IS 'A page of the leads of a company, a branch or a department as JSON, without the lock of the company.';

-- What a write of leads depends on: accounts, used keys, places, statuses, stored leads. refs has the company, branch, department and id
-- of each lead; an id that the sender has not given is left out. users and tokens are parallel arrays, in which a token may be null;
-- so are key_companies and keys. It first takes the locks of the companies and of the senders, and locks the stored leads, until the
-- transaction ends:
--   lock_mode wait    fails with 55P03 if the lock of a company is not free within lock_timeout
--   lock_mode skip    returns such companies in busy; what it reads about them does not count. It waits once, for the first of them:
--                     the locks that it has taken delay other writers and polls
--   lock_mode none    takes no locks
-- Volatile: every statement has its own snapshot in READ COMMITTED, and sees what was committed while it waited for a lock.
-- Settings and limits are those of leadtap.read_page. Leads and keys are searched for in the order of the index, as in
-- leadtap.leads_before_insert.
CREATE OR REPLACE FUNCTION leadtap.read_batch(
  refs json, users text[], tokens text[], key_companies text[], keys text[], lock_mode text,
  OUT busy text[], OUT now_ms bigint, OUT accounts json, OUT requests json, OUT companies json, OUT branches json, OUT departments json,
  OUT existing json, OUT erased json
) LANGUAGE plpgsql VOLATILE
  SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
  SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  company text;
  company_ids text[] := ARRAY(SELECT DISTINCT r.company_id FROM json_to_recordset(refs) AS r (company_id text));
  has_ids boolean := EXISTS (SELECT FROM json_to_recordset(refs) AS r (id text) WHERE r.id IS NOT NULL);
BEGIN
  IF lock_mode = 'wait' THEN
    PERFORM leadtap.lock_companies(company_ids);
  ELSIF lock_mode = 'skip' THEN
    FOR company IN SELECT id COLLATE "C" FROM unnest(company_ids) AS id ORDER BY 1 LOOP
      IF NOT pg_try_advisory_xact_lock(leadtap.lock_class(), leadtap.company_lock(company)) THEN
        IF busy IS NOT NULL THEN
          busy := busy || company;
          CONTINUE;
        END IF;
        BEGIN
          PERFORM pg_advisory_xact_lock(leadtap.lock_class(), leadtap.company_lock(company));
        EXCEPTION WHEN lock_not_available THEN
          busy := busy || company;
        END;
      END IF;
    END LOOP;
  END IF;
  IF lock_mode <> 'none' THEN
    -- After the locks of the companies: a write that waits for one must not delay a revocation. In the order of
    -- leadtap.lock_changed_accounts.
    PERFORM pg_advisory_xact_lock_shared(leadtap.lock_class() + 1, a.key)
       FROM (SELECT DISTINCT leadtap.account_lock(id) AS key FROM unnest(users) AS id WHERE id IS NOT NULL ORDER BY 1) AS a;
    PERFORM pg_advisory_xact_lock_shared(leadtap.lock_class() + 2, a.key)
       FROM (SELECT DISTINCT leadtap.account_lock(id) AS key FROM unnest(tokens) AS id WHERE id IS NOT NULL ORDER BY 1) AS a;
    -- A lead that another transaction deletes meanwhile is not found below, and added again.
    IF has_ids THEN
      PERFORM FROM (SELECT DISTINCT o.company_id COLLATE "C" AS company_id, o.id COLLATE "C" AS id
                      FROM json_to_recordset(refs) AS o (company_id text, id text) WHERE o.id IS NOT NULL ORDER BY 1, 2) AS r
        CROSS JOIN LATERAL (SELECT o.id, o.created_at FROM leadtap.leads AS o
                             WHERE o.company_id = r.company_id AND o.id >= r.id ORDER BY o.id LIMIT 1) AS k
        CROSS JOIN LATERAL (SELECT FROM leadtap.leads AS o WHERE o.company_id = r.company_id AND o.created_at = k.created_at
                             LIMIT 1 FOR NO KEY UPDATE) AS l
       WHERE k.id = r.id;
    END IF;
  END IF;

  now_ms := leadtap.clock_ms();
  IF cardinality(users) > 0 THEN
    SELECT json_agg(json_build_object(
             'isRevoked', EXISTS (SELECT FROM leadtap.revoked_tokens AS t WHERE t.token_id = sender.token_id),
             'user', (SELECT json_build_object(
                        'id', u.id, 'companyId', u.company_id, 'email', u.email, 'name', u.name, 'plan', u.plan,
                        'accessLevel', u.access_level, 'branchId', u.branch_id, 'departmentId', u.department_id)
                        FROM leadtap.users AS u WHERE u.id = sender.user_id))
             ORDER BY sender.ordinality)
      INTO accounts FROM unnest(users, tokens) WITH ORDINALITY AS sender (user_id, token_id, ordinality);
  END IF;
  IF cardinality(keys) > 0 THEN
    SELECT json_agg(k) INTO requests FROM unnest(key_companies, keys) AS r (company_id, key_hash)
     CROSS JOIN LATERAL (SELECT o.key_hash, o.body_hash, o.results FROM leadtap.idempotency_keys AS o
                          WHERE o.company_id = r.company_id AND o.key_hash >= r.key_hash ORDER BY o.key_hash LIMIT 1) AS k
     WHERE k.key_hash = r.key_hash;
  END IF;

  SELECT json_agg(json_build_object('id', c.id, 'statuses', ARRAY(
           SELECT json_build_object('value', s.value, 'label', s.label)
             FROM leadtap.statuses AS s WHERE s.company_id = c.id ORDER BY s.position)))
    INTO companies FROM leadtap.companies AS c WHERE c.id = ANY (company_ids);
  SELECT json_agg(r) INTO branches
    FROM (SELECT DISTINCT o.company_id, o.branch_id AS id FROM json_to_recordset(refs) AS o (company_id text, branch_id text)) AS r
   CROSS JOIN LATERAL (SELECT FROM leadtap.branches AS b WHERE b.company_id = r.company_id AND b.id = r.id LIMIT 1) AS b;
  SELECT json_agg(json_build_object('company_id', r.company_id, 'id', r.id, 'branch_id', d.branch_id)) INTO departments
    FROM (SELECT DISTINCT o.company_id, o.department_id AS id
            FROM json_to_recordset(refs) AS o (company_id text, department_id text)) AS r
   CROSS JOIN LATERAL (SELECT o.branch_id FROM leadtap.departments AS o
                        WHERE o.company_id = r.company_id AND o.id = r.id LIMIT 1) AS d;
  IF NOT has_ids THEN
    RETURN;
  END IF;
  SELECT json_agg(l) INTO existing
    FROM (SELECT DISTINCT o.company_id, o.id FROM json_to_recordset(refs) AS o (company_id text, id text)) AS r
   CROSS JOIN LATERAL (SELECT o.company_id, o.id, leadtap.to_ms(o.created_at) AS created_at, {{stored_content}}
                         FROM leadtap.leads AS o
                        WHERE o.company_id = r.company_id AND o.id >= r.id ORDER BY o.id LIMIT 1) AS l
   WHERE l.id = r.id;
  -- Nearly no company has erased leads, and then no id is hashed.
  IF EXISTS (SELECT FROM leadtap.erased_leads AS e WHERE e.company_id = ANY (company_ids)) THEN
    SELECT json_agg(r) INTO erased
      FROM (SELECT DISTINCT o.company_id, o.id FROM json_to_recordset(refs) AS o (company_id text, id text)) AS r
     CROSS JOIN LATERAL (SELECT FROM leadtap.erased_leads AS e WHERE e.company_id = r.company_id
                            AND e.id_hash = encode(sha256(convert_to(r.id, 'UTF8')), 'hex') LIMIT 1) AS e;
  END IF;
END $$;
COMMENT ON FUNCTION leadtap.read_batch(json, text[], text[], text[], text[], text) IS 'What a write of leads depends on, read under the locks of their companies and senders.';

-- Adds leads in their order. A trigger of the operator's may suppress rows; all_or_none then fails, so that COMMIT can be sent
-- together with this call. A function keeps its plan, also behind a pooler in transaction mode. It has no settings of its own, because
-- triggers of the operator's run in it.
CREATE OR REPLACE FUNCTION leadtap.add_leads(batch json, all_or_none boolean)
  RETURNS TABLE (company_id text, id text, created_at bigint) LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  stored bigint;
BEGIN
  RETURN QUERY
    INSERT INTO leadtap.leads AS l (company_id, id, created_at, {{content}})
    SELECT b.company_id, b.id, leadtap.from_ms(b.created_at), {{batch_content}} FROM json_to_recordset(batch) AS b ({{batch_types}})
    RETURNING l.company_id, l.id, leadtap.to_ms(l.created_at);
  GET DIAGNOSTICS stored = ROW_COUNT;
  IF all_or_none AND stored < json_array_length(batch) THEN
    RAISE EXCEPTION USING ERRCODE = 'LT003', MESSAGE = 'a trigger has suppressed a lead', SCHEMA = 'leadtap', TABLE = 'leads';
  END IF;
END $$;
COMMENT ON FUNCTION leadtap.add_leads(json, boolean) IS 'Adds leads; all_or_none fails if a trigger suppresses one.';
