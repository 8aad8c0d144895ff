-- Leads whose branch or department was changed. A consumer that sees only a branch or a department may have passed such a lead before it
-- was moved there, whatever its position says. So a moved lead counts as received only if it is in received_leads.
CREATE TABLE moved_leads (
  company_id    TEXT NOT NULL,
  created_at    INTEGER NOT NULL,
  -- Where the lead is now. Null: it was never moved to a branch (to a department), or left it.
  branch_id     TEXT,
  department_id TEXT,
  PRIMARY KEY (company_id, created_at)
) STRICT, WITHOUT ROWID;
CREATE INDEX moved_leads_by_branch ON moved_leads (company_id, branch_id, created_at) WHERE branch_id IS NOT NULL;
CREATE INDEX moved_leads_by_department ON moved_leads (company_id, department_id, created_at) WHERE department_id IS NOT NULL;

-- The moved leads that were in a page that was sent to a consumer, or that a webhook has accepted.
CREATE TABLE received_leads (
  company_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  user_id    TEXT NOT NULL,
  -- As in consumers. Of a webhook that sends leads: its id.
  token_id   TEXT NOT NULL,
  PRIMARY KEY (company_id, created_at, user_id, token_id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER record_moved_lead AFTER UPDATE OF branch_id, department_id ON leads
  WHEN NEW.branch_id IS NOT OLD.branch_id OR NEW.department_id IS NOT OLD.department_id
BEGIN
  INSERT INTO moved_leads (company_id, created_at, branch_id, department_id)
    VALUES (NEW.company_id, NEW.created_at,
            CASE WHEN NEW.branch_id IS NOT OLD.branch_id THEN NEW.branch_id END,
            CASE WHEN NEW.department_id IS NOT OLD.department_id THEN NEW.department_id END)
    ON CONFLICT (company_id, created_at) DO UPDATE SET
      branch_id = CASE WHEN NEW.branch_id IS NOT OLD.branch_id THEN excluded.branch_id ELSE branch_id END,
      department_id = CASE WHEN NEW.department_id IS NOT OLD.department_id THEN excluded.department_id ELSE department_id END;
END;
CREATE TRIGGER delete_moved_lead AFTER DELETE ON leads
BEGIN
  DELETE FROM moved_leads WHERE company_id = OLD.company_id AND created_at = OLD.created_at;
  DELETE FROM received_leads WHERE company_id = OLD.company_id AND created_at = OLD.created_at;
END;
