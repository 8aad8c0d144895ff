import {
  createPollHandler,
  FAILED_TOKEN_POLICIES,
  MemoryLimiter,
  makeVerifyToken,
  type Policy,
  USER_POLICIES,
} from 'leadtap';
import { inject } from 'light-my-request';
import { describe, expect, it, vi } from 'vitest';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import { makeMetrics } from '../../src/ops/metrics.ts';

/** All samples by name and labels, as Prometheus parses them. */
function parse(text: string): Map<string, number> {
  const samples = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(samples.map((line) => [line.replace(/ \S+$/, ''), Number(/\S+$/.exec(line)?.[0])]));
}

const scrape = async ({ metricsUrl }: TestService) => parse(await (await fetch(metricsUrl)).text());

const START = Date.UTC(2026, 2, 2, 9, 30);

describe('metrics', () => {
  it('are on a private address and not on the public one', async () => {
    const { url, metricsUrl } = await startService({ env: { LEADTAP_BASE_PATH: '/api' } });
    const response = await fetch(metricsUrl);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(new URL(metricsUrl).port).not.toBe(new URL(url).port);
    for (const base of [url, new URL(url).origin]) expect((await fetch(`${base}/metrics`)).status).toBe(404);
    expect((await fetch(new URL('/automation/new-leads', metricsUrl))).status).toBe(404);
  });

  it('of the process are registered once, because their observers of garbage collection are never removed', () => {
    const gcMetric = () => makeMetrics().registry.getSingleMetric('nodejs_gc_duration_seconds');
    const first = gcMetric();
    expect(first).toBeDefined();
    expect(gcMetric()).toBe(first);
  });

  it('are not served if they are off', async () => {
    const { metricsUrl, poll } = await startService({ env: { LEADTAP_METRICS_ADDRESS: 'off' } });
    expect(metricsUrl).toBe('');
    expect((await poll('boss')).status).toBe(200);
  });

  it('count polls by status, with their latency', async () => {
    const service = await startService();
    const { poll, url } = service;
    await poll('boss');
    await poll('boss');
    await poll('boss', 'limit=0');
    await poll('starter');
    await poll('stranger');
    await fetch(`${url}/automation/new-leads`);
    const first = await poll('boss');
    await poll('boss', '', { headers: { 'if-none-match': first.headers.get('etag') ?? '' } });
    await fetch(`${url}/livez`);
    const samples = await scrape(service);
    const expected = { 200: 3, 304: 1, 400: 1, 401: 1, 403: 1, 404: 1 };
    for (const [status, count] of Object.entries(expected)) {
      expect(samples.get(`leadtap_polls_total{status="${status}"}`)).toBe(count);
      expect(samples.get(`leadtap_poll_duration_seconds_count{status="${status}"}`)).toBe(count);
    }
    const total = [...samples].filter(([name]) => name.startsWith('leadtap_polls_total'));
    expect(total).toHaveLength(Object.keys(expected).length);
    expect(samples.get('leadtap_poll_duration_seconds_sum{status="200"}')).toBeGreaterThan(0);
  });

  it('count the leads that were sent', async () => {
    const service = await startService();
    await service.add({}, {}, {});
    await service.poll('boss');
    await service.poll('boss', 'limit=2');
    await service.poll('boss', '', { method: 'HEAD' });
    expect((await scrape(service)).get('leadtap_leads_delivered_total')).toBe(5);
  });

  it('count 429 by the exceeded policy', async () => {
    let now = START;
    const { store, service, token } = await startService({ clock: () => now });
    const metrics = makeMetrics();
    const tight = (policies: readonly Policy[]) =>
      new MemoryLimiter(
        policies.map((policy, index) => ({ ...policy, quota: index + 1 })),
        () => now,
      );
    const handle = createPollHandler({
      store,
      verifyToken: makeVerifyToken({ keys: service.keys, clock: () => now }),
      limiter: tight(USER_POLICIES),
      failedTokens: tight(FAILED_TOKEN_POLICIES),
      observer: metrics,
    });
    const poll = async (credentials: string) =>
      inject(handle, { url: '/automation/new-leads', headers: { authorization: `Bearer ${credentials}` } });
    const mine = await token('boss');
    for (const elapsedMs of [0, 0, 0, 60_000, 60_000]) {
      now = START + elapsedMs;
      await poll(mine);
    }
    for (let guess = 0; guess < 3; guess += 1) await poll('garbage');
    const samples = parse(await metrics.registry.metrics());
    expect(samples.get('leadtap_rate_limit_refusals_total{policy="minute"}')).toBe(3);
    expect(samples.get('leadtap_rate_limit_refusals_total{policy="hour"}')).toBe(1);
    expect(samples.get('leadtap_rate_limit_refusals_total{policy="failed-tokens"}')).toBe(2);
  });

  it('have the age of the oldest lead of a page with since', async () => {
    let now = START;
    const service = await startService({ clock: () => now });
    await service.add({}, {});
    now = START + 100_001;
    await service.poll('boss');
    expect((await scrape(service)).get('leadtap_feed_lag_seconds_count')).toBe(0);
    const sent = await service.poll('boss', `since=${new Date(START).toISOString()}`);
    await service.poll('boss', `since=${new Date(now).toISOString()}`);
    const samples = await scrape(service);
    expect(samples.get('leadtap_feed_lag_seconds_count')).toBe(1);
    expect(samples.get('leadtap_feed_lag_seconds_sum')).toBe(100);
    const headers = { 'if-none-match': sent.headers.get('etag') ?? '' };
    const again = `since=${new Date(START).toISOString()}`;
    expect((await service.poll('boss', again, { headers })).status).toBe(304);
    expect((await service.poll('boss', again, { method: 'HEAD' })).status).toBe(200);
    // These responses have no body, so no lead was delivered.
    expect((await scrape(service)).get('leadtap_feed_lag_seconds_count')).toBe(1);
  });

  it('have the time that stamps are ahead of the clock', async () => {
    let now = START;
    const service = await startService({ clock: () => now });
    const ahead = async () => (await scrape(service)).get('leadtap_stamps_ahead_seconds');
    expect(await ahead()).toBe(0);
    await service.add(...Array.from({ length: 2500 }, () => ({})));
    expect(await ahead()).toBe(2.5);
    now = START + 10_000;
    expect(await ahead()).toBe(0);
  });

  it('have NaN for a store that fails, and all other values', async () => {
    const lines: string[] = [];
    const service = await startService({ logTo: { write: (line) => void lines.push(line) } });
    vi.spyOn(service.store, 'status').mockRejectedValueOnce(new Error('the disk is on fire'));
    const samples = await scrape(service);
    expect(samples.get('leadtap_stamps_ahead_seconds')).toBeNaN();
    expect(samples.get('process_resident_memory_bytes')).toBeGreaterThan(0);
    expect(lines.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({
        level: 'error',
        err: expect.objectContaining({ message: 'the disk is on fire' }),
      }),
    );
  });

  it('log why a scrape failed', async () => {
    const lines: string[] = [];
    const { metricsUrl, service } = await startService({ logTo: { write: (line) => void lines.push(line) } });
    vi.spyOn(service.metrics.registry, 'metrics').mockRejectedValueOnce(new Error('no file handles'));
    expect((await fetch(metricsUrl)).status).toBe(500);
    expect(lines.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({
        level: 'error',
        err: expect.objectContaining({ message: 'no file handles' }),
      }),
    );
    expect((await fetch(metricsUrl)).status).toBe(200);
  });

  it('count polls that could not get the lock', async () => {
    const service = await startService();
    const release = await service.database.holdLock('acme');
    expect((await service.poll('boss')).status).toBe(200);
    await release();
    expect((await service.poll('boss')).status).toBe(200);
    expect((await scrape(service)).get('leadtap_polls_unlocked_total')).toBe(1);
  });

  it('have the lag of the event loop and the state of the process', async () => {
    const samples = await scrape(await startService());
    expect(samples.get('nodejs_eventloop_lag_seconds')).toBeGreaterThanOrEqual(0);
    expect(samples.get('nodejs_eventloop_lag_p99_seconds')).toBeGreaterThan(0);
    expect(samples.get('process_resident_memory_bytes')).toBeGreaterThan(0);
  });

  it('have no label with a user, a token or an address', async () => {
    const service = await startService();
    await service.add({ fields: { email: 'ada@example.com' } });
    await service.poll('boss');
    const names = [...(await scrape(service)).keys()].filter((name) => name.startsWith('leadtap_'));
    const labels = names.flatMap((name) => [...name.matchAll(/([a-z_]+)="/g)].map(([, label]) => label));
    expect([...new Set(labels)].sort()).toEqual([
      ...['direction', 'le', 'level', 'name', 'resource', 'status'],
    ]);
  });
});
