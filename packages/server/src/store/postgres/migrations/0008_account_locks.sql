-- A request that sends leads checks its account and commits; no change of the account may be committed in between. So the request
-- locks the ids of its user and of its token in shared mode before the check, and the triggers lock the ids that a statement has
-- changed, exclusively. The second of the two waits until the first has committed.

-- 64 locks for all ids: a statement that changes more users than the server has locks must not fail. Ids that share a lock wait
-- for each other; nothing else happens.
CREATE FUNCTION leadtap.account_lock(id text) RETURNS integer LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN hashtext(id) & 63;
COMMENT ON FUNCTION leadtap.account_lock(text) IS 'The second key of the advisory lock of a user or a token; the first is leadtap.lock_class() + 1.';

CREATE FUNCTION leadtap.lock_accounts(ids text[], is_change boolean) RETURNS void LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  lock_key integer;
BEGIN
  FOR lock_key IN SELECT DISTINCT leadtap.account_lock(id) FROM unnest(ids) AS id ORDER BY 1 LOOP
    IF is_change THEN
      PERFORM pg_advisory_xact_lock(leadtap.lock_class() + 1, lock_key);
    ELSE
      PERFORM pg_advisory_xact_lock_shared(leadtap.lock_class() + 1, lock_key);
    END IF;
  END LOOP;
END $$;
COMMENT ON FUNCTION leadtap.lock_accounts(text[], boolean) IS 'Takes the locks of users and tokens until the transaction ends, in the one order that avoids deadlocks.';

CREATE FUNCTION leadtap.lock_changed_users() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM leadtap.lock_accounts(ARRAY(SELECT c.id FROM changed AS c), true);
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.lock_changed_users() IS 'Waits for the requests that send leads as one of these users.';
CREATE TRIGGER lock_changed_users AFTER UPDATE ON leadtap.users REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.lock_changed_users();
CREATE TRIGGER lock_removed_users AFTER DELETE ON leadtap.users REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.lock_changed_users();

CREATE FUNCTION leadtap.lock_revoked_tokens() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM leadtap.lock_accounts(ARRAY(SELECT c.token_id FROM changed AS c), true);
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.lock_revoked_tokens() IS 'Waits for the requests that send leads with one of these tokens.';
CREATE TRIGGER lock_revoked_tokens AFTER INSERT ON leadtap.revoked_tokens REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.lock_revoked_tokens();
