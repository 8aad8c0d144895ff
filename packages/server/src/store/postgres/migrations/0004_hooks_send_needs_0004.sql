-- What a hook sends is a column, no longer the fragment of its URL, and batches of leads (#leads) are gone: such a hook sends one lead in each
-- request. An older program would send events to it and move its position, so it is refused.

ALTER TABLE leadtap.hooks ADD COLUMN send text COLLATE "C" NOT NULL DEFAULT 'event' CHECK (send IN ('event', 'lead')), DROP COLUMN attempted_through;
ALTER TABLE leadtap.hooks ALTER COLUMN send DROP DEFAULT;
DROP INDEX leadtap.hooks_by_user;
UPDATE leadtap.hooks SET url = regexp_replace(url, '#leads?$', ''), send = 'lead' WHERE url ~ '#leads?$';
-- Of two that sent leads to one URL, the one that works and is further behind stays: no lead is skipped.
DELETE FROM leadtap.hooks AS h USING leadtap.hooks AS o
 WHERE o.user_id = h.user_id AND o.token_id = h.token_id AND o.url = h.url AND o.send = h.send
   AND (o.disabled_at IS NOT NULL, o.announced_through, o.id) < (h.disabled_at IS NOT NULL, h.announced_through, h.id);
CREATE UNIQUE INDEX hooks_by_user ON leadtap.hooks (user_id, token_id, sha256(replace(url, '\', '\\')::bytea), send);

COMMENT ON COLUMN leadtap.hooks.url IS 'A secret: who knows it can call the receiver.';
COMMENT ON COLUMN leadtap.hooks.send IS 'event: that there are leads. lead: each lead.';
