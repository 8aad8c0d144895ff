-- What has changed, for processes that remember what they have read. Each asks for what its last snapshot did not see:
-- nobody waits for anybody, and nothing that is committed is ever missed.

CREATE TABLE leadtap.changes (
  xid  xid8 NOT NULL DEFAULT pg_current_xact_id(),
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('leads-appended', 'company', 'user', 'token', 'all')),
  id   text COLLATE "C" NOT NULL
);
CREATE INDEX changes_by_xid ON leadtap.changes (xid);
COMMENT ON TABLE leadtap.changes IS 'What the transactions of the last minutes have changed. Written by triggers, read by leadtap.look.';
COMMENT ON COLUMN leadtap.changes.kind IS 'leads-appended: a company has new leads, all of them later than those it had; company: something else that shows in its pages has changed; user, token: a user changed or went, a token was revoked; all: forget everything.';

-- Entries are forgotten in two steps, so that whoever looks now and then never misses one.
CREATE TABLE leadtap.forgotten_changes (
  is_only   boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  below     xid8 NOT NULL,
  next      xid8 NOT NULL,
  next_from timestamptz NOT NULL
);
COMMENT ON TABLE leadtap.forgotten_changes IS 'One row: the changes of which transactions are gone, and of which they go next.';
INSERT INTO leadtap.forgotten_changes (below, next, next_from)
  SELECT pg_snapshot_xmin(s), pg_snapshot_xmin(s), clock_timestamp() FROM pg_current_snapshot() AS s;

-- Which run of the server this is. What is not logged is gone after a crash; then, transactions whose numbers a process has seen
-- may never have happened, and others get the same numbers.
CREATE UNLOGGED TABLE leadtap.server_run (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  id      uuid NOT NULL DEFAULT gen_random_uuid()
);
COMMENT ON TABLE leadtap.server_run IS 'One row, and a new one after each crash: what a process has seen before means nothing then.';

-- Writing -----------------------------------------------------------------------------------------------------------

-- Once for each transaction, however many rows it changes.
CREATE FUNCTION leadtap.note_change(kind text, id text) RETURNS void LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  INSERT INTO leadtap.changes (kind, id) SELECT note_change.kind, note_change.id
   WHERE NOT EXISTS (SELECT FROM leadtap.changes AS c
                      WHERE c.xid = pg_current_xact_id() AND c.kind = note_change.kind AND c.id = note_change.id);
END;
COMMENT ON FUNCTION leadtap.note_change(text, text) IS 'Tells processes that remember what they have read that something has changed.';

-- A transaction that adds leads changes its company's row, once (leadtap.take_in_lead).
CREATE FUNCTION leadtap.note_growth() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO leadtap.changes (kind, id) VALUES ('leads-appended', NEW.id);
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.note_growth() IS 'Notes that a company has new leads.';
CREATE TRIGGER note_growth AFTER UPDATE OF last_writer ON leadtap.companies FOR EACH ROW EXECUTE FUNCTION leadtap.note_growth();

CREATE FUNCTION leadtap.note_leads() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM leadtap.note_change('company', l.company_id) FROM (SELECT DISTINCT o.company_id FROM old_leads AS o) AS l;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.note_leads() IS 'Notes the companies whose leads were changed or deleted.';
CREATE TRIGGER note_changed AFTER UPDATE ON leadtap.leads REFERENCING OLD TABLE AS old_leads
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.note_leads();
CREATE TRIGGER note_deleted AFTER DELETE ON leadtap.leads REFERENCING OLD TABLE AS old_leads
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.note_leads();

CREATE FUNCTION leadtap.note_names() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM leadtap.note_change('company', to_jsonb(OLD) ->> TG_ARGV[0]);
  PERFORM leadtap.note_change('company', to_jsonb(NEW) ->> TG_ARGV[0]);
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.note_names() IS 'Notes the company whose name, or the name of a part of which, was changed. Its argument is the column that holds the company.';
CREATE TRIGGER note_name AFTER UPDATE OF id, name ON leadtap.companies FOR EACH ROW EXECUTE FUNCTION leadtap.note_names('id');
CREATE TRIGGER note_name AFTER UPDATE ON leadtap.statuses FOR EACH ROW EXECUTE FUNCTION leadtap.note_names('company_id');
CREATE TRIGGER note_name AFTER UPDATE ON leadtap.branches FOR EACH ROW EXECUTE FUNCTION leadtap.note_names('company_id');
CREATE TRIGGER note_name AFTER UPDATE ON leadtap.departments FOR EACH ROW EXECUTE FUNCTION leadtap.note_names('company_id');

CREATE FUNCTION leadtap.note_user() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO leadtap.changes (kind, id) VALUES ('user', OLD.id);
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.note_user() IS 'Notes a user who was changed or removed.';
CREATE TRIGGER note_user AFTER UPDATE OR DELETE ON leadtap.users FOR EACH ROW EXECUTE FUNCTION leadtap.note_user();

CREATE FUNCTION leadtap.note_token() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO leadtap.changes (kind, id) VALUES ('token', NEW.token_id);
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.note_token() IS 'Notes a token that was revoked.';
CREATE TRIGGER note_token AFTER INSERT OR UPDATE ON leadtap.revoked_tokens FOR EACH ROW EXECUTE FUNCTION leadtap.note_token();

CREATE FUNCTION leadtap.note_all() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM leadtap.note_change('all', '');
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.note_all() IS 'Notes that a table was emptied.';
CREATE TRIGGER note_all AFTER TRUNCATE ON leadtap.leads FOR EACH STATEMENT EXECUTE FUNCTION leadtap.note_all();
CREATE TRIGGER note_all AFTER TRUNCATE ON leadtap.users FOR EACH STATEMENT EXECUTE FUNCTION leadtap.note_all();

-- Reading -----------------------------------------------------------------------------------------------------------

-- What the polls of one turn need to know, asked once for all of them: who is who (users and tokens stand side by side, and
-- a token may be null), the moment, and what has changed.
-- Under the locks of all these companies in shared mode nobody stands between stamp and commit there, so whatever a later
-- statement does not find in them will be stamped after read_at (D3); those whose lock is not free at once are busy.
-- A process gives back as known what it was told as seen, and gets what it has not seen since, as 'kind id'. Null stands for
-- anything: there was no known, or it is of another run of the server, or entries that it needs are gone.
CREATE FUNCTION leadtap.look(
  companies text[], users text[], tokens text[], known text,
  OUT read_at bigint, OUT busy text[], OUT accounts json, OUT seen text, OUT changed text[]
) LANGUAGE plpgsql VOLATILE
  SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
DECLARE
  server text;
  employers text[];
  before pg_snapshot;
  after_xid xid8;
  open_xids xid8[];
  at_most constant integer := 1000;
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
      INTO accounts, employers
      FROM unnest(users, tokens) WITH ORDINALITY AS bearer (user_id, token_id, ordinality)
      LEFT JOIN leadtap.users AS u ON u.id = bearer.user_id;
  END IF;
  busy := ARRAY(SELECT company FROM unnest(companies || employers) AS company
                 WHERE NOT pg_try_advisory_xact_lock_shared(leadtap.lock_class(), leadtap.company_lock(company)));
  read_at := leadtap.clock_ms();

  -- A restored copy of the row must not stand for this server, nor a copied database or a new table for an old one.
  SELECT r.id || '/' || extract(epoch FROM pg_postmaster_start_time()) || '/' || pg_relation_filepath('leadtap.changes') || '/'
    INTO server FROM leadtap.server_run AS r;
  IF starts_with(known, server) THEN
    before := substr(known, length(server) + 1)::pg_snapshot;
    after_xid := pg_snapshot_xmax(before);
    open_xids := ARRAY(SELECT pg_snapshot_xip(before));
  END IF;
  -- One statement, hence one snapshot. What the one before it did not see was open then, or began later.
  SELECT coalesce(server, '') || pg_current_snapshot(),
         CASE WHEN f.below <= pg_snapshot_xmin(before) THEN ARRAY(
           SELECT c.kind || ' ' || c.id FROM leadtap.changes AS c WHERE c.xid >= after_xid
           UNION ALL
           SELECT c.kind || ' ' || c.id FROM leadtap.changes AS c WHERE c.xid = ANY (open_xids)
           LIMIT at_most + 1)
         END
    INTO seen, changed FROM leadtap.forgotten_changes AS f;
  IF cardinality(changed) > at_most OR 'all ' = ANY (changed) THEN
    changed := NULL;
  END IF;
END $$;
COMMENT ON FUNCTION leadtap.look(text[], text[], text[], text) IS 'What the polls of one turn need to know: who is who, the moment, under the locks of their companies, and what has changed since the process last looked.';

-- To be called now and then, and when a look could not tell what has changed. With the rights of the owner: nobody else can
-- take an entry away.
CREATE FUNCTION leadtap.tend_changes() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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
  UPDATE leadtap.forgotten_changes
     SET below = forgotten, next = pg_snapshot_xmin(pg_current_snapshot()), next_from = clock_timestamp();
END $$;
COMMENT ON FUNCTION leadtap.tend_changes() IS 'Deletes the entries of leadtap.changes that are five minutes old, and names the run of the server where it has no name.';

REVOKE EXECUTE ON FUNCTION leadtap.note_change(text, text), leadtap.note_growth(), leadtap.note_leads(), leadtap.note_names(),
  leadtap.note_user(), leadtap.note_token(), leadtap.note_all(), leadtap.tend_changes() FROM PUBLIC;
