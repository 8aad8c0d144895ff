import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { makeTestDatabase } from '../../../packages/testing/harness/database.ts';
import { tempFolder } from '../../../packages/testing/harness/temp-folder.ts';

export const BIN = fileURLToPath(new URL('../../../packages/server/bin/leadtap.js', import.meta.url));

const user = (id: string, accessLevel: string, rest: object = {}) => ({
  id,
  accessLevel,
  plan: 'PROFESSIONAL',
  ...rest,
});

const ORGANISATION = {
  companies: [
    {
      id: 'acme',
      name: 'Acme',
      branches: [{ id: 'north', name: 'North', departments: [{ id: 'sales', name: 'Sales' }] }],
      users: [
        user('ada', 'COMPANY'),
        user('ben', 'BRANCH', { branchId: 'north' }),
        user('cleo', 'DEPARTMENT', { branchId: 'north', departmentId: 'sales' }),
        user('dan', 'COMPANY', { plan: 'STARTER' }),
      ],
    },
  ],
};

/** Leads of the company, the branch and the department in turn. */
const PLACES = [{}, { branchId: 'north' }, { branchId: 'north', departmentId: 'sales' }];
const LEADS = Array.from({ length: 30 }, (_, index) => ({
  companyId: 'acme',
  firstName: 'Ada',
  appointmentDateTime: '2026-03-02T09:30:00Z',
  ...PLACES[index % PLACES.length],
}));

interface Installation {
  readonly baseUrl: string;
  /** By the id of the user. */
  readonly tokens: ReadonlyMap<string, string>;
  stop(): Promise<void>;
}

/** Creates a new installation with the built program, as an operator does on the first day. */
export async function install(): Promise<Installation> {
  const cleanUps: (() => void | Promise<void>)[] = [];
  const whenDone = (cleanUp: () => void | Promise<void>) => cleanUps.unshift(cleanUp);
  const cwd = tempFolder(whenDone);
  const database = await makeTestDatabase(whenDone);
  const settings = { LEADTAP_PORT: '0', LEADTAP_METRICS_ADDRESS: 'off', ...database.env };
  const options = { cwd, env: { PATH: process.env['PATH'] ?? '', ...settings } };
  const leadtap = async (...argv: readonly string[]) =>
    (await promisify(execFile)(process.execPath, [BIN, ...argv], options)).stdout;

  writeFileSync(join(cwd, 'organisation.json'), JSON.stringify(ORGANISATION));
  writeFileSync(join(cwd, 'leads.ndjson'), LEADS.map((lead) => `${JSON.stringify(lead)}\n`).join(''));
  await leadtap('org', 'apply', 'organisation.json');
  await leadtap('leads', 'import', 'leads.ndjson');
  const issued: { userId: string; token: string }[] = JSON.parse(
    await leadtap('token', 'issue', '--all-users', '--json'),
  );
  const tokens = new Map(issued.map(({ userId, token }) => [userId, token]));
  tokens.set('zoe', (await leadtap('token', 'issue', '--user', 'zoe', '--force')).trim());

  const service = spawn(process.execPath, [BIN, 'serve'], {
    ...options,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  whenDone(() => end(service));
  const stop = async () => {
    for (const cleanUp of cleanUps) await cleanUp();
  };
  return { baseUrl: await addressOf(service), tokens, stop };
}

async function end(service: ChildProcess): Promise<void> {
  const closed = once(service, 'close');
  // Without the drain time of SIGTERM.
  service.kill('SIGINT');
  await closed;
}

async function addressOf({ stdout }: ChildProcess): Promise<string> {
  if (!stdout) throw new Error('the service has no output');
  for await (const line of createInterface({ input: stdout })) {
    const { msg, url }: { msg: string; url: string } = JSON.parse(line);
    if (msg === 'serving new leads') {
      stdout.resume();
      return url;
    }
  }
  throw new Error('the service ended before it logged its address');
}
