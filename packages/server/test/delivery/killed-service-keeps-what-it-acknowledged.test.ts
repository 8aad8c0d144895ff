import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Organisation } from 'leadtap';
import { expect, it } from 'vitest';
import { runCrashTrial } from '../../../testing/delivery-trial/intake/crash-trial.ts';
import { makeTestDatabase } from '../../../testing/harness/database.ts';
import { type LeadtapProcess, runLeadtap, spawnLeadtap } from '../../../testing/harness/leadtap-process.ts';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';

const COMPANIES = ['acme', 'globex'];
const userIdsOf = (companyId: string) => Array.from({ length: 40 }, (_, index) => `${companyId}-${index}`);

const ORGANISATION: Organisation = {
  companies: COMPANIES.map((id) => ({
    id,
    name: id,
    branches: [],
    users: userIdsOf(id).map((userId) => ({
      id: userId,
      plan: 'PROFESSIONAL',
      accessLevel: 'COMPANY',
      branchId: null,
      departmentId: null,
    })),
  })),
};

/** The built program as an operator runs it. It can be killed, and starts again at the same address. */
async function install() {
  const folder = tempFolder();
  const database = await makeTestDatabase(undefined, { folder });
  const env = { ...database.env, LEADTAP_INTAKE: 'on', LEADTAP_METRICS_ADDRESS: 'off' };
  writeFileSync(join(folder, 'organisation.json'), JSON.stringify(ORGANISATION));
  await runLeadtap(['org', 'apply', 'organisation.json'], env, folder);
  const scopes = ['--scope', 'leads:read', '--scope', 'leads:write'];
  const issued = await runLeadtap(['token', 'issue', '--all-users', '--json', ...scopes], env, folder);
  const list: { userId: string; token: string }[] = JSON.parse(issued.stdout);
  const tokens = new Map(list.map(({ userId, token }) => [userId, token]));

  let serving: LeadtapProcess;
  const serve = async (port: string): Promise<string> => {
    serving = spawnLeadtap(['serve', '--port', port], env, folder);
    for (let line = await serving.lines.next(); !line.done; line = await serving.lines.next()) {
      const { msg, url } = JSON.parse(line.value);
      if (msg === 'serving new leads') return url;
    }
    throw new Error((await serving.ended).stderr);
  };
  const url = await serve('0');
  return {
    url,
    token: async (userId: string) => tokens.get(userId) ?? '',
    kill: async () => {
      const exited = once(serving.child, 'exit');
      serving.child.kill('SIGKILL');
      await exited;
      await serve(new URL(url).port);
    },
  };
}

it('each acknowledged lead is delivered exactly once, and no other one twice, while the service is killed', async () => {
  const { url, token, kill } = await install();
  const verdict = await runCrashTrial({
    urls: [url],
    users: Object.fromEntries(COMPANIES.map((id) => [id, userIdsOf(id)])),
    token,
    kill,
    senders: 8,
    requests: 300,
    requestsPerKill: 120,
    seed: 3,
  });
  const { lost, doubled, unknown } = verdict;
  expect({ lost, doubled, unknown }).toEqual({ lost: [], doubled: [], unknown: [] });
  expect(verdict.polled).toBe(verdict.acknowledged + verdict.abandonedStored);
  // The trial has done what it is for.
  expect(verdict.kills).toBeGreaterThan(0);
  expect(verdict.retries).toBeGreaterThan(0);
  expect(verdict.acknowledged).toBeGreaterThan(300);
});
