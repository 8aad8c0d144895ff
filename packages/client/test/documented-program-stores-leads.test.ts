import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { eventually } from '../../server/test/faults/eventually.ts';
import { startService } from '../../testing/harness/service.ts';
import { folderWith, programOf, runIn } from './document-program.ts';

const PAGE = 'docs/integrations/your-own-program.md';

it('as its page says: a line for each, from where it was', async () => {
  const { url, token, add, leads } = await startService();
  await add(
    { fields: { fullName: 'Ada Moreau', phone1: '+33 1 70 18 99 00', email: 'ada@example.com' } },
    { fields: { fullName: 'Jo' } },
  );
  const program = programOf(PAGE).replace('https://leads.example.com', url);
  expect(program).toContain(url);
  const folder = folderWith(program);
  // As if it had been started before they came.
  writeFileSync(join(folder, 'checkpoint.json'), '{"since":"2020-01-01T00:00:00.000Z","triggerIds":[]}');
  runIn(folder, { LEADTAP_TOKEN: await token('boss') });

  const [ada, jo] = await leads('boss', 'since=2020-01-01');
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  await eventually(() => expect(JSON.parse(read('checkpoint.json')).since).toBe(jo?.createdAt));
  expect(read('leads.txt')).toBe(
    `${ada?.createdAt}\tAda Moreau\t+33 1 70 18 99 00\tada@example.com\n${jo?.createdAt}\tJo\t\t\n`,
  );
});
