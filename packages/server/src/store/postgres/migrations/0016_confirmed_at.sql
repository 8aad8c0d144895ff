-- So that a client that sends the same `since` again and again is noticed.
ALTER TABLE leadtap.consumers ADD COLUMN confirmed_at leadtap.moment;
COMMENT ON COLUMN leadtap.consumers.confirmed_at IS 'When confirmed_through last rose, or the last poll before leads after it were sent. Null: unknown, or the last page was asked for without since.';
