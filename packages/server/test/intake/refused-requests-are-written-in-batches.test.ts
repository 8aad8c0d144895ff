import { randomUUID } from 'node:crypto';
import { expect, it, onTestFinished, vi } from 'vitest';
import { deferred } from '../../../testing/harness/deferred.ts';
import { sendBody } from '../../../testing/harness/intake.ts';
import { startService } from '../../../testing/harness/service.ts';
import { ProblemError } from '../../src/http/problems.ts';
import { KEPT_DETAIL, RefusedLeadRecorder } from '../../src/intake/refused-leads.ts';
import type { RefusedLeadStore, RefusedLeadWithBody } from '../../src/intake/store.ts';

it('the answer waits for the commit, and with a full queue it does not say that the request is kept', async () => {
  const test = await startService();
  const { refusedLeads } = test.store;
  const blocked = deferred();
  const { record } = refusedLeads;
  const recording = vi.spyOn(refusedLeads, 'record').mockImplementation(async (rows) => {
    await blocked.promise;
    await record(rows);
  });
  let answered = 0;
  const send = async (): Promise<readonly [mail: string, saysKept: boolean]> => {
    const mail = `${randomUUID()}${'x'.repeat(65_000)}`;
    const answer = await sendBody(test, `{"mail":"${mail}"}`);
    answered += 1;
    expect(answer.status).toBe(422);
    const { detail } = (await answer.json()) as { readonly detail: string };
    return [mail, detail.endsWith(KEPT_DETAIL)];
  };
  const first = send();
  await vi.waitFor(() => expect(recording).toHaveBeenCalled());
  // Another request is answered after it, and so this one would have been.
  expect((await fetch(`${test.url}/livez`)).status).toBe(200);
  expect(answered).toBe(0);
  // More than 4 MiB with the first transaction, of 512 KiB at most. Those beyond are answered at once.
  const keep = vi.spyOn(test.service.refusedLeads, 'keep');
  const rest = [];
  for (let count = 1; count <= 80; count += 1) {
    rest.push(send());
    // A user may have 8 unfinished uploads.
    await vi.waitFor(() => expect(keep).toHaveBeenCalledTimes(count));
  }
  await vi.waitFor(() => expect(answered).toBeGreaterThan(0));
  blocked.resolve();
  const sent = await Promise.all([first, ...rest]);
  expect(sent.map(([, saysKept]) => saysKept)).toEqual(expect.arrayContaining([true, false]));
  expect((await first)[1]).toBe(true);
  sent.push(await send());
  expect(sent.at(-1)?.[1], 'there is room again').toBe(true);
  const rows = await refusedLeads.list({ limit: 1000 });
  const bodies = await Promise.all(rows.map(async ({ id }) => String((await refusedLeads.find(id))?.body)));
  expect(bodies.sort()).toEqual(
    sent.flatMap(([mail, saysKept]) => (saysKept ? [`{"mail":"${mail}"}`] : [])).sort(),
  );
});

const BODY = Buffer.from('{"mail":"ada@example.com"}');

/** A store that fails while `isDown`, and a recorder that keeps requests in it. */
function failingStore() {
  const written: (readonly RefusedLeadWithBody[])[] = [];
  const warnings: string[] = [];
  const state = { isDown: true };
  const store: RefusedLeadStore = {
    record: async (rows) => {
      if (state.isDown) throw new Error('the disk is full');
      written.push(rows);
    },
    ...{
      isEmpty: async () => true,
      removeAccepted: async () => 0,
      prune: async () => 0,
      remove: async () => 0,
    },
    ...{ list: async () => [], find: async () => undefined, summarize: async () => [] },
  };
  const recorder = new RefusedLeadRecorder(store, {
    ...{ clock: Date.now, createId: String, isOn: true },
    log: { warn: (_, message) => warnings.push(message) },
  });
  const requestOf = (tokenId: string, body = BODY) => ({
    ...{ companyId: 'acme', token: { userId: 'boss', tokenId }, body },
    mediaType: 'application/json',
  });
  /** Whether the answer says that it is kept. */
  const keep = async (tokenId: string): Promise<boolean> => {
    const { parts } = await recorder.keep(requestOf(tokenId), new ProblemError('invalid-lead'));
    expect(parts.isKept, 'it is in the queue').toBe(true);
    return parts.detail?.endsWith(KEPT_DETAIL) === true;
  };
  return { recorder, written, warnings, state, keep, requestOf };
}

const tokensOf = (rows: readonly RefusedLeadWithBody[]) =>
  rows.map(({ tokenId, times }) => [tokenId, times]).sort();

it('a transaction that has failed is tried again after a second, with what was refused meanwhile', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { written, warnings, state, keep } = failingStore();
  const first = keep('web');
  await vi.advanceTimersByTimeAsync(500);
  expect(await first, 'it may be lost').toBe(false);
  expect([await keep('web'), await keep('other')]).toEqual([false, false]);
  await vi.advanceTimersByTimeAsync(5000);
  expect(written).toEqual([]);
  expect(warnings, 'one line until it succeeds').toHaveLength(1);
  state.isDown = false;
  await vi.advanceTimersByTimeAsync(1000);
  expect(tokensOf(written.flat())).toEqual([
    ['other', 1],
    ['web', 2],
  ]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(written).toHaveLength(1);
  const last = keep('web');
  await vi.advanceTimersByTimeAsync(500);
  expect(await last, 'it can be written again').toBe(true);
});

it('while requests cannot be written, reads that succeed do not make answers say that they are kept', async () => {
  const { recorder, keep, requestOf } = failingStore();
  expect(await keep('web')).toBe(false);
  recorder.noteAccepted(requestOf('other', Buffer.from('{"firstName":"Ben"}')));
  await recorder.flush();
  expect(await keep('web')).toBe(false);
});

it('the end waits until what is queued can be written, and returns what is lost', async () => {
  const later = failingStore();
  expect(await later.keep('web')).toBe(false);
  const closed = later.recorder.close(60_000);
  await later.recorder.flush();
  expect(later.warnings).toHaveLength(1);
  later.state.isDown = false;
  expect(await closed).toEqual([]);
  expect(tokensOf(later.written.flat())).toEqual([['web', 1]]);

  const never = failingStore();
  for (const name of ['web', 'web', 'other']) await never.keep(name);
  expect(tokensOf(await never.recorder.close(0))).toEqual([
    ['other', 1],
    ['web', 2],
  ]);
});

it('what is lost at the stop is an error in the log, and counts as not kept', async () => {
  const lines: string[] = [];
  const test = await startService({ logTo: { write: (line) => lines.push(line) } });
  vi.spyOn(test.store.refusedLeads, 'record').mockRejectedValue(new Error('the disk is full'));
  const { refusedLeads } = test.service;
  const close = refusedLeads.close.bind(refusedLeads);
  vi.spyOn(refusedLeads, 'close').mockImplementation(() => close(0));
  for (let count = 0; count < 2; count += 1)
    expect((await sendBody(test, '{"mail":"ada@example.com"}')).status).toBe(422);
  await test.stop();
  const errors = lines.filter((line) => line.includes('"level":"error"'));
  expect(errors.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { lostRequests: 2, areCountsLost: false },
  ]);
  expect(lines.join('')).not.toContain('ada@');
  const restarted = await startService({ beside: test });
  const [sender] = await restarted.store.senders.list({ limit: 9, now: Date.now() });
  expect(sender?.days).toEqual([[expect.any(String), 0, 2, 2]]);
  expect(await restarted.store.refusedLeads.list({ limit: 9 })).toEqual([]);
});
