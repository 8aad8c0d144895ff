-- Hooks that send the leads themselves. The url of such a hook ends in #lead or #leads. Its announced_through is the created_at of the last
-- lead that the receiver has accepted, its announced_since is where the subscription started.

-- The end of the request that was begun and is not known to be accepted: a repetition has the same end. Null: there is none.
ALTER TABLE hooks ADD COLUMN attempted_through INTEGER;
