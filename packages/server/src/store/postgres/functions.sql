-- The functions that the service calls, and those that they and the trigger of new leads need. They are created before schema.sql, and again
-- before each migration: what they name need not exist before they are called. {{…}} are parts of functions.ts, with the columns of
-- LEAD_FIELDS.

-- Times in milliseconds -----------------------------------------------------------------------------------------------

-- The only clock that stamps: the clocks of two instances may differ.
CREATE OR REPLACE FUNCTION leadtap.clock_ms() RETURNS bigint LANGUAGE sql VOLATILE
  RETURN floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint;

-- Milliseconds since 1970.
CREATE OR REPLACE FUNCTION leadtap.to_ms(at timestamptz) RETURNS bigint LANGUAGE sql STABLE STRICT PARALLEL SAFE
  RETURN (extract(epoch FROM at) * 1000)::bigint;

-- In two steps: the product of an interval and a large number of milliseconds is not exact.
CREATE OR REPLACE FUNCTION leadtap.from_ms(ms bigint) RETURNS timestamptz LANGUAGE sql STABLE STRICT PARALLEL SAFE
  RETURN timestamptz 'epoch' + (ms / 1000) * interval '1 second' + (ms % 1000) * interval '1 millisecond';

-- The year 0 of ISO 8601 is 1 BC here. Not STRICT: then, PostgreSQL could not inline it.
CREATE OR REPLACE FUNCTION leadtap.to_iso(at timestamptz) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
  RETURN CASE WHEN at >= timestamptz '0001-01-01 00:00:00+00' THEN to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
              ELSE to_char(at AT TIME ZONE 'UTC', '"0000"-MM-DD"T"HH24:MI:SS.MS"Z"') END;

-- RFC 9562: sorts by time, so that new ids are neighbours in the index.
CREATE OR REPLACE FUNCTION leadtap.uuid_v7(ms bigint) RETURNS text LANGUAGE sql VOLATILE STRICT
  RETURN encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid()) PLACING substring(int8send(ms) FROM 3) FROM 1 FOR 6), 52, 1), 53, 1), 'hex')::uuid::text;

-- Locks ---------------------------------------------------------------------------------------------------------------

-- The second key of the lock of a company. Two companies may have the same key by chance. Then their writers wait for each other; nothing
-- else happens.
CREATE OR REPLACE FUNCTION leadtap.company_lock(company text) RETURNS integer LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN hashtext(company);

-- The first key of every advisory lock that Leadtap takes.
CREATE OR REPLACE FUNCTION leadtap.lock_class() RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN 1280587088; -- "LTAP"

-- Takes the locks of companies until the transaction ends, in the one order that avoids deadlocks: that of company_id, byte by byte.
CREATE OR REPLACE FUNCTION leadtap.lock_companies(companies text[]) RETURNS void LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  company text;
BEGIN
  FOR company IN SELECT DISTINCT c COLLATE "C" FROM unnest(companies) AS c ORDER BY 1 LOOP
    PERFORM pg_advisory_xact_lock(leadtap.lock_class(), leadtap.company_lock(company));
  END LOOP;
END $$;

-- The second key of the lock of a user or a token (schema.sql, "Changes of accounts"). 1,024 locks for all ids of a kind: a transaction that
-- changes more users than the server has locks must not fail. Ids that share a lock wait for each other; nothing else happens.
CREATE OR REPLACE FUNCTION leadtap.account_lock(id text) RETURNS integer LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN hashtext(id) & 1023;

-- Takes the locks of users (kind 1) or tokens (kind 2) until the transaction ends, in the one order that avoids deadlocks.
CREATE OR REPLACE FUNCTION leadtap.lock_changed_accounts(kind integer, ids text[]) RETURNS void LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  lock_key integer;
BEGIN
  FOR lock_key IN SELECT DISTINCT leadtap.account_lock(id) FROM unnest(ids) AS id ORDER BY 1 LOOP
    PERFORM pg_advisory_xact_lock(leadtap.lock_class() + kind, lock_key);
  END LOOP;
END $$;

-- Until the transaction ends, no other one can commit a change of this user, or revoke this token.
CREATE OR REPLACE FUNCTION leadtap.lock_sender(user_id text, token_id text) RETURNS void LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(leadtap.lock_class() + 1, leadtap.account_lock(user_id));
  IF token_id IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock_shared(leadtap.lock_class() + 2, leadtap.account_lock(token_id));
  END IF;
END $$;

-- Insert --------------------------------------------------------------------------------------------------------------

-- The branch of a department; an error if there is no such department.
CREATE OR REPLACE FUNCTION leadtap.branch_of(company text, department text) RETURNS text LANGUAGE plpgsql STABLE AS $$
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

-- The first millisecond, from the wanted one on, that no lead of the company has. The setting leadtap.free_time holds where the last search of this transaction ended: otherwise, historical leads with equal times
-- would search the same range again for each row.
CREATE OR REPLACE FUNCTION leadtap.free_time(company text, wanted timestamptz) RETURNS timestamptz LANGUAGE plpgsql VOLATILE AS $$
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
-- It runs with the rights of the owner, so no other role may put it on a table of its own.
REVOKE EXECUTE ON FUNCTION leadtap.leads_before_insert() FROM PUBLIC;

-- Polls ---------------------------------------------------------------------------------------------------------------

-- The functions that polls call: leadtap.revalidate, once for all polls of one turn of the event loop, leadtap.read_page, and
-- leadtap.read_leads for the cache.
--
-- The first two read under the company's lock in shared mode. While it is held, no writer is between stamp and commit, so a lead that is not
-- in the page will be stamped after read_at (D3). That needs a snapshot that is younger than the lock: every statement of a volatile
-- function has its own snapshot in READ COMMITTED, and only there.
--
-- Their settings: all plans but index scans are off, because a table without statistics, after a bulk load for one, would be read
-- and sorted as a whole. plan_cache_mode: with sequential scans off, PostgreSQL estimates such high costs that it made a new plan
-- for every call, half of the time of a revalidation. A plan that is kept must also fit tables that grow, hence no hash or merge
-- joins. lock_timeout: the service gives up a query after 3 s, but a backend that waits for a table lock, of VACUUM FULL for one,
-- does not notice that, and such backends would use up the connections of the server.

-- The created_at of the leads of a page, in its order. STABLE: it reads in the snapshot of the calling statement.
CREATE OR REPLACE FUNCTION leadtap.page_keys(company text, branch text, department text, since timestamptz, page_limit integer)
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

-- A page of leads, under the lock of the company.
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

-- The leads of a page for the cache, without the lock: the revalidation before gives the time of the answer. One line for each lead,
-- whose parts are separated by tabs (lead-page.ts).
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

-- users and tokens are parallel arrays; a token may be null. busy: the companies whose lock is not free at once.
-- An instance passes as known the seen of its last call, and gets the changes since then, as 'kind id'. changed is null when
-- anything may have changed: known is null or of another epoch of the server, or the log is pruned beyond it.
CREATE OR REPLACE FUNCTION leadtap.revalidate(
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

-- Called every few minutes, and when leadtap.revalidate could not say what has changed. Runs with the rights of the owner: no other
-- role can delete an entry.
CREATE OR REPLACE FUNCTION leadtap.prune_changes() RETURNS void LANGUAGE plpgsql SECURITY DEFINER
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
REVOKE EXECUTE ON FUNCTION leadtap.prune_changes() FROM PUBLIC;

-- Writes of the service -----------------------------------------------------------------------------------------------

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
