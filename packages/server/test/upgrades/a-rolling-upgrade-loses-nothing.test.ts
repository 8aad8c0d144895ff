import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import type { Actor } from '../../../testing/delivery-trial/actor.ts';
import { httpSender, sendersOf } from '../../../testing/delivery-trial/actors/http-sender.ts';
import { findingsOf } from '../../../testing/delivery-trial/findings.ts';
import { companyIds, organisationOf, pollersOf } from '../../../testing/delivery-trial/pollers/profiles.ts';
import { insertWriter } from '../../../testing/delivery-trial/postgres/insert-writer.ts';
import { readStoredFrom } from '../../../testing/delivery-trial/postgres/stored.ts';
import { readStoredFromFile, statementWriter } from '../../../testing/delivery-trial/sqlite/statements.ts';
import { Trial } from '../../../testing/delivery-trial/trial.ts';
import { eventually } from '../faults/eventually.ts';
import { makeNextVersion } from './next-version.ts';
import { type Instance, type LeadtapVersion, programOf } from './programs.ts';
import { type ReleaseDatabase, restoreRelease, unpackProgram } from './release.ts';

const USERS_OF_EACH = 12;
const WRITES_OF_A_STEP = 40;
/** Of a writer that has to wait. */
const PAUSE_MS = 10;

/** Clients and writers of companies of their own, beside the data of the fixture. */
async function makeTrial(database: ReleaseDatabase, old: LeadtapVersion) {
  const ids = companyIds(1);
  const pollers = ids.flatMap((id) => pollersOf({ id, hasWaitingClients: true }, USERS_OF_EACH));
  const organisation = organisationOf(
    ids.map((id) => ({ id })),
    pollers,
  );
  writeFileSync(join(database.folder, 'trial.json'), JSON.stringify(organisation));
  expect(await old.run('org', 'apply', 'trial.json')).toMatchObject({ code: 0 });
  const scopes = ['--scope', 'leads:read', '--scope', 'leads:write'];
  const issued = await old.run('token', 'issue', '--all-users', '--json', ...scopes);
  const list: { userId: string; token: string }[] = JSON.parse(issued.stdout);
  const tokens = new Map(list.map(({ userId, token }) => [userId, token]));

  const urls: string[] = [];
  const installation = { urls, token: async (userId: string) => tokens.get(userId) ?? '' };
  const isSqlite = inject('store') === 'sqlite';
  const file = join(database.folder, 'leadtap.db');
  const readStored = isSqlite ? readStoredFromFile(file) : readStoredFrom(database.url, ids);
  const trial = new Trial({
    installation,
    pollers,
    // On a busy machine a poll may wait too long for its database. It is asked again, and judged then.
    mayFail: (_client, status) => status === 503,
    readStored: async () => (await readStored()).filter(({ companyId }) => ids.includes(companyId)),
  });
  const sql = isSqlite
    ? statementWriter({ file, name: 'sql', companyIds: ids, ids: ['sql-1'] })
    : insertWriter(database.url, 'sql', ids);
  const users = sendersOf(pollers);
  const senders = ['http-1', 'http-2'].map((name) =>
    httpSender({ name, installation, users, toleratesFaults: true }),
  );
  return { trial, urls, writers: [sql, ...senders] };
}

it('while two versions are polled and written to, no lead is lost or doubled', async () => {
  const database = await restoreRelease();
  const old = programOf(database, unpackProgram());
  const current = programOf(database, makeNextVersion().bin);
  const { trial, urls, writers } = await makeTrial(database, old);
  const { recorder } = trial;
  let allowedWrites = 0;
  /** Writes go on after it, during the next step, but not without end: the clients must be able to read all of them. */
  const work = async () => {
    const { writes } = recorder;
    allowedWrites = writes + WRITES_OF_A_STEP;
    await eventually(() => expect(recorder.writes - writes).toBeGreaterThan(WRITES_OF_A_STEP / 4));
    await trial.pollOnce();
  };
  const whileAllowed = (writer: Actor): Actor => ({
    name: writer.name,
    run: async (context) => {
      for (let runs = 0; context.goesOn(runs); runs += 1) {
        await writer.run({
          ...context,
          goesOn: (done) => recorder.writes < allowedWrites && context.goesOn(done),
        });
        await context.pause(PAUSE_MS);
      }
    },
  });
  const start = async (version: LeadtapVersion): Promise<Instance> => {
    const instance = await version.serve();
    urls.push(instance.url);
    return instance;
  };
  const retire = async ({ url, stop }: Instance) => {
    urls.splice(urls.indexOf(url), 1);
    // On a slow machine, a client that has chosen the address may connect after the end of the drain time.
    await trial.pollOnce();
    await stop();
  };

  const first = await start(old);
  let isUpgraded = false;
  const upgrade: Actor = {
    name: 'upgrade',
    run: async () => {
      await work();
      const { stdout } = await current.run('migrate', '--json');
      expect(JSON.parse(stdout).applied).not.toEqual([]);
      await work();
      await start(current);
      await work();
      await retire(first);
      await work();
      isUpgraded = true;
    },
  };
  await trial.run([upgrade, ...writers.map(whileAllowed)], { seed: 7, isEnough: () => isUpgraded });
  expect(findingsOf(await trial.finish())).toEqual({});
  expect(recorder.counts.get('answers to waiting clients')).toBeGreaterThan(0);
});
