-- The ids of leads that were erased for good. A lead with such an id is not added again unless its writer asks for it.
-- Without a reference to companies: a company that is deleted and inserted again must not get the leads back.
CREATE TABLE erased_leads (
  company_id TEXT NOT NULL,
  -- SHA-256 in hexadecimal, because an id may be personal data.
  id_hash    TEXT NOT NULL CHECK (length(id_hash) = 64),
  erased_at  INTEGER NOT NULL,
  PRIMARY KEY (company_id, id_hash)
) STRICT, WITHOUT ROWID;

-- The users of one company, sorted by id, for `leadtap org export`.
CREATE INDEX users_by_company ON users (company_id, id);
