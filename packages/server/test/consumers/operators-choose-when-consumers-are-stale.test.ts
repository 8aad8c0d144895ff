import { expect, it } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { startService } from '../../../testing/harness/service.ts';
import { terminal } from '../cli/terminal.ts';
import { client, iso } from './support/consumers.ts';

it('LEADTAP_SILENT_AFTER counts for the metrics, the status page and the command alike', async () => {
  const clock = manualClock();
  const env = { LEADTAP_SILENT_AFTER: '15m' };
  const service = await startService({ clock, env });
  const { poll } = await client(service, 'boss', 'a');
  for (let count = 0; count < 11; count += 1) {
    await poll(`since=${iso(clock())}`);
    await service.service.recorder?.flush();
    clock.advance(60_000);
  }
  const stale = async () => {
    await service.service.recorder?.flush();
    const metrics = await (await fetch(service.metricsUrl)).text();
    const status = (await (await fetch(`${service.statusUrl}.json`)).json()) as {
      consumers: { stale: number; listed: { state: string }[] };
    };
    const options = { env: { ...service.database.env, ...env }, parts: { clock } };
    return {
      metric: /^leadtap_consumers\{state="stale"\} (\d+)$/m.exec(metrics)?.[1],
      status: [status.consumers.stale, ...status.consumers.listed.map(({ state }) => state)],
      command: (await terminal().run('consumers --stale', options)).code,
    };
  };
  // By its usual interval of a minute it would be stale by now.
  clock.advance(13 * 60_000);
  expect(await stale()).toEqual({ metric: '0', status: [0, 'active'], command: 0 });
  clock.advance(2 * 60_000);
  expect(await stale()).toEqual({ metric: '1', status: [1, 'stale'], command: 1 });
});
