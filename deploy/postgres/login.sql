-- Creates the login of the instances, with the rights of leadtap_service. Run `leadtap migrate` first: it creates that role.
-- Needs psql 15 or later, and a login that may create roles. You can run it again, also to change the password:
--   SERVICE_PASSWORD=… psql --file=deploy/postgres/login.sql "$OWNER_URL"
\set ON_ERROR_STOP on
SET client_min_messages = warning;

\getenv password SERVICE_PASSWORD
\if :{?password}
\else
  DO $$ BEGIN RAISE 'SERVICE_PASSWORD is not set'; END $$;
\endif

SELECT 'CREATE ROLE leadtap_app' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'leadtap_app') \gexec
ALTER ROLE leadtap_app LOGIN PASSWORD :'password';
GRANT leadtap_service TO leadtap_app;
