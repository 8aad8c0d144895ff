import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { spawnLeadtap } from '../../../testing/harness/leadtap-process.ts';
import { ORGANISATION } from '../../../testing/harness/organisation.ts';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { eventually } from '../faults/eventually.ts';
import { connect } from '../faults/sql.ts';
import { moveArgv, runMove } from './commands.ts';
import { type Endpoints, makeEndpoints } from './endpoints.ts';
import { StoreProcess } from './store-process.ts';

/** The number of leads in one transaction of a move. */
const BATCH = 1000;
const BATCHES = 3;
const LEADS = BATCH * BATCHES;
/** An arbitrary key of the lock that a move waits for. */
const LOCK = 20_260_302;

/** Three quarters of the leads are those of acme, which are moved first. */
const companyOf = (index: number) => (index % 4 === 0 ? 'globex' : 'acme');

async function makeSource(): Promise<Buffer> {
  const file = join(tempFolder(), 'leadtap.db');
  const store = new StoreProcess(`sqlite:${file}`);
  await store.call('applyOrganisation', ORGANISATION);
  for (let start = 0; start < LEADS; start += BATCH) {
    const batch = Array.from({ length: BATCH }, (_, index) => ({
      companyId: companyOf(start + index),
      id: `lead-${start + index}`,
      createdAt: 1_700_000_000_000 + start + index,
      fields: { firstName: 'Ada', customFields: { number: start + index } },
    }));
    await store.add(batch, { historical: true });
  }
  await store.close();
  return readFileSync(file);
}

let source: Promise<Buffer> | undefined;

async function makeFullEndpoints(): Promise<Endpoints> {
  source ??= makeSource();
  return makeEndpoints({ source: await source });
}

async function count({ sql }: Endpoints, table: string): Promise<number> {
  const [row] = await sql(`SELECT count(*)::integer AS rows FROM leadtap.${table}`);
  return Number(row?.['rows']);
}

/** Makes the move wait at this lead until the lock is released. */
const waitAt = (leadId: string) => `
  CREATE OR REPLACE FUNCTION wait_for_test() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM set_config('lock_timeout', '0', true);
    PERFORM pg_advisory_xact_lock_shared(${LOCK});
    RETURN NEW;
  END $$;
  CREATE TRIGGER a_wait_for_test BEFORE INSERT ON leadtap.leads FOR EACH ROW
    WHEN (NEW.id = '${leadId}') EXECUTE FUNCTION wait_for_test();
  SELECT pg_advisory_lock(${LOCK})`;

const MOVES = `FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'leadtap'`;

/** Runs the command as a process, and sends it a signal while it writes the batch of this lead. */
async function moveAndStop(endpoints: Endpoints, signal: NodeJS.Signals, leadId: string) {
  const holder = await connect(endpoints.to);
  await holder.query(waitAt(leadId));
  const moves = async (condition: string) =>
    (await holder.query(`SELECT 1 ${MOVES} AND ${condition}`)).rowCount;
  const { child, ended } = spawnLeadtap(moveArgv(endpoints), {}, endpoints.folder);
  await once(child, 'spawn');
  await eventually(async () =>
    expect(await moves(`wait_event_type = 'Lock' AND wait_event = 'advisory'`)).toBe(1),
  );
  child.kill(signal);
  // The transaction of a killed process stays open; a process that handles the signal finishes it first.
  if (signal === 'SIGKILL') await ended;
  await holder.query(`SELECT pg_advisory_unlock(${LOCK})`);
  const how = await ended;
  await eventually(async () => expect(await moves('true')).toBe(0));
  await holder.query('DROP TRIGGER a_wait_for_test ON leadtap.leads');
  await holder.end();
  return how;
}

test('a move that is killed in its first, second and last batch is complete when it is run again', async () => {
  const endpoints = await makeFullEndpoints();
  const moments = { 'lead-1': 0, 'lead-2001': BATCH, 'lead-2996': LEADS - BATCH };
  for (const [leadId, committed] of Object.entries(moments)) {
    expect(await moveAndStop(endpoints, 'SIGKILL', leadId)).toMatchObject({ signal: 'SIGKILL' });
    expect(await count(endpoints, 'leads'), 'a page is there as a whole or not at all').toBe(committed);
    expect(await count(endpoints, 'users')).toBe(0);
  }
  const { code, stdout } = await runMove(endpoints, '--json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ verified: true, rows: { leads: LEADS, users: 7 } });
  expect(await count(endpoints, 'leads')).toBe(LEADS);
});

test('Ctrl+C stops a move cleanly, and it continues when it is run again', async () => {
  const endpoints = await makeFullEndpoints();
  const { code, stdout, stderr } = await moveAndStop(endpoints, 'SIGINT', 'lead-2001');
  expect({ code, stdout, stderr }).toEqual({
    code: 130,
    stdout: '',
    stderr: 'Interrupted. To continue, run the same command again.\n',
  });
  expect(await count(endpoints, 'leads')).toBeGreaterThan(0);
  expect(await count(endpoints, 'users')).toBe(0);
  expect((await runMove(endpoints)).code).toBe(0);
});
