/** The examples of docs/getting-leads-in.md that need PostgreSQL, against a running service. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { promisify } from 'node:util';
import pg from 'pg';
import { expect, it, vi } from 'vitest';
import { startService } from '../../../../testing/harness/service.ts';

const readText = (path: string): string =>
  readFileSync(new URL(`../../../../../${path}`, import.meta.url), 'utf8');
const organisation = JSON.parse(readText('examples/organisation.json'));

const runShell = (script: string, env: Record<string, string>) =>
  promisify(execFile)('sh', ['-c', script], { env: { PATH: process.env['PATH'] ?? '', ...env } });

const withClient = async (url: string, work: (client: pg.Client) => Promise<unknown>) => {
  const client = new pg.Client(url);
  await client.connect();
  await work(client).finally(() => client.end());
};

it('from a cron job, once, however often it runs', async () => {
  const service = await startService({ organisation });
  const token = await service.token('ada', { scopes: ['leads:write'] });
  const { url } = service.database;
  const env = { CRM_DATABASE_URL: url, LEADTAP_URL: service.url, WRITE_TOKEN: token };
  const script = readText('examples/send-customers.sh');
  await withClient(url, (client) =>
    client.query(`CREATE TABLE public.customers (id serial PRIMARY KEY, first_name text, last_name text, email text,
      created_at timestamptz DEFAULT now())`),
  );
  const runJob = async () => (await runShell(script, env)).stderr;
  expect(await runJob()).toBe('');
  await withClient(url, (client) =>
    client.query(`INSERT INTO public.customers (first_name, last_name, email, created_at) VALUES
      ('Old', 'Customer', NULL, now() - interval '1 year'), ('Ada', 'O''Neill "A"', 'ada@example.com', now())`),
  );
  expect(await runJob()).toBe('');
  // A row that Leadtap rejects is reported, and does not keep later rows from being sent.
  await withClient(url, (client) =>
    client.query(`INSERT INTO public.customers (first_name, email, created_at) VALUES
      ('Wrong', 'no address', now() - interval '1 hour'), ('Bo', NULL, now())`),
  );
  const posts = vi.spyOn(service.store, 'writeAllLeads');
  const reported = await runJob();
  expect(reported).toMatch(/^not stored: \{"id":"crm-3": .*is not an e-mail address.* 422\n$/);
  expect(posts).toHaveBeenCalledTimes(2);
  await runJob();
  expect((await service.leads('ada', 'since=1970-01-01')).map(({ id, fullName }) => [id, fullName])).toEqual([
    ['crm-2', 'Ada O\'Neill "A"'],
    ['crm-4', 'Bo'],
  ]);
  await expect(runShell(script, { ...env, WRITE_TOKEN: 'wrong' })).rejects.toMatchObject({ code: 1 });
});

it('with plain SQL', async () => {
  const service = await startService({ organisation });
  const [, sql = ''] =
    /^## Plain SQL\n[\s\S]*?```sql\n([\s\S]+?)^```/m.exec(readText('docs/getting-leads-in.md')) ?? [];
  await withClient(service.database.url, (client) => client.query(sql));
  expect(await service.leads('ada')).toMatchObject([
    { id: 'crm-1', fullName: 'Ada Moreau', email: 'ada@example.com' },
  ]);
});
