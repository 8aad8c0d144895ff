import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { openStore } from '../../src/open-store.ts';
import { NOW, terminalWithUsers } from './terminal.ts';

const DAY_MS = 86_400_000;

/** 1,250 leads of Acme and one of Globex that are 500 days old, and three of Acme that are 399 days old. */
async function terminalWithOldLeads() {
  const shell = await terminalWithUsers();
  const store = await (await shell.database()).openStore();
  const add = (companyId: string, count: number, days: number) =>
    store.writeLeads(
      Array.from({ length: count }, (_, index) => ({
        ...{ companyId, id: `${days}-${index}`, createdAt: NOW - days * DAY_MS + index },
        fields: {},
      })),
      { historical: true },
    );
  await add('acme', 1250, 500);
  await add('acme', 3, 399);
  await add('globex', 1, 500);
  await store.close();
  const count = async (companyId: string) => {
    const reader = await (await shell.database()).openStore();
    const page = await reader.readPage({ scope: { level: 'COMPANY', companyId }, since: 0, limit: 10_000 });
    await reader.close();
    return page.leads.length;
  };
  return { ...shell, count };
}

test('deletes the older leads of all companies, in several batches', async () => {
  const { run, count } = await terminalWithOldLeads();
  const { code, stdout } = await run('leads prune --older-than 400d --yes');
  expect({ code, stdout }).toEqual({ code: 0, stdout: '1251 leads deleted\n' });
  expect([await count('acme'), await count('globex')]).toEqual([3, 0]);
  expect(await run('leads prune --older-than 400d --yes')).toMatchObject({
    code: 0,
    stdout: '0 leads created before 2025-01-26T09:30:00.250Z; nothing was deleted\n',
  });
});

test('keeps a lead that is exactly as old as it may be', async () => {
  const { run, database } = await terminalWithUsers();
  const store = await (await database()).openStore();
  const add = (id: string, createdAt: number) => ({ companyId: 'acme', id, createdAt, fields: {} });
  const limit = NOW - 400 * DAY_MS;
  await store.writeLeads([add('older', limit - 1), add('as old', limit)], { historical: true });
  expect((await run('leads prune --older-than 400d --yes')).stdout).toBe('1 lead deleted\n');
  expect(await store.findLeads('older')).toEqual([]);
  expect(await store.findLeads('as old')).toHaveLength(1);
  await store.close();
});

test('--dry-run counts them for each company, --company takes one, and --json prints the numbers', async () => {
  const { run, count } = await terminalWithOldLeads();
  const { stdout } = await run('leads prune --older-than 400d --dry-run');
  expect(stdout).toMatch(/^acme +1250\nglobex +1\n1251 leads created before \S+; nothing was deleted\n/m);
  expect(await count('acme')).toBe(1253);
  const json = await run('leads prune --older-than 400d --company globex --yes --json');
  expect(JSON.parse(json.stdout)).toEqual({
    before: '2025-01-26T09:30:00.250Z',
    pruned: 1,
    older: 1,
    refused: 0,
    companies: [{ companyId: 'globex', leads: 1 }],
  });
  expect([await count('acme'), await count('globex')]).toEqual([1253, 0]);
});

test('on a terminal it asks', async () => {
  const { run, count } = await terminalWithOldLeads();
  const ask = (text: string) => {
    const stdin = Object.assign(Readable.from([text]), { isTTY: true });
    return run('leads prune --older-than 400d', { isTTY: true, parts: { stdin } });
  };
  const refused = await ask('no\n');
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toContain('Delete 1251 leads created before');
  expect(await count('acme')).toBe(1253);
  expect((await ask('yes\n')).code).toBe(0);
  expect(await count('acme')).toBe(3);
});

test('a pruned id is not remembered: an import adds it as a new lead', async () => {
  const { run } = await terminalWithOldLeads();
  await run('leads prune --older-than 400d --yes');
  const { stdout } = await run('leads import -', {
    stdin: '{"companyId":"acme","id":"500-0","phone1":"1"}\n',
  });
  expect(stdout).toContain('1 added, 0 updated, 0 rejected');
});

test('an interrupted run says how many it deleted, and the next one continues', async () => {
  const { run, count } = await terminalWithOldLeads();
  const controller = new AbortController();
  const parts: Parameters<typeof run>[1] = {
    parts: {
      signal: controller.signal,
      openStore: async (config, options) => {
        const store = await openStore(config, options);
        const { removal } = store;
        const prune: typeof removal.prune = async (...args) => {
          const deleted = await removal.prune(...args);
          controller.abort();
          return deleted;
        };
        return { ...store, removal: { ...removal, prune } };
      },
    },
  };
  const { code, stdout, stderr } = await run('leads prune --older-than 400d --yes', parts);
  expect({ code, stdout }).toEqual({ code: 130, stdout: '500 leads deleted\n' });
  expect(stderr).toContain('run the same command again');
  expect(await count('acme')).toBe(753);
  expect((await run('leads prune --older-than 400d --yes')).stdout).toBe('751 leads deleted\n');
});

test.each(['23h', '400', '101y'])('--older-than %s is refused with 2', async (age) => {
  const { run } = await terminalWithUsers();
  const { code, stderr } = await run(['leads', 'prune', '--older-than', age, '--yes']);
  expect(code).toBe(2);
  expect(stderr).toContain('Write 30d, 400d or 2y: from one day to 100 years.');
});

test('between two batches, other programs can write and poll at once', async () => {
  const { run, database, count } = await terminalWithOldLeads();
  const other = await (await database()).openStore();
  let batches = 0;
  const { code } = await run('leads prune --older-than 400d --company acme --yes', {
    parts: {
      openStore: async (config, options) => {
        const store = await openStore(config, options);
        const { removal } = store;
        const prune: typeof removal.prune = async (...args) => {
          const deleted = await removal.prune(...args);
          await other.writeLeads([{ companyId: 'acme', id: `new-${batches}`, fields: {} }]);
          const page = await other.readPage({ scope: { level: 'COMPANY', companyId: 'acme' }, limit: 1 });
          expect(page).toMatchObject({ locked: true, leads: [{ id: `new-${batches}` }] });
          batches += 1;
          return deleted;
        };
        return { ...store, removal: { ...removal, prune } };
      },
    },
  });
  await other.close();
  expect({ code, batches }).toEqual({ code: 0, batches: 3 });
  expect(await count('acme')).toBe(6);
});
