-- The change log: each instance reads the entries that its last snapshot did not see, and invalidates its cache. Readers and writers
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

-- Once for each transaction, however many rows it changes.
CREATE FUNCTION leadtap.log_change(kind text, id text) RETURNS void LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  INSERT INTO leadtap.changes (kind, id) SELECT log_change.kind, log_change.id
   WHERE NOT EXISTS (SELECT FROM leadtap.changes AS c
                      WHERE c.xid = pg_current_xact_id() AND c.server = pg_postmaster_start_time()
                        AND c.kind = log_change.kind AND c.id = log_change.id);
END;
COMMENT ON FUNCTION leadtap.log_change(text, text) IS 'Adds an entry to the change log, unless this transaction has added it before.';

-- Triggers that write it ----------------------------------------------------------------------------------------------

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

-- Pruning -------------------------------------------------------------------------------------------------------------

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
