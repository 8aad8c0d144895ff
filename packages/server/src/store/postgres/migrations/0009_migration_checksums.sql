ALTER TABLE leadtap.migrations ADD COLUMN checksum text;
COMMENT ON COLUMN leadtap.migrations.checksum IS 'SHA-256 of the migration in hexadecimal. Each program compares it with its own before it changes anything.';
