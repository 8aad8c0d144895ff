import { copyFileSync, existsSync } from 'node:fs';
import { openPostgresStore, openSqliteStore } from 'leadtap';
import { expect, onTestFinished, test } from 'vitest';
import { runMove } from './commands.ts';
import { makeFilledEndpoints } from './filled.ts';

const AT = Date.UTC(2026, 2, 2);

test('refused leads and their bodies are the same after a move', async () => {
  const endpoints = await makeFilledEndpoints();
  const file = endpoints.from.replace(/^sqlite:/, '');
  const source = await openSqliteStore({ file });
  const id = '0190-1';
  await source.refusedLeads.record([
    {
      ...{
        id,
        companyId: 'acme',
        userId: 'boss',
        tokenId: null,
        source: 'tally',
        client: null,
        answerMap: { 'a\0': 'email' },
      },
      ...{ timeZone: 'Europe/Paris', receivedAt: AT, lastAt: AT + 9, times: 3, code: 'invalid-lead' },
      ...{ errors: [{ index: 0, field: null, detail: 'x' }], mediaType: 'application/json' },
      ...{ body: Buffer.from([0, 0xff, 0x27]), bodyHash: 'b' },
    },
  ]);
  const before = await source.refusedLeads.find(id);
  await source.close();
  expect(before).toMatchObject({ times: 3, body: Buffer.from([0, 0xff, 0x27]) });

  // SQLite keeps a closed file open until the statements of this process are collected as garbage: a copy is open nowhere.
  for (const end of ['', '-wal']) if (existsSync(file + end)) copyFileSync(file + end, `${file}.copy${end}`);
  const moved = await runMove({ ...endpoints, from: `${endpoints.from}.copy` });
  expect(moved).toMatchObject({ code: 0, stdout: expect.stringContaining('refused leads 1') });
  const target = await openPostgresStore({ url: endpoints.to, connections: 1 });
  onTestFinished(() => target.close());
  expect(await target.refusedLeads.find(id)).toEqual(before);
});
