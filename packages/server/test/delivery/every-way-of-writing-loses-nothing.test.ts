import { spawn } from 'node:child_process';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, it } from 'vitest';
import { atMost } from '../../../testing/delivery-trial/actor.ts';
import {
  remakeCompanyWithLateStamps,
  setClockBackOnEmptyFeed,
} from '../../../testing/delivery-trial/actors/forced.ts';
import { httpSender, sendersOf } from '../../../testing/delivery-trial/actors/http-sender.ts';
import { importProcess } from '../../../testing/delivery-trial/actors/import-process.ts';
import { packageWriter } from '../../../testing/delivery-trial/actors/package-writer.ts';
import { findingsOf } from '../../../testing/delivery-trial/findings.ts';
import {
  CONTENDED_IDS,
  contentionWriter,
} from '../../../testing/delivery-trial/postgres/contention-writer.ts';
import { statementWriter } from '../../../testing/delivery-trial/sqlite/statements.ts';
import { makeTestTrial } from '../../../testing/harness/delivery-trial.ts';

const BIN = fileURLToPath(new URL('../../bin/leadtap.js', import.meta.url));

describe('leads that are written in every supported way at once', () => {
  it('reach every client: from imports, over HTTP, from programs with the package, and beside SQL', async () => {
    const { trial, url, file, service, installation, pollers, companyIds, openStore } = await makeTestTrial({
      companies: 2,
      usersOfEach: 25,
      hasWaitingClients: true,
    });
    const options = { companyIds, contendedIds: CONTENDED_IDS };
    const env = { PATH: process.env['PATH'] ?? '', ...service.database.env };
    const spawnLeadtap = (argv: readonly string[]) =>
      spawn(process.execPath, [BIN, ...argv], { cwd: service.folder, env });
    const sql = (name: string) =>
      inject('store') === 'sqlite'
        ? statementWriter({ file, name, companyIds, ids: CONTENDED_IDS })
        : contentionWriter(url, name, companyIds);
    const actors = [
      atMost(20, packageWriter({ ...options, name: 'package-1', openStore })),
      atMost(20, packageWriter({ ...options, name: 'package-2', openStore })),
      atMost(2, importProcess({ ...options, name: 'import', spawnLeadtap })),
      ...['http-1', 'http-2'].map((name) =>
        // On a busy machine a request may wait too long for its database.
        atMost(20, httpSender({ name, installation, users: sendersOf(pollers), toleratesFaults: true })),
      ),
      atMost(20, sql('sql-1')),
      atMost(20, sql('sql-2')),
    ];
    await trial.run(actors, { seed: 4, isEnough: () => false });
    expect(findingsOf(await trial.finish())).toEqual({});
    const counts = [
      'leads through the package',
      'leads imported',
      'leads over HTTP',
      'deletes',
      'updates',
      'moves',
      'answers to waiting clients',
    ];
    expect([...trial.recorder.counts.keys()]).toEqual(expect.arrayContaining(counts));
  });
});

describe('a clock that is set back by an hour', () => {
  it('hides no lead from a client that polled an empty feed before', async () => {
    const scene = await makeTestTrial({ isClockStepped: true, isQuiet: true });
    await setClockBackOnEmptyFeed(scene);
    expect(findingsOf(await scene.trial.finish())).toEqual({});
  });

  it('hides no lead of a company that is deleted and made again', async () => {
    const scene = await makeTestTrial({ isClockStepped: true, isQuiet: true });
    await remakeCompanyWithLateStamps({ ...scene, organisation: scene.only(scene.companyId) });
    expect(findingsOf(await scene.trial.finish())).toEqual({});
  });
});
