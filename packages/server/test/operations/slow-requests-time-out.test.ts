import { expect, it } from 'vitest';
import { startService } from '../../../testing/harness/service.ts';
import { connectRaw } from './raw-connection.ts';

it('a connection without a request is closed', async () => {
  const { url } = await startService({ requestTimeoutMs: 50 });
  const { received } = await connectRaw(url);
  expect(await received).not.toContain('HTTP/1.1 200');
});
