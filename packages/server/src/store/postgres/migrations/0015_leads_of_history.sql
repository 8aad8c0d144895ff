-- Imported history. A consumer that had polled before has such a lead only if it is in received_leads.
CREATE INDEX leads_of_history ON leadtap.leads (company_id, created_at) WHERE created_at <> automation_created_at;
COMMENT ON TABLE leadtap.received_leads IS 'The moved leads, and those of history that was imported after the first poll, that were in a page that was sent to a consumer, or that a webhook has accepted.';
