import { describe, expect, it } from 'vitest';
import { findingsOf } from '../../../../testing/delivery-trial/findings.ts';
import { mutatePostgres, type PostgresMutation } from '../../../../testing/delivery-trial/mutations.ts';
import { contentionWriter } from '../../../../testing/delivery-trial/postgres/contention-writer.ts';
import { copyByTrigger } from '../../../../testing/delivery-trial/postgres/copying-trigger.ts';
import {
  changeAndPoll,
  commitWhilePollsWait,
  FORCED_SCENES,
  force,
  overtake,
  reinsertUnplacedDuringDelete,
} from '../../../../testing/delivery-trial/postgres/forced.ts';
import { insertWriter } from '../../../../testing/delivery-trial/postgres/insert-writer.ts';
import { historyWriter } from '../../../../testing/delivery-trial/postgres/other-actors.ts';
import { makeTestTrial } from '../../../../testing/harness/delivery-trial.ts';

const TRANSACTIONS_OF_EACH = 10;

describe('programs that write leads with plain SQL', () => {
  it('lose, double and hide nothing, whatever they insert, update, move, delete and roll back', async () => {
    const { trial, url, companyIds } = await makeTestTrial({ companies: 2, usersOfEach: 25 });
    const names = (name: string) => Array.from({ length: 4 }, (_, index) => `${name}-${index + 1}`);
    const actors = [
      ...names('writer').map((name) => insertWriter(url, name, companyIds)),
      ...names('contender').map((name) => contentionWriter(url, name, companyIds)),
      historyWriter(url, companyIds),
    ];
    await trial.run(actors, { seed: 20_260_302, isEnough: (done) => done >= TRANSACTIONS_OF_EACH });
    expect(findingsOf(await trial.finish())).toEqual({});
    // Every kind of event happened.
    expect([...trial.recorder.counts.keys()]).toEqual(
      expect.arrayContaining([
        'inserts (values)',
        'inserts (select)',
        'inserts (copy)',
        'historical inserts',
        'updates',
        'moves',
        'deletes',
        'transactions: commit',
        'transactions: roll back',
        'transactions: cut off',
        'answers 304',
      ]),
    );
  });

  it('lose nothing in any order of events that is known to be dangerous', async () => {
    const scene = await makeTestTrial({ companies: 2, isQuiet: true, usersOfEach: 25 });
    for (const act of [...FORCED_SCENES, copyByTrigger]) {
      await force(scene, act);
      const findings = findingsOf(await scene.trial.finish());
      expect({ act: act.name, findings }).toEqual({ act: act.name, findings: {} });
    }
  });
});

describe('a deliberate defect of the schema is seen', () => {
  /** Some depend on timing, so they are retried. */
  async function find(mutation: PostgresMutation, ...acts: typeof FORCED_SCENES): Promise<string[]> {
    const scene = await makeTestTrial({ companies: 2, usersOfEach: 25 });
    await mutatePostgres(scene.url, mutation);
    for (let tries = 1; ; tries += 1) {
      for (const act of acts) await force(scene, act);
      const found = Object.keys(findingsOf(await scene.trial.finish()));
      if (found.length > 0 || tries === 20) return found;
    }
  }

  it.each<PostgresMutation>(['no-writer-lock', 'no-poll-lock', 'early-snapshot', 'clock-date'])(
    '%s: a client that remembers the Date loses leads',
    async (mutation) => {
      const found = await find(mutation, overtake, commitWhilePollsWait);
      expect(found).toEqual(expect.arrayContaining(['lost', 'broken']));
    },
  );

  it('clock-stamps: every client loses leads', async () => {
    expect(await find('clock-stamps', overtake)).toEqual(expect.arrayContaining(['lost', 'broken']));
  });

  it('lost-reinsert: a lead that was acknowledged is not stored', async () => {
    const found = await find('lost-reinsert', reinsertUnplacedDuringDelete);
    expect(found).toEqual(expect.arrayContaining(['lost', 'complaints']));
  });

  it('no-change-log: pages show deleted leads and old versions', async () => {
    expect(await find('no-change-log', changeAndPoll)).toEqual(expect.arrayContaining(['stale']));
  });

  it('a mutation that does not fit the schema fails, instead of changing nothing', async () => {
    const { url } = await makeTestTrial();
    await mutatePostgres(url, 'no-writer-lock');
    await expect(mutatePostgres(url, 'no-writer-lock')).rejects.toThrow('does not fit the schema');
  });
});
