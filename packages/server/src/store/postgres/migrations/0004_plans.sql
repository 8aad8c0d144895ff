-- Polls plan their statements once for each connection. With sequential scans switched off, PostgreSQL takes a plan for so dear
-- that making another one seems to cost nothing, and made one for every call: half of the time of a look.
-- A plan that stays must also suit tables that grow: joins that read a small table as a whole are switched off too.
ALTER FUNCTION leadtap.look(text[], text[], text[], text)
  SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off;
ALTER FUNCTION leadtap.read_page(text, text, text, bigint, integer, integer)
  SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off;
