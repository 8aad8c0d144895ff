import { expect, it, vi } from 'vitest';
import { untilHeld } from '../../../testing/harness/held-polls.ts';
import { ORGANISATION } from '../../../testing/harness/organisation.ts';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import { readStatus } from '../status/support/status.ts';
import { client, iso, readConsumers } from './support/consumers.ts';

const CONSOLE = { 'leadtap-client': 'console' };

const untilDisconnected = ({ metricsUrl }: TestService) =>
  vi.waitFor(async () =>
    expect(await (await fetch(metricsUrl)).text()).toContain('leadtap_polls_total{status="499"} 1'),
  );

it('a poll of the console is answered and counted like any other, but is no consumer, also while it is held', async () => {
  const service = await startService();
  const { consumers } = service.store;
  const record = vi.spyOn(consumers, 'record');
  const { poll } = await client(service, 'boss', 'tab');
  const answer = await poll('', { headers: CONSOLE });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('ratelimit')).toContain('"minute";r=99;');

  const closing = new AbortController();
  const since = `since=${iso(Date.now())}`;
  const held = poll(since, { headers: { ...CONSOLE, prefer: 'wait=50' }, signal: closing.signal });
  await untilHeld(service);
  expect(await readConsumers(service)).toEqual([]);
  closing.abort();
  await expect(held).rejects.toThrow();
  await untilDisconnected(service);
  expect(await readConsumers(service)).toEqual([]);
  expect(record).not.toHaveBeenCalled();
});

it('another value of the header is recorded', async () => {
  const service = await startService();
  const { poll, position } = await client(service, 'boss', 'n8n');
  await poll('', { headers: { 'leadtap-client': 'n8n' } });
  expect(await position()).toMatchObject({ polls: 1 });
});

it('a consumer that disconnected before the answer (499) is not shown as refused', async () => {
  const service = await startService();
  const { poll, position } = await client(service, 'boss', 'n8n');
  const closing = new AbortController();
  const held = poll(`since=${iso(Date.now())}`, { headers: { prefer: 'wait=50' }, signal: closing.signal });
  await untilHeld(service);
  closing.abort();
  await expect(held).rejects.toThrow();
  await untilDisconnected(service);
  expect(await position()).toMatchObject({ polls: 1, lastStatus: 499 });
  expect((await readStatus(service)).consumers).toMatchObject({ listed: [{ problems: [] }] });
});

it('a poll of a removed user is not recorded, nor counted for a later user of the same id', async () => {
  const service = await startService();
  const { poll } = await client(service, 'boss', 'n8n');
  await service.store.removeUser('boss');
  expect((await poll()).status).toBe(404);
  await service.store.applyOrganisation(ORGANISATION);
  expect(await readConsumers(service)).toEqual([]);
});
