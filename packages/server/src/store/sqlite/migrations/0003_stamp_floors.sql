-- A company that is deleted and inserted again continues after its last stamp, whichever program does it: clients that
-- remember a createdAt would miss leads that are stamped before it.
CREATE TABLE stamp_floors (
  company_id TEXT PRIMARY KEY,
  -- New leads of a company with this id are stamped after it. That of a company that exists may be out of date.
  last_stamp INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER company_deleted AFTER DELETE ON companies WHEN OLD.last_stamp > 0
BEGIN
  INSERT INTO stamp_floors (company_id, last_stamp) VALUES (OLD.id, OLD.last_stamp)
    ON CONFLICT (company_id) DO UPDATE SET last_stamp = max(last_stamp, excluded.last_stamp);
END;

-- INSERT OR REPLACE and UPDATE OR REPLACE delete a row without running its DELETE triggers, so the stamp is kept before that.
CREATE TRIGGER company_replaced BEFORE INSERT ON companies
  WHEN EXISTS (SELECT 1 FROM companies WHERE id = NEW.id AND last_stamp > 0)
BEGIN
  INSERT INTO stamp_floors (company_id, last_stamp) SELECT id, last_stamp FROM companies WHERE id = NEW.id
    ON CONFLICT (company_id) DO UPDATE SET last_stamp = max(last_stamp, excluded.last_stamp);
END;
CREATE TRIGGER company_id_replaced BEFORE UPDATE OF id ON companies WHEN OLD.id <> NEW.id
BEGIN
  INSERT INTO stamp_floors (company_id, last_stamp)
    SELECT id, last_stamp FROM companies WHERE id IN (OLD.id, NEW.id) AND last_stamp > 0
    ON CONFLICT (company_id) DO UPDATE SET last_stamp = max(last_stamp, excluded.last_stamp);
END;

CREATE TRIGGER company_inserted AFTER INSERT ON companies
  WHEN EXISTS (SELECT 1 FROM stamp_floors WHERE company_id = NEW.id AND last_stamp > NEW.last_stamp)
BEGIN
  UPDATE companies SET last_stamp = (SELECT last_stamp FROM stamp_floors WHERE company_id = NEW.id) WHERE id = NEW.id;
END;
CREATE TRIGGER company_id_changed AFTER UPDATE OF id ON companies
  WHEN EXISTS (SELECT 1 FROM stamp_floors WHERE company_id = NEW.id AND last_stamp > NEW.last_stamp)
BEGIN
  UPDATE companies SET last_stamp = (SELECT last_stamp FROM stamp_floors WHERE company_id = NEW.id) WHERE id = NEW.id;
END;
