-- The rights of each role. Granted again by every `leadtap migrate`, so that a role that was created later gets its rights.
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'leadtap_service') THEN
    GRANT USAGE ON SCHEMA leadtap TO leadtap_service;
    GRANT SELECT ON ALL TABLES IN SCHEMA leadtap TO leadtap_service;
    GRANT INSERT, UPDATE ON leadtap.companies, leadtap.branches, leadtap.departments, leadtap.leads TO leadtap_service;
    GRANT INSERT, UPDATE, DELETE ON leadtap.statuses, leadtap.users, leadtap.erased_leads, leadtap.hooks, leadtap.refused_leads,
      leadtap.connections, leadtap.deliveries, leadtap.missed, leadtap.pending_leads, leadtap.lost_requests, leadtap.activity,
      leadtap.activity_hours, leadtap.lead_moves, leadtap.unassigned, leadtap.audits, leadtap.instances TO leadtap_service;
    GRANT INSERT, DELETE ON leadtap.idempotency_keys TO leadtap_service;
    GRANT DELETE ON leadtap.leads TO leadtap_service;
    GRANT UPDATE (name, replaced_by, used_at) ON leadtap.issued_tokens TO leadtap_service;
    GRANT INSERT ON leadtap.issued_tokens, leadtap.revoked_tokens, leadtap.deleted_stamps TO leadtap_service;
    GRANT EXECUTE ON FUNCTION leadtap.prune_changes() TO leadtap_service;
  END IF;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'leadtap_writer') THEN
    GRANT USAGE ON SCHEMA leadtap TO leadtap_writer;
    GRANT SELECT ON leadtap.companies, leadtap.statuses, leadtap.branches, leadtap.departments TO leadtap_writer;
    GRANT SELECT, INSERT, UPDATE, DELETE ON leadtap.leads TO leadtap_writer;
  END IF;
END $$;
