import { randomUUID } from 'node:crypto';
import { expect, it, vi } from 'vitest';
import { deferred } from '../../../testing/harness/deferred.ts';
import { sendBody, startIntake } from '../../../testing/harness/intake.ts';
import { ProblemError } from '../../src/http/problems.ts';
import { KEPT_DETAIL, RefusedLeadRecorder } from '../../src/intake/refused-leads.ts';
import type { RefusedLeadStore, RefusedLeadWithBody } from '../../src/intake/store.ts';

it('with a full queue, an answer does not say that the request is kept', async () => {
  const test = await startIntake();
  const { refusedLeads } = test.store;
  const blocked = deferred();
  const { record } = refusedLeads;
  const recording = vi.spyOn(refusedLeads, 'record').mockImplementation(async (rows) => {
    await blocked.promise;
    await record(rows);
  });
  const send = async (): Promise<readonly [mail: string, saysKept: boolean]> => {
    const mail = `${randomUUID()}${'x'.repeat(65_000)}`;
    const answer = await sendBody(test, `{"mail":"${mail}"}`);
    expect(answer.status).toBe(422);
    const { detail } = (await answer.json()) as { readonly detail: string };
    return [mail, detail.endsWith(KEPT_DETAIL)];
  };
  const sent = [await send()];
  await vi.waitFor(() => expect(recording).toHaveBeenCalled());
  // More than 4 MiB with the first transaction, of 512 KiB at most.
  for (let count = 0; count < 80; count += 1) sent.push(await send());
  expect(sent.map(([, saysKept]) => saysKept)).toEqual(expect.arrayContaining([true, false]));
  blocked.resolve();
  await test.service.refusedLeads.flush();
  sent.push(await send());
  expect(sent.at(-1)?.[1], 'there is room again').toBe(true);
  await test.service.refusedLeads.flush();
  const rows = await refusedLeads.list({ limit: 1000 });
  const bodies = await Promise.all(rows.map(async ({ id }) => String((await refusedLeads.find(id))?.body)));
  expect(bodies.sort()).toEqual(
    sent.flatMap(([mail, saysKept]) => (saysKept ? [`{"mail":"${mail}"}`] : [])).sort(),
  );
});

const BODY = Buffer.from('{"mail":"ada@example.com"}');

it('a transaction that has failed is tried again after a second, with what was refused meanwhile', async () => {
  vi.useFakeTimers();
  try {
    const written: (readonly RefusedLeadWithBody[])[] = [];
    const warnings: string[] = [];
    let isDown = true;
    const store: RefusedLeadStore = {
      record: async (rows) => {
        if (isDown) throw new Error('the disk is full');
        written.push(rows);
      },
      ...{
        isEmpty: async () => false,
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
    const keep = (tokenId: string) =>
      recorder.keep(
        {
          ...{ companyId: 'acme', token: { userId: 'boss', tokenId }, body: BODY },
          ...{ mediaType: 'application/json', idempotencyKey: undefined },
        },
        new ProblemError('invalid-lead'),
      );
    keep('web');
    await vi.advanceTimersByTimeAsync(500);
    keep('web');
    keep('other');
    await vi.advanceTimersByTimeAsync(5000);
    expect(written).toEqual([]);
    expect(warnings, 'one line until it succeeds').toHaveLength(1);
    isDown = false;
    await vi.advanceTimersByTimeAsync(1000);
    expect(
      written
        .flat()
        .map(({ tokenId, times }) => [tokenId, times])
        .sort(),
    ).toEqual([
      ['other', 1],
      ['web', 2],
    ]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(written).toHaveLength(1);
  } finally {
    vi.useRealTimers();
  }
});
