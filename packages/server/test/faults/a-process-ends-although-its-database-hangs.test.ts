import { expect, it } from 'vitest';
import { type LeadtapProcess, spawnLeadtap } from '../../../testing/harness/leadtap-process.ts';
import { shareCluster } from './cluster.ts';

const server = shareCluster();

/** The address of the service, once it is up. */
async function addressOf({ lines, ended }: LeadtapProcess): Promise<string> {
  for (;;) {
    const { value, done } = await lines.next();
    if (done) throw new Error(`it ended: ${(await ended).stderr}`);
    const { url } = JSON.parse(value) as { url?: string };
    if (url !== undefined) return url;
  }
}

it('a service stops after SIGTERM although its database hangs', async () => {
  const leadtap = spawnLeadtap(['serve'], {
    LEADTAP_DATABASE_URL: server().url,
    LEADTAP_PORT: '0',
    LEADTAP_METRICS_ADDRESS: 'off',
  });
  const url = await addressOf(leadtap);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  server().pause();
  leadtap.child.kill('SIGTERM');
  expect(await leadtap.ended).toMatchObject({ code: 0, signal: null });
});
