-- A consumer that sees only a branch or a department may have passed a lead before it was moved there, whatever its position says.

CREATE TABLE leadtap.moved_leads (
  company_id    text COLLATE "C" NOT NULL,
  created_at    leadtap.moment NOT NULL,
  branch_id     text COLLATE "C",
  department_id text COLLATE "C",
  PRIMARY KEY (company_id, created_at)
);
CREATE INDEX moved_leads_by_branch ON leadtap.moved_leads (company_id, branch_id, created_at) WHERE branch_id IS NOT NULL;
CREATE INDEX moved_leads_by_department ON leadtap.moved_leads (company_id, department_id, created_at) WHERE department_id IS NOT NULL;
COMMENT ON TABLE leadtap.moved_leads IS 'Leads whose branch or department was changed, written by a trigger. For a consumer that sees only a branch or a department, such a lead counts as received only if it is in received_leads.';
COMMENT ON COLUMN leadtap.moved_leads.branch_id IS 'Where the lead is now. Null: it was never moved to a branch, or left it.';
COMMENT ON COLUMN leadtap.moved_leads.department_id IS 'Where the lead is now. Null: it was never moved to a department, or left it.';

CREATE TABLE leadtap.received_leads (
  company_id text COLLATE "C" NOT NULL,
  created_at leadtap.moment NOT NULL,
  user_id    text COLLATE "C" NOT NULL,
  token_id   text COLLATE "C" NOT NULL,
  PRIMARY KEY (company_id, created_at, user_id, token_id)
);
COMMENT ON TABLE leadtap.received_leads IS 'The moved leads that were in a page that was sent to a consumer, or that a webhook has accepted.';
COMMENT ON COLUMN leadtap.received_leads.token_id IS 'As in consumers. Of a webhook that sends leads: its id.';

-- Not for rows that replication copies: it copies moved_leads, too.
CREATE FUNCTION leadtap.record_moved_lead() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  has_other_branch boolean := NEW.branch_id IS DISTINCT FROM OLD.branch_id;
  has_other_department boolean := NEW.department_id IS DISTINCT FROM OLD.department_id;
BEGIN
  INSERT INTO leadtap.moved_leads AS m (company_id, created_at, branch_id, department_id)
    VALUES (NEW.company_id, NEW.created_at,
            CASE WHEN has_other_branch THEN NEW.branch_id END,
            CASE WHEN has_other_department THEN NEW.department_id END)
    ON CONFLICT (company_id, created_at) DO UPDATE SET
      branch_id = CASE WHEN has_other_branch THEN excluded.branch_id ELSE m.branch_id END,
      department_id = CASE WHEN has_other_department THEN excluded.department_id ELSE m.department_id END;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.record_moved_lead() IS 'Records that the branch or the department of a lead was changed.';
CREATE TRIGGER record_moved_lead AFTER UPDATE ON leadtap.leads FOR EACH ROW
  WHEN (NEW.branch_id IS DISTINCT FROM OLD.branch_id OR NEW.department_id IS DISTINCT FROM OLD.department_id)
  EXECUTE FUNCTION leadtap.record_moved_lead();

-- The settings are those of leadtap.read_page: a plan that was made while a table was empty would read all of it.
CREATE FUNCTION leadtap.delete_moved_leads() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  DELETE FROM leadtap.moved_leads AS m USING deleted AS d WHERE m.company_id = d.company_id AND m.created_at = d.created_at;
  DELETE FROM leadtap.received_leads AS r USING deleted AS d WHERE r.company_id = d.company_id AND r.created_at = d.created_at;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.delete_moved_leads() IS 'Deletes what is recorded about leads that were deleted.';
CREATE TRIGGER delete_moved_leads AFTER DELETE ON leadtap.leads REFERENCING OLD TABLE AS deleted
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.delete_moved_leads();

CREATE FUNCTION leadtap.delete_all_moved_leads() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  DELETE FROM leadtap.moved_leads;
  DELETE FROM leadtap.received_leads;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.delete_all_moved_leads() IS 'Deletes what is recorded about leads when their table is truncated.';
CREATE TRIGGER delete_all_moved_leads AFTER TRUNCATE ON leadtap.leads
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.delete_all_moved_leads();

REVOKE EXECUTE ON FUNCTION leadtap.record_moved_lead(), leadtap.delete_moved_leads(), leadtap.delete_all_moved_leads() FROM PUBLIC;
