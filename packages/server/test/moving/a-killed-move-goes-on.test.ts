import { once } from 'node:events';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { spawnLeadtap } from '../harness/leadtap-process.ts';
import { ORGANISATION } from '../harness/organisation.ts';
import { moveArgv, moveUp } from './commands.ts';
import { type Ends, makeEnds } from './ends.ts';
import { StoreProcess } from './store-process.ts';

/** As many as one transaction of a move writes. */
const BATCH = 1000;
const BATCHES = 9;
const LEADS = BATCH * BATCHES;

async function makeFullEnds(): Promise<Ends> {
  const ends = await makeEnds();
  const store = new StoreProcess(ends.from);
  await store.call('applyOrganisation', ORGANISATION);
  for (let start = 0; start < LEADS; start += BATCH) {
    const batch = Array.from({ length: BATCH }, (_, index) => ({
      companyId: (start + index) % 3 === 0 ? 'globex' : 'acme',
      id: `lead-${start + index}`,
      createdAt: 1_700_000_000_000 + start + index,
      fields: { firstName: 'Ada', customFields: { number: start + index } },
    }));
    await store.add(batch, { historical: true });
  }
  await store.close();
  return ends;
}

/** 0 while there is no table. */
async function count({ sql }: Ends, table: string): Promise<number> {
  const [there] = await sql(`SELECT to_regclass('leadtap.${table}') IS NOT NULL AS there`);
  if (!there?.['there']) return 0;
  const [row] = await sql(`SELECT count(*)::integer AS rows FROM leadtap.${table}`);
  return Number(row?.['rows']);
}

/** Runs the command as a process of its own, and sends it a signal as soon as so many leads are there. */
async function moveAndStop(ends: Ends, signal: NodeJS.Signals, leads: number) {
  const { child, ended } = spawnLeadtap(moveArgv(ends), {}, ends.folder);
  await once(child, 'spawn');
  while (child.exitCode === null && (await count(ends, 'leads')) < leads);
  child.kill(signal);
  return ended;
}

/** From before the first batch to after the last one. */
const [moments = []] = fc.sample(
  fc.tuple(
    fc.constant(0),
    fc.integer({ min: 1, max: 2 * BATCH }),
    fc.integer({ min: 3 * BATCH, max: 5 * BATCH }),
    fc.integer({ min: 5 * BATCH, max: 7 * BATCH }),
    fc.constant(LEADS),
  ),
  1,
);

test(`a move that is killed when ${moments.join(', ')} leads are there is complete when it is run again`, async () => {
  const ends = await makeFullEnds();
  for (const moment of moments) {
    const { signal } = await moveAndStop(ends, 'SIGKILL', moment);
    const leads = await count(ends, 'leads');
    expect(leads % BATCH, 'a page is there as a whole or not at all').toBe(0);
    if (signal === 'SIGKILL' && leads < LEADS) expect(await count(ends, 'users')).toBe(0);
  }
  const { code, stdout } = await moveUp(ends, '--json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ verified: true, rows: { leads: LEADS, users: 7 } });
  expect(await count(ends, 'leads')).toBe(LEADS);
});

test('Ctrl+C ends it in order, and it goes on when it is run again', async () => {
  const ends = await makeFullEnds();
  const { code, stdout, stderr } = await moveAndStop(ends, 'SIGINT', 1);
  expect({ code, stdout, stderr }).toEqual({
    code: 130,
    stdout: '',
    stderr: 'Interrupted. Run the same command again to go on.\n',
  });
  expect(await count(ends, 'leads')).toBeGreaterThan(0);
  expect(await count(ends, 'users')).toBe(0);
  expect((await moveUp(ends)).code).toBe(0);
});
