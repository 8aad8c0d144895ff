-- Brings leadtap.read_batch (lead-functions.sql) for requests of several companies to databases; the one of 0002 had other parameters.
DROP FUNCTION IF EXISTS leadtap.read_batch(json, text[], text[], text, text[], boolean);
