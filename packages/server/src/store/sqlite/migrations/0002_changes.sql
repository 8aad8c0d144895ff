-- What has changed, for processes that remember what they have read: each asks for what is newer than the last entry
-- it saw. The kinds:
--   leads-appended    a company has new leads, all of them later than those it had
--   company  something else that shows in a company's pages: a lead changed, went, or came in the past; a name; a status
--   user     a user changed or went
--   token    a token was revoked
CREATE TABLE changes (
  seq  INTEGER PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('leads-appended', 'company', 'user', 'token')),
  id   TEXT NOT NULL,
  -- Tells the entry from one of the same number in a backup that was put in the place of this file.
  mark TEXT NOT NULL DEFAULT (hex(randomblob(8)))
) STRICT;
-- The first look has something to begin after.
INSERT INTO changes (kind, id) VALUES ('company', '');

-- Whoever asks for more than is left has to forget everything.
CREATE TRIGGER changes_are_few AFTER INSERT ON changes
BEGIN
  DELETE FROM changes WHERE seq <= NEW.seq - 10000;
END;

-- Whoever adds leads raises the last stamp, once for each transaction. Whoever adds some in the past says so itself.
CREATE TRIGGER company_grown AFTER UPDATE OF last_stamp ON companies
BEGIN
  INSERT INTO changes (kind, id) VALUES ('leads-appended', NEW.id);
END;
CREATE TRIGGER lead_changed AFTER UPDATE ON leads
BEGIN
  INSERT INTO changes (kind, id) VALUES ('company', NEW.company_id);
END;
CREATE TRIGGER lead_gone AFTER DELETE ON leads
BEGIN
  INSERT INTO changes (kind, id) VALUES ('company', OLD.company_id);
END;

CREATE TRIGGER company_renamed AFTER UPDATE OF id, name ON companies
BEGIN
  INSERT INTO changes (kind, id) VALUES ('company', OLD.id), ('company', NEW.id);
END;
CREATE TRIGGER status_changed AFTER UPDATE ON statuses
BEGIN
  INSERT INTO changes (kind, id) VALUES ('company', OLD.company_id), ('company', NEW.company_id);
END;
CREATE TRIGGER status_gone AFTER DELETE ON statuses
BEGIN
  INSERT INTO changes (kind, id) VALUES ('company', OLD.company_id);
END;
CREATE TRIGGER branch_changed AFTER UPDATE ON branches
BEGIN
  INSERT INTO changes (kind, id) VALUES ('company', OLD.company_id), ('company', NEW.company_id);
END;
CREATE TRIGGER department_changed AFTER UPDATE ON departments
BEGIN
  INSERT INTO changes (kind, id) VALUES ('company', OLD.company_id), ('company', NEW.company_id);
END;

CREATE TRIGGER user_changed AFTER UPDATE ON users
BEGIN
  INSERT INTO changes (kind, id) VALUES ('user', OLD.id);
END;
CREATE TRIGGER user_gone AFTER DELETE ON users
BEGIN
  INSERT INTO changes (kind, id) VALUES ('user', OLD.id);
END;
CREATE TRIGGER token_revoked AFTER INSERT ON revoked_tokens
BEGIN
  INSERT INTO changes (kind, id) VALUES ('token', NEW.token_id);
END;
