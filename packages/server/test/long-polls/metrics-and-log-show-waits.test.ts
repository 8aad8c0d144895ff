import { expect, test, vi } from 'vitest';
import { startWaitingService } from './support/long-polls-service.ts';

const isPoll = ({ path }: { readonly path?: string }) => path === '/automation/new-leads';

test('the gauge counts the requests that wait, and durations do not include the wait', async () => {
  const lines: { path?: string; durationMs?: number; waitedMs?: number; leads?: number }[] = [];
  const logTo = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const { wait, untilWaiting, passTime, metricsUrl, poll } = await startWaitingService({ logTo });
  const metrics = async () => (await fetch(metricsUrl)).text();
  const answer = wait('boss', 'since=2026-01-01', { headers: { prefer: 'wait=1' } });
  await untilWaiting(1);
  expect(await metrics()).toMatch(/^leadtap_waiting_polls 1$/m);
  await passTime(1000);
  await answer;
  expect(await metrics()).toMatch(/^leadtap_waiting_polls 0$/m);

  await vi.waitFor(() => expect(lines.filter(isPoll)).toHaveLength(1));
  const line = lines.find(isPoll);
  expect(line?.waitedMs).toBeGreaterThan(0);
  expect(line?.durationMs).toBeGreaterThanOrEqual(line?.waitedMs ?? 0);
  const [, seconds] = /^leadtap_poll_duration_seconds_sum\{status="200"\} (.*)$/m.exec(await metrics()) ?? [];
  const [durationMs = 0, waitedMs = 0] = [line?.durationMs, line?.waitedMs];
  expect(Number(seconds) * 1000).toBeCloseTo(durationMs - waitedMs, 1);

  await poll('boss');
  await vi.waitFor(() => expect(lines.filter(isPoll)).toHaveLength(2));
  expect(lines.filter(isPoll).at(-1)).not.toHaveProperty('waitedMs');
});
