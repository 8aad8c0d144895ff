-- Hooks that send the leads themselves. The url of such a hook ends in #lead or #leads. Its announced_through is the created_at of the last
-- lead that the receiver has accepted, its announced_since is where the subscription started.

ALTER TABLE leadtap.hooks ADD COLUMN attempted_through leadtap.moment;
COMMENT ON COLUMN leadtap.hooks.url IS 'A secret: who knows it can call the receiver. It ends in #lead or #leads if the hook sends leads instead of events.';
COMMENT ON COLUMN leadtap.hooks.announced_since IS 'The since of the last accepted event. Of a hook that sends leads: where the subscription started.';
COMMENT ON COLUMN leadtap.hooks.attempted_through IS 'Of a hook that sends leads: the end of the request that was begun and is not known to be accepted. A repetition has the same end.';
