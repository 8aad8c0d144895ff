import { type Lead, RATE_LIMITS } from '@leadtap/contract';
import { expect, it } from 'vitest';
import { manualClock } from '../../../packages/testing/harness/manual-clock.ts';
import { startService, type TestService } from '../../../packages/testing/harness/service.ts';
import { addLeads, connectionOf, leaveRequests } from '../../../packages/testing/integrations/new-leads.ts';
import { FLOW, NodeRed } from './node-red.ts';

async function settingsOf(service: TestService): Promise<Record<string, string>> {
  const { baseUrl, token } = await connectionOf(service);
  return { LEADTAP_URL: baseUrl, LEADTAP_TOKEN: token };
}

const leadsOf = (nodeRed: NodeRed): string[] =>
  (nodeRed.shown.get('leadtap-lead') ?? []).map(({ payload }) => (payload as Lead).id);
const problemsOf = (nodeRed: NodeRed) => nodeRed.shown.get('leadtap-problem') ?? [];

it('every wire leads to a node', () => {
  const ids = new Set(FLOW.map(({ id }) => id));
  const targets = FLOW.flatMap(({ wires = [] }) => wires.flat());
  expect(targets.length).toBeGreaterThan(4);
  expect(targets.filter((id) => !ids.has(id))).toEqual([]);
  expect(FLOW.find(({ type }) => type === 'inject')?.['repeat']).toBe('120');
});

it('the token is not a part of the flow', () => {
  const tab = FLOW.find(({ type }) => type === 'tab');
  expect(tab?.env).toContainEqual({ name: 'LEADTAP_TOKEN', type: 'cred', value: '' });
});

it('begins with what comes after the first poll, and takes a burst of one millisecond', async () => {
  const service = await startService({ clock: manualClock() });
  await addLeads(service, 3, 'before');
  const nodeRed = new NodeRed(await settingsOf(service));
  await nodeRed.inject();
  const ids = await addLeads(service, 330, 'burst');
  await nodeRed.inject();
  await nodeRed.inject();
  expect(leadsOf(nodeRed)).toEqual(ids);
  expect(problemsOf(nodeRed)).toEqual([]);
});

it('starts at the configured time', async () => {
  const service = await startService();
  const ids = await addLeads(service, 105, 'old');
  const nodeRed = new NodeRed({ ...(await settingsOf(service)), LEADTAP_SINCE: '2020-01-01' });
  await nodeRed.inject();
  expect(leadsOf(nodeRed)).toEqual(ids);
});

it('two polls at once deliver a lead once', async () => {
  const service = await startService();
  const nodeRed = new NodeRed(await settingsOf(service));
  await nodeRed.inject();
  const ids = await addLeads(service, 250, 'lead');
  await Promise.all([nodeRed.inject(), nodeRed.inject()]);
  await nodeRed.inject();
  expect(leadsOf(nodeRed)).toEqual(ids);
});

it.each([0, 2])('a 429 after %i pages is shown, and no lead is lost or repeated', async (pages) => {
  const clock = manualClock();
  const service = await startService({ clock });
  const nodeRed = new NodeRed(await settingsOf(service));
  await nodeRed.inject();
  const ids = await addLeads(service, 330, 'lead');
  await leaveRequests(service, pages, 1);
  await nodeRed.inject();
  expect(problemsOf(nodeRed)).toMatchObject([{ statusCode: 429, payload: { code: 'rate-limit-exceeded' } }]);
  expect(leadsOf(nodeRed)).toEqual(ids.slice(0, pages * 100));
  clock.advance(RATE_LIMITS.minute.windowS * 1000);
  await nodeRed.inject();
  expect(leadsOf(nodeRed)).toEqual(ids);
});
