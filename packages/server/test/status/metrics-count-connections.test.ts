import { expect, it, vi } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { startService } from '../../../testing/harness/service.ts';
import { STATUS_TIMEOUTS } from '../../src/status/read-status.ts';
import { addAutomations, pass, readStatus } from './support/status.ts';

const readMetrics = async ({ metricsUrl }: { readonly metricsUrl: string }) =>
  Object.fromEntries(
    (await (await fetch(metricsUrl)).text())
      .split('\n')
      .filter((line) => line.startsWith('leadtap_'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );

it('the metrics have the figures of the status page', async () => {
  const clock = manualClock();
  const service = await startService({ clock });
  const [slack] = await addAutomations(service, clock, ['Slack', 'CRM']);
  await pass(service, clock, 40);
  await service.add({}, {}, {});
  await slack?.();
  await pass(service, clock, 1);
  const { out } = await readStatus(service);
  expect(out).toMatchObject([
    { name: 'CRM', level: 'error', waiting: 3 },
    { name: 'Slack', level: 'good', sent: 3 },
  ]);
  expect(await readMetrics(service)).toMatchObject({
    'leadtap_connections{direction="out",level="error"}': 1,
    'leadtap_connections{direction="out",level="good"}': 1,
    'leadtap_connections{direction="in",level="error"}': 0,
    leadtap_leads_waiting: 3,
    leadtap_leads_missed: 0,
    leadtap_leads_unassigned: 0,
    leadtap_requests_held: 0,
    leadtap_requests_lost: 0,
    leadtap_longest_lead_wait_seconds: (clock() - Date.parse(out[0]?.waitingSince ?? '')) / 1000,
    'leadtap_problem{name="database-unreachable",level="error"}': 0,
  });
});

it('what cannot be read is NaN, and the rest is there', async () => {
  const service = await startService();
  vi.spyOn(service.store, 'status').mockRejectedValue(new Error('the disk is on fire'));
  expect(await readMetrics(service)).toMatchObject({
    'leadtap_connections{direction="out",level="good"}': Number.NaN,
    leadtap_leads_waiting: Number.NaN,
    'leadtap_problem{name="database-unreachable",level="error"}': 1,
    'leadtap_problem{name="stamps-ahead",level="warning"}': Number.NaN,
    leadtap_waiting_polls: 0,
  });
});

it('a scrape does not wait for a read that takes too long', async () => {
  const service = await startService({
    statusTimeouts: { ...STATUS_TIMEOUTS, readMs: 60_000, scrapeMs: 50 },
  });
  vi.spyOn(service.store, 'status').mockReturnValue(new Promise(() => undefined));
  expect(await readMetrics(service)).toMatchObject({
    leadtap_leads_waiting: Number.NaN,
    leadtap_waiting_polls: 0,
  });
});
