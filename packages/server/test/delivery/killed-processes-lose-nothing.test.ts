import { spawn } from 'node:child_process';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { expect, inject, it } from 'vitest';
import { atMost } from '../../../testing/delivery-trial/actor.ts';
import { httpSender, sendersOf } from '../../../testing/delivery-trial/actors/http-sender.ts';
import { importProcess } from '../../../testing/delivery-trial/actors/import-process.ts';
import { instanceCrasher } from '../../../testing/delivery-trial/actors/instance-crasher.ts';
import { isFaultStatus } from '../../../testing/delivery-trial/declared.ts';
import { findingsOf } from '../../../testing/delivery-trial/findings.ts';
import { companyIds, organisationOf, pollersOf } from '../../../testing/delivery-trial/pollers/profiles.ts';
import { readStoredFrom } from '../../../testing/delivery-trial/postgres/stored.ts';
import { Random } from '../../../testing/delivery-trial/random.ts';
import { readStoredFromFile } from '../../../testing/delivery-trial/sqlite/statements.ts';
import { Trial } from '../../../testing/delivery-trial/trial.ts';
import { installService } from '../../../testing/harness/installed-service.ts';

const BIN = fileURLToPath(new URL('../../bin/leadtap.js', import.meta.url));
const INSTANCES = 2;

it('keeps what instances and imports acknowledged before SIGKILL, and delivers each lead once', async () => {
  const ids = companyIds(2);
  const pollers = ids.flatMap((id) => pollersOf({ id }, 25));
  const organisation = organisationOf(
    ids.map((id) => ({ id })),
    pollers,
  );
  const service = await installService({ organisation, instances: INSTANCES });
  const { url, env } = service.database;
  const trial = new Trial({
    installation: service,
    pollers,
    readStored:
      inject('store') === 'sqlite'
        ? readStoredFromFile(url.replace(/^sqlite:/, ''))
        : readStoredFrom(url, ids),
    mayFail: (_client, status) => status === undefined || isFaultStatus(status),
  });
  const spawnLeadtap = (argv: readonly string[]) =>
    spawn(process.execPath, [BIN, ...argv], { env: { PATH: process.env['PATH'] ?? '', ...env } });
  // Many requests are repeated although they were stored: their sender gave up before the answer.
  const random = new Random(3);
  const timeoutMs = () => (random.chance(20) ? 5 + random.below(40) : undefined);
  const senders = ['http-1', 'http-2', 'http-3', 'http-4'].map((name) =>
    httpSender({
      ...{ name, users: sendersOf(pollers), toleratesFaults: true },
      installation: { ...service, timeoutMs },
    }),
  );
  const imports = importProcess({ name: 'import', companyIds: ids, contendedIds: [], spawnLeadtap });
  const actors = [
    ...senders.map((actor) => atMost(60, actor)),
    atMost(5, imports),
    atMost(4, instanceCrasher(INSTANCES, service.kill)),
  ];
  await trial.run(actors, { seed: 3, isEnough: () => false });
  expect(findingsOf(await trial.finish())).toEqual({});
  // The trial has done what it is for.
  expect(trial.recorder.counts.get('instance crashes')).toBe(4);
  expect([...trial.recorder.counts.keys()]).toEqual(
    expect.arrayContaining(['imports killed', 'sent leads answered not at all', 'leads over HTTP']),
  );
});
