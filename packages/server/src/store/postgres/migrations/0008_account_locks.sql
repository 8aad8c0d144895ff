-- A request that sends leads checks its account and commits; no change of the account may be committed in between. So the request
-- locks its user and its token in shared mode before the check, and the triggers lock the users and the tokens that a statement has
-- changed, exclusively. The second of the two waits until the first has committed. Users and tokens have locks of their own, so that
-- no revocation waits for a long transaction that changes users.

-- 1,024 locks for all ids of a kind: a transaction that changes more users than the server has locks must not fail. Ids that share a
-- lock wait for each other; nothing else happens.
CREATE FUNCTION leadtap.account_lock(id text) RETURNS integer LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN hashtext(id) & 1023;
COMMENT ON FUNCTION leadtap.account_lock(text) IS 'The second key of the advisory lock of a user or a token; the first is leadtap.lock_class() + 1 for users, + 2 for tokens.';

CREATE FUNCTION leadtap.lock_changed_accounts(kind integer, ids text[]) RETURNS void LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  lock_key integer;
BEGIN
  FOR lock_key IN SELECT DISTINCT leadtap.account_lock(id) FROM unnest(ids) AS id ORDER BY 1 LOOP
    PERFORM pg_advisory_xact_lock(leadtap.lock_class() + kind, lock_key);
  END LOOP;
END $$;
COMMENT ON FUNCTION leadtap.lock_changed_accounts(integer, text[]) IS 'Takes the locks of users (kind 1) or tokens (kind 2) until the transaction ends, in the one order that avoids deadlocks.';

CREATE FUNCTION leadtap.lock_sender(user_id text, token_id text) RETURNS void LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(leadtap.lock_class() + 1, leadtap.account_lock(user_id));
  IF token_id IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock_shared(leadtap.lock_class() + 2, leadtap.account_lock(token_id));
  END IF;
END $$;
COMMENT ON FUNCTION leadtap.lock_sender(text, text) IS 'Until the transaction ends, no other one can commit a change of this user, or revoke this token.';

CREATE FUNCTION leadtap.lock_changed_users() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM leadtap.lock_changed_accounts(1, ARRAY(SELECT c.id FROM changed AS c));
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.lock_changed_users() IS 'Waits for the requests that send leads as one of these users.';
CREATE TRIGGER lock_changed_users AFTER UPDATE ON leadtap.users REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.lock_changed_users();
CREATE TRIGGER lock_removed_users AFTER DELETE ON leadtap.users REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.lock_changed_users();

CREATE FUNCTION leadtap.lock_revoked_tokens() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM leadtap.lock_changed_accounts(2, ARRAY(SELECT c.token_id FROM changed AS c));
  RETURN NULL;
END $$;
COMMENT ON FUNCTION leadtap.lock_revoked_tokens() IS 'Waits for the requests that send leads with one of these tokens.';
CREATE TRIGGER lock_revoked_tokens AFTER INSERT ON leadtap.revoked_tokens REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION leadtap.lock_revoked_tokens();
