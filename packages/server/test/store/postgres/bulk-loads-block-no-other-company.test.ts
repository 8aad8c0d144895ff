import { describe, expect, it } from 'vitest';
import { findingsOf } from '../../../../testing/delivery-trial/findings.ts';
import {
  companyIds,
  organisationOf,
  pollersOf,
} from '../../../../testing/delivery-trial/pollers/profiles.ts';
import { beginBulkLoad, LOAD_FORMS } from '../../../../testing/delivery-trial/postgres/bulk-load.ts';
import { readStoredFrom } from '../../../../testing/delivery-trial/postgres/stored.ts';
import { withClient } from '../../../../testing/delivery-trial/postgres/with-client.ts';
import { Trial } from '../../../../testing/delivery-trial/trial.ts';
import { runLeadtap } from '../../../../testing/harness/leadtap-process.ts';
import { startService, type TestService } from '../../../../testing/harness/service.ts';

const ROWS = 500;
/** Many more pollers than connections. */
const CROWD = 40;
const CONNECTIONS = '4';
const [LOADING = '', OTHER = ''] = companyIds(2);

/** Polls of the first instance give up waiting for a lock soon, those of the second one wait until it is free. */
async function begin() {
  const companies = companyIds(2).map((id) => ({ id }));
  const pollers = companies.flatMap((company) => pollersOf(company, CROWD));
  const env = { LEADTAP_DATABASE_CONNECTIONS: CONNECTIONS };
  const service = await startService({
    env,
    organisation: organisationOf(companies, pollers),
    storeTimeouts: { pollLockWaitMs: 50 },
  });
  const patient = await startService({
    env,
    organisation: { companies: [] },
    beside: service,
    storeTimeouts: { pollLockWaitMs: 240_000 },
  });
  const installation = { urls: [service.url], token: (userId: string) => service.token(userId) };
  const readStored = readStoredFrom(service.database.url, companyIds(2));
  return { service, patient, trial: new Trial({ installation, pollers, readStored }) };
}

async function readMetric({ metricsUrl }: TestService, name: string): Promise<number> {
  const text = await (await fetch(metricsUrl)).text();
  return Number(new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1]);
}

describe('a load of many leads into one company by one statement', () => {
  it.each(LOAD_FORMS)('%s: blocks no other company, and no client loses a lead', async (form) => {
    const { service, patient, trial } = await begin();
    const state = { branchId: null, departmentId: null, version: 'early' };
    const early = trial.recorder.commit([{ id: 'early', companyId: LOADING, state }]);
    const [stamp = 0] = await service.add({
      companyId: LOADING,
      id: 'early',
      fields: { firstName: 'early' },
    });
    early.acknowledge();
    const load = await beginBulkLoad({
      databaseUrl: service.database.url,
      companyId: LOADING,
      rows: ROWS,
      form,
    });
    await trial.pollDuring(load.written);

    // The statement has ended; its lock is held until the commit.
    const answered: string[] = [];
    const poll = async (instance: TestService, companyId: string, user: number) => {
      const response = await instance.poll(`${companyId}.COMPANY.Link.${user + 1}`, 'since=2020-01-01');
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

    const commit = trial.recorder.commit(load.leads);
    await load.commit();
    commit.acknowledge();
    for (const answer of await waiting) expect(await answer.json()).toHaveLength(100);
    expect(findingsOf(await trial.finish())).toEqual({});
  });
});

describe('stamps that run ahead of the clock', () => {
  it('show in a metric, and the doctor warns', async () => {
    const { service } = await begin();
    const { url, env } = service.database;
    // The state after a load of some 90,000 leads.
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
    expect(stdout + stderr).toMatch(
      /! stamps-ahead: The newest lead is dated 1 min \d+ s ahead of the clock/,
    );
  });

  it('do not come from historical leads, which are not delivered', async () => {
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
      `${LOADING}.COMPANY.Date.1`,
      `since=${new Date(Date.now() - 60_000).toISOString()}`,
    );
    expect(await answer.json()).toEqual([]);
  });
});
