-- A company that is deleted and inserted again goes on after its last stamp, whichever program does it: clients that
-- remember a createdAt would miss leads that are stamped before it.
CREATE TABLE deleted_companies (
  id          TEXT PRIMARY KEY,
  -- New leads of a company with this id are stamped after it.
  stamp_floor INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER company_deleted AFTER DELETE ON companies WHEN OLD.last_stamp > 0
BEGIN
  INSERT INTO deleted_companies (id, stamp_floor) VALUES (OLD.id, OLD.last_stamp)
    ON CONFLICT (id) DO UPDATE SET stamp_floor = max(stamp_floor, excluded.stamp_floor);
END;
CREATE TRIGGER company_id_changed AFTER UPDATE OF id ON companies WHEN OLD.id <> NEW.id AND OLD.last_stamp > 0
BEGIN
  INSERT INTO deleted_companies (id, stamp_floor) VALUES (OLD.id, OLD.last_stamp)
    ON CONFLICT (id) DO UPDATE SET stamp_floor = max(stamp_floor, excluded.stamp_floor);
END;
-- INSERT OR REPLACE deletes a row without running its DELETE triggers, so the stamp is kept before that.
CREATE TRIGGER company_replaced BEFORE INSERT ON companies
  WHEN EXISTS (SELECT 1 FROM companies WHERE id = NEW.id AND last_stamp > 0)
BEGIN
  INSERT INTO deleted_companies (id, stamp_floor) SELECT id, last_stamp FROM companies WHERE id = NEW.id
    ON CONFLICT (id) DO UPDATE SET stamp_floor = max(stamp_floor, excluded.stamp_floor);
END;

CREATE TRIGGER company_inserted AFTER INSERT ON companies
  WHEN EXISTS (SELECT 1 FROM deleted_companies WHERE id = NEW.id AND stamp_floor > NEW.last_stamp)
BEGIN
  UPDATE companies SET last_stamp = (SELECT stamp_floor FROM deleted_companies WHERE id = NEW.id) WHERE id = NEW.id;
END;
