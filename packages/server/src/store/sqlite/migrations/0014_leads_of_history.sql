-- Imported history. A consumer that had polled before has such a lead only if it is in received_leads.
CREATE INDEX leads_of_history ON leads (company_id, created_at) WHERE created_at <> automation_created_at;
