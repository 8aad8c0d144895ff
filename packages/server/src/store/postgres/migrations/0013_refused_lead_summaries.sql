-- All that the diagnosis and the bounds read of refused requests: without it, each row is read with its errors.
CREATE INDEX refused_leads_by_sender ON leadtap.refused_leads (company_id, user_id, token_id, code, received_at, last_at, times, bytes, id);
DROP INDEX leadtap.refused_leads_by_company;
