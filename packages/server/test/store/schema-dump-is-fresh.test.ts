import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { sqliteSchema } from '../../../../scripts/dump-sqlite-schema.ts';

it('schema.sql is what the migrations come to; `npm run generate` writes it', async () => {
  const kept = new URL('../../src/store/sqlite/schema.sql', import.meta.url);
  expect(await sqliteSchema()).toBe(await readFile(kept, 'utf8'));
});
