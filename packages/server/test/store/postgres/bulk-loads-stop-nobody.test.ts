import { describe, expect, it } from 'vitest';
import { beginBulkLoad, LOAD_FORMS } from '../../delivery/trial/bulk-load.ts';
import { companyIds, organisationOf, seatsOf } from '../../delivery/trial/seats.ts';
import { Trial } from '../../delivery/trial/trial.ts';
import { withClient } from '../../delivery/trial/with-client.ts';
import { runLeadtap } from '../../harness/leadtap-process.ts';
import { startService, type TestService } from '../../harness/service.ts';

const ROWS = 2000;
/** Many more who poll than connections. */
const CROWD = 40;
const CONNECTIONS = '4';
const [LOADING = '', OTHER = ''] = companyIds(2);

/** Polls of the first instance give up waiting for a lock soon, those of the second one wait until it is free. */
async function begin() {
  const seats = companyIds(2).flatMap((companyId) => seatsOf(companyId, CROWD));
  const env = { LEADTAP_DATABASE_CONNECTIONS: CONNECTIONS };
  const service = await startService({
    env,
    organisation: organisationOf(seats),
    storeTimeouts: { pollLockWaitMs: 50 },
  });
  const patient = await startService({
    env,
    organisation: { companies: [] },
    beside: service,
    storeTimeouts: { pollLockWaitMs: 240_000 },
  });
  const installation = { urls: [service.url], token: (userId: string) => service.token(userId) };
  return { service, patient, trial: new Trial({ databaseUrl: service.database.url, installation, seats }) };
}

async function readMetric({ metricsUrl }: TestService, name: string): Promise<number> {
  const text = await (await fetch(metricsUrl)).text();
  return Number(new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1]);
}

describe('a load of many leads into one company by one statement', () => {
  it.each(LOAD_FORMS)('%s: stops no other company, and nobody loses a lead', async (form) => {
    const { service, patient, trial } = await begin();
    const [stamp = 0] = await service.add({ companyId: LOADING, id: 'early' });
    trial.ledger.commit([{ id: 'early', companyId: LOADING, branchId: null, departmentId: null }]);
    const load = await beginBulkLoad({
      databaseUrl: trial.databaseUrl,
      companyId: LOADING,
      rows: ROWS,
      form,
    });
    await trial.pollDuring(load.written);

    // The statement is through, and its lock is held until the commit.
    const answered: string[] = [];
    const poll = async (instance: TestService, companyId: string, user: number) => {
      const response = await instance.poll(`${companyId}.COMPANY.link.${user + 1}`, 'since=2020-01-01');
      answered.push(companyId);
      return response;
    };
    const pollAll = (instance: TestService) =>
      Promise.all(Array.from({ length: CROWD }, (_, user) => poll(instance, LOADING, user)));
    const waiting = pollAll(patient);
    await load.awaited();
    for (const user of [0, 1, 2]) expect((await poll(patient, OTHER, user)).status).toBe(200);
    expect(answered).toEqual([OTHER, OTHER, OTHER]);
    for (const answer of await pollAll(service)) {
      expect(await answer.json()).toMatchObject([{ id: 'early' }]);
      expect(answer.headers.get('date')).toBe(new Date(stamp).toUTCString());
    }
    expect(await readMetric(service, 'leadtap_polls_unlocked_total')).toBeGreaterThanOrEqual(CROWD);

    await load.commit();
    trial.ledger.commit(load.leads);
    for (const answer of await waiting) expect(await answer.json()).toHaveLength(100);
    const { kinds, broken } = await trial.finish();
    expect(broken).toEqual([]);
    expect(kinds).toMatchObject({ lastLead: { lost: 0 }, date: { lost: 0 }, link: { lost: 0 } });
    expect(kinds).toMatchObject({ lastLead: { repeated: 0 }, link: { repeated: 0 } });
  });
});

describe('stamps that run ahead of the clock', () => {
  it('do not go unnoticed: a metric tells by how much, and the doctor warns', async () => {
    const { service } = await begin();
    const { url, env } = service.database;
    // What a load of some 90,000 leads leaves behind, without the load.
    await withClient(url, (client) =>
      client.query(
        `UPDATE leadtap.companies SET stamp_floor = now() + interval '90 seconds' WHERE id = '${LOADING}';
         INSERT INTO leadtap.leads (company_id) VALUES ('${LOADING}')`,
      ),
    );
    const { latestStamp } = await service.store.status();
    const most = latestStamp - Date.now();
    const ahead = 1000 * (await readMetric(service, 'leadtap_stamps_ahead_seconds'));
    expect(ahead).toBeLessThanOrEqual(most);
    expect(ahead).toBeGreaterThanOrEqual(latestStamp - Date.now());
    const { stdout, stderr } = await runLeadtap(['doctor'], env, service.folder);
    expect(stdout + stderr).toMatch(/the latest lead is dated \S+, \d\d s ahead of the clock/);
  });

  it('are not made by a load of history, which is news to nobody', async () => {
    const { service } = await begin();
    await withClient(service.database.url, (client) =>
      client.query(
        `BEGIN; SET LOCAL leadtap.historical = 'on';
         INSERT INTO leadtap.leads (company_id, created_at)
         SELECT '${LOADING}', now() - interval '1 day' FROM generate_series(1, 2000); COMMIT`,
      ),
    );
    expect(await readMetric(service, 'leadtap_stamps_ahead_seconds')).toBe(0);
    const answer = await service.poll(
      `${LOADING}.COMPANY.date.1`,
      `since=${new Date(Date.now() - 60_000).toISOString()}`,
    );
    expect(await answer.json()).toEqual([]);
  });
});
