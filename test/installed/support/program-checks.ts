import { expect, onTestFinished } from 'vitest';
import { openPage } from '../../../packages/testing/browser/page.ts';
import { makePostgresDatabase } from '../../../packages/testing/harness/postgres-database.ts';
import type { InstalledProgram } from './installed-program.ts';

async function readText(url: string | URL): Promise<string> {
  const response = await fetch(url);
  expect({ url, status: response.status }).toEqual({ url, status: 200 });
  return response.text();
}

async function pollNames(url: string, token: string): Promise<string[]> {
  const response = await fetch(`${url}/automation/new-leads`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const leads = (await response.json()) as { lastName: string }[];
  return leads.map(({ lastName }) => lastName).sort();
}

const IMPORTED = ['Berg', 'Dubois', 'Nowak'];

/** The names of the console's files that its script contains: the steps and the files that Connect offers. */
const FILE_NAME = /[\w.-]+-[\w-]{8}\.(?:json|mjs|rb|tgz)/g;

async function expectConsole(url: string, token: string): Promise<void> {
  const page = await openPage(`${url}/#token=${token}`);
  await page.getByRole('navigation').getByRole('link', { name: 'Leads' }).click();
  await expect.poll(() => page.locator('.lead-row').count()).toBe(IMPORTED.length);
  const [script = ''] = /console\/index-[\w-]+\.js/.exec(await readText(url)) ?? [];
  const names = new Set((await readText(`${url}/${script}`)).match(FILE_NAME));
  for (const kind of [
    /^n8n-nodes-leadtap-.*tgz$/,
    /^leadtap-client-.*tgz$/,
    /^connector-.*rb$/,
    /^texts-.*json$/,
  ])
    expect([...names]).toContainEqual(expect.stringMatching(kind));
  for (const name of names) await readText(`${url}/console/${name}`);
}

/** `leadtap` is on the PATH. */
async function explainFirstSteps(program: InstalledProgram): Promise<void> {
  const help = await program.run(['--help']);
  expect(help).toMatchObject({ code: 0, stderr: '' });
  expect(help.stdout).toContain('Usage: leadtap [options] [command]');
  const refused = await program.run(['token', 'issue', '--user', 'ada']);
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toContain('run `leadtap migrate`');
}

async function serveFromEachStore(program: InstalledProgram): Promise<void> {
  const token = await program.takeFirstSteps();
  const { url, statusUrl, stop } = await program.serve();
  expect(await pollNames(url, token)).toEqual(IMPORTED);
  await expectConsole(url, token);
  expect(await readText(`${url}/docs`)).toContain('/automation/new-leads');
  expect(JSON.parse(await readText(`${url}/openapi.json`))).toMatchObject({ openapi: expect.any(String) });
  for (const file of ['status', 'status.json', 'metrics']) await readText(new URL(file, statusUrl));
  const [, script = ''] = /src="(\.\/console\/[^"]+)"/.exec(await readText(statusUrl)) ?? [];
  await readText(new URL(script, statusUrl));
  expect(await program.run(['backup', 'copy.db'])).toMatchObject({ code: 0 });
  expect(await stop()).toMatchObject({ code: 0, stderr: '' });

  expect(await program.run(['doctor'], { LEADTAP_PORT: '0' })).toMatchObject({ code: 0, stderr: '' });
  const signingKey = { LEADTAP_SIGNING_KEY_FILE: 'data/signing.key' };
  const restored = await program.serve({ ...signingKey, LEADTAP_DATABASE_URL: 'sqlite:copy.db' });
  expect(await pollNames(restored.url, token)).toEqual(IMPORTED);

  const { url: database } = await makePostgresDatabase(onTestFinished, { empty: true });
  const env = { ...signingKey, LEADTAP_DATABASE_URL: database };
  expect(await program.run(['migrate', '--from', 'sqlite:data/leadtap.db'], env)).toMatchObject({ code: 0 });
  const moved = await program.serve(env);
  expect(await pollNames(moved.url, token)).toEqual(IMPORTED);
}

/** What must work in whichever way the program was installed. */
export const PROGRAM_CHECKS = [
  ['explains the first steps in commands that can be pasted', explainFirstSteps],
  [
    'serves leads, console, documentation and status page from SQLite, from a backup, and from PostgreSQL',
    serveFromEachStore,
  ],
] as const;
