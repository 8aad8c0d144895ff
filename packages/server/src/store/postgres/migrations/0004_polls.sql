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

--   wait_ms 0      takes the lock if it is free; otherwise locked is false and leads is null
--   wait_ms > 0    waits for the lock for so long, then fails with 55P03
--   wait_ms null   reads without the lock: read_at is the last stamp, up to which the page is complete all the same
-- Without since, it also returns the last stamp of the company, from which a client continues whose first page is empty.
-- Columns are listed by name: a plan that contains whole rows of leads fails for good when a column is dropped.
CREATE FUNCTION leadtap.read_page(
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

  -- One statement, hence one snapshot: leads with the present names of places and statuses. Each row is found by its key (hence the
  -- limits): without statistics, a join would read all leads or branches of the company.
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
