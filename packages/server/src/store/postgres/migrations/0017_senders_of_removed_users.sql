-- Finds the senders of a company whose user was removed.
CREATE INDEX senders_unkept ON leadtap.senders (company_id) WHERE last_unkept_at IS NOT NULL;
