import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { startService } from '../../../testing/harness/service.ts';
import { readStatus, readSystem } from './support/status.ts';

it('the size of the database includes the leads that were just added', async () => {
  const service = await startService();
  const before = (await readStatus(service)).database.bytes ?? 0;
  expect(before).toBeGreaterThan(10_000);
  // Random, because PostgreSQL compresses long texts.
  const leads = Array.from({ length: 200 }, () => ({
    fields: { address: randomBytes(3750).toString('base64') },
  }));
  await service.add(...leads);
  expect((await readStatus(service)).database.bytes).toBeGreaterThan(before + 500_000);
  expect((await readSystem(service))['Size']).toMatch(/^[\d.]+ MiB$/);
});
