-- Brings leadtap.read_batch, leadtap.add_leads and leadtap.read_leads (lead-functions.sql) to databases: a write takes a few calls instead
-- of a statement for each thing that it reads, and a page of leads is returned as JSON. This is how it writes times.

-- The year 0 of ISO 8601 is 1 BC here. Not STRICT: then, PostgreSQL could not inline it.
CREATE FUNCTION leadtap.to_iso(at timestamptz) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
  RETURN CASE WHEN at >= timestamptz '0001-01-01 00:00:00+00' THEN to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
              ELSE to_char(at AT TIME ZONE 'UTC', '"0000"-MM-DD"T"HH24:MI:SS.MS"Z"') END;
COMMENT ON FUNCTION leadtap.to_iso(timestamptz) IS 'As 2026-03-02T09:30:00.001Z, in UTC.';
