-- When confirmed_through last rose, so that a client that sends the same `since` again and again is noticed.
ALTER TABLE consumers ADD COLUMN confirmed_at INTEGER;
