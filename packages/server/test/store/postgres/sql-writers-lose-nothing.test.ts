import { describe, expect, it } from 'vitest';
import { companyIds, organisationOf, seatsOf } from '../../delivery/trial/seats.ts';
import { Trial } from '../../delivery/trial/trial.ts';
import type { Verdict } from '../../delivery/trial/verdict.ts';
import { type WeaknessName, weaken } from '../../delivery/trial/weaknesses.ts';
import { makeTestRedis } from '../../harness/redis.ts';
import { startService } from '../../harness/service.ts';

const WRITERS = 8;
const TRANSACTIONS_OF_EACH = 20;
const COMPANIES = 2;
const USERS_OF_A_SEAT = 20;

/** Two instances that share a database and the limits, and everybody who polls them. */
async function makeTrial(companies: number): Promise<Trial> {
  const seats = companyIds(companies).flatMap((companyId) => seatsOf(companyId, USERS_OF_A_SEAT));
  const { env } = await makeTestRedis();
  const first = await startService({ env, organisation: organisationOf(seats) });
  const second = await startService({ env, organisation: { companies: [] }, beside: first });
  const installation = { urls: [first.url, second.url], token: (userId: string) => first.token(userId) };
  return new Trial({ databaseUrl: first.database.url, installation, seats });
}

async function writeAtRandom(weakness?: WeaknessName): Promise<Verdict> {
  const trial = await makeTrial(COMPANIES);
  if (weakness) await weaken(trial.databaseUrl, weakness);
  await trial.interleave();
  await trial.write({
    writers: WRITERS,
    seed: 20_260_302,
    isEnough: (transactions) => transactions >= TRANSACTIONS_OF_EACH,
  });
  return trial.finish();
}

const lostIn = ({ kinds }: Verdict) =>
  Object.entries(kinds).flatMap(([kind, { lost }]) => (lost > 0 ? [kind] : []));

describe('programs that write leads with plain SQL, commit out of order and roll back', () => {
  it('lose nothing for any client, and repeat nothing for those who go on from the last lead', async () => {
    const { kinds, broken, leads, undone, transactions } = await writeAtRandom();
    expect(broken).toEqual([]);
    expect(kinds).toMatchObject({ lastLead: { lost: 0 }, date: { lost: 0 }, link: { lost: 0 } });
    expect(kinds).toMatchObject({ lastLead: { repeated: 0 }, link: { repeated: 0 } });
    const { committed, rolledBack, cutOff } = transactions;
    // Something of everything happened.
    expect(Math.min(leads, undone, committed, rolledBack, cutOff)).toBeGreaterThan(0);
  });

  it('would lose leads for every client if they were stamped by the clock alone', async () => {
    const verdict = await writeAtRandom('stamps by the clock alone');
    expect(lostIn(verdict)).toEqual(['lastLead', 'date', 'link']);
  });
});

describe('every part of the rule is needed', () => {
  /** Some depend on how soon the machine goes on, so there is another try. */
  async function losers(weakness: WeaknessName): Promise<string[]> {
    const trial = await makeTrial(1);
    await weaken(trial.databaseUrl, weakness);
    for (let tries = 1; ; tries += 1) {
      await trial.interleave();
      const lost = lostIn(await trial.finish());
      if (lost.length > 0 || tries === 20) return lost;
    }
  }

  it('whatever of it is left out, whoever remembers the Date would lose leads', async () => {
    const weaknesses: readonly WeaknessName[] = [
      'writers without the lock',
      'polls without the lock',
      'a page that is read in a snapshot from before the lock',
      'polls that do without the lock but answer with the clock',
    ];
    const lost = await Promise.all(weaknesses.map(losers));
    expect(lost).toEqual(weaknesses.map(() => expect.arrayContaining(['date'])));
  });
});
