import { withClient } from './with-client.ts';

/** A sequence is outside of transactions: a step counts at once, in every snapshot. */
const STEPPED_CLOCK = `
  CREATE SCHEMA trial;
  GRANT USAGE ON SCHEMA trial TO PUBLIC;
  CREATE SEQUENCE trial.clock_offset_ms MINVALUE -864000000 MAXVALUE 864000000 START 0;
  GRANT SELECT ON SEQUENCE trial.clock_offset_ms TO PUBLIC;
  CREATE OR REPLACE FUNCTION leadtap.clock_ms() RETURNS bigint LANGUAGE sql VOLATILE
    RETURN floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + (SELECT o.last_value FROM trial.clock_offset_ms AS o);`;

/** Puts a clock into the database that can be stepped while everything runs. */
export async function installSteppedClock(url: string): Promise<(offsetMs: number) => Promise<void>> {
  await withClient(url, (client) => client.query(STEPPED_CLOCK));
  return (offsetMs) =>
    withClient(url, async (client) => {
      await client.query(`SELECT setval('trial.clock_offset_ms', $1)`, [offsetMs]);
    });
}
