-- Three roles without login: your own logins become members of them (docs/postgresql.md). Roles belong to the whole server, so the
-- migration of another database may have created them already, or may create them at the same time. Without the right to create
-- roles, there are none.
DO $$
DECLARE
  made record;
BEGIN
  FOR made IN VALUES
    ('leadtap_owner', 'Leadtap: owns the schema leadtap and migrates it.'),
    ('leadtap_service', 'Leadtap: what the service and its commands need, without the right to change the schema.'),
    ('leadtap_writer', 'Leadtap: what the lead-management system needs to write leads with SQL.')
  LOOP
    BEGIN
      IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = made.column1) THEN
        EXECUTE format('CREATE ROLE %I NOLOGIN', made.column1);
        EXECUTE format('COMMENT ON ROLE %I IS %L', made.column1, made.column2);
      END IF;
    EXCEPTION WHEN insufficient_privilege OR duplicate_object OR unique_violation THEN
      NULL;
    END;
  END LOOP;
  -- The user that migrates creates the schema as its owner.
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'leadtap_owner') THEN
    BEGIN
      IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
        EXECUTE format('GRANT leadtap_owner TO %I', current_user);
      END IF;
      EXECUTE format('GRANT CREATE ON DATABASE %I TO leadtap_owner', current_database());
    EXCEPTION WHEN insufficient_privilege THEN
      NULL;
    END;
  END IF;
END $$;
