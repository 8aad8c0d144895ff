-- Tokens that may only send leads are no consumers.
DELETE FROM consumers WHERE token_id IN (SELECT id FROM issued_tokens WHERE scope = 'leads:write');
