import { StoreUnavailableError } from 'leadtap';
import { describe, expect, it, vi } from 'vitest';
import { beforeQuestion } from '../../../testing/harness/before-question.ts';
import { acknowledgementOf, sendLeads } from '../../../testing/harness/intake.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { startService } from '../../../testing/harness/service.ts';

const UNREACHABLE = new StoreUnavailableError('/var/lib/leads.db is locked by process 7');

async function expectUnavailable(answer: Response): Promise<void> {
  expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  const problem = await expectProblem(answer, 'unavailable');
  expect(JSON.stringify(problem)).not.toMatch(/leads\.db|locked|process/);
  // Not the text for polls: a lead that is not sent again is lost.
  expect(problem.detail).toMatch(
    /^The leads may not be stored\. Send the same request again .*`Idempotency-Key`\.$/,
  );
}

describe('503 unavailable', () => {
  it('the user cannot be read', async () => {
    const test = await startService();
    beforeQuestion(test.store, 'revalidate', () => Promise.reject(UNREACHABLE));
    await expectUnavailable(await sendLeads(test, { firstName: 'Ada' }));
  });

  it.each(['writeAllLeads', 'findPlacementProblems'] as const)('%s fails', async (method) => {
    const test = await startService();
    vi.spyOn(test.store, method).mockRejectedValueOnce(UNREACHABLE);
    const lead = method === 'writeAllLeads' ? { id: 'a', firstName: 'Ada' } : { id: 'a', email: 'wrong' };
    await expectUnavailable(await sendLeads(test, lead));
    expect(await test.leads('boss')).toEqual([]);
    expect((await sendLeads(test, { id: 'a', firstName: 'Ada' })).status).toBe(201);
  });

  it('the database is closed', async () => {
    const test = await startService();
    await test.store.close();
    test.store.close = async () => undefined;
    await expectUnavailable(await sendLeads(test, { firstName: 'Ada' }));
  });

  it('the answer of the commit was lost: the same request again adds nothing', async () => {
    const test = await startService();
    const { writeAllLeads } = test.store;
    vi.spyOn(test.store, 'writeAllLeads').mockImplementationOnce(async (...args) => {
      await writeAllLeads.apply(test.store, args);
      throw UNREACHABLE;
    });
    const send = () =>
      sendLeads(test, [{ id: 'own', firstName: 'Ada' }, { firstName: 'Ada' }], {
        headers: { 'idempotency-key': 'k' },
      });
    await expectUnavailable(await send());
    const again = await send();
    expect(again.status).toBe(201);
    const { leads } = await acknowledgementOf(again);
    expect(leads.map(({ result }) => result)).toEqual(['added', 'added']);
    expect(await test.leads('boss')).toHaveLength(2);
  });

  it('any other error is a 500 without details', async () => {
    const test = await startService();
    vi.spyOn(test.store, 'writeAllLeads').mockRejectedValueOnce(new Error('the disk is on fire'));
    const problem = await expectProblem(await sendLeads(test, { firstName: 'Ada' }), 'internal-error');
    expect(JSON.stringify(problem)).not.toContain('fire');
  });
});

it('a request waits for a writer that holds the lock', async () => {
  const test = await startService();
  // Cached, so that the next request only writes.
  await sendLeads(test, { id: 'first', firstName: 'Ada' });
  const release = await test.database.holdLock('acme');
  const write = vi.spyOn(test.store, 'writeAllLeads');
  const sent = sendLeads(test, { id: 'second', firstName: 'Ada' });
  await vi.waitFor(() => expect(write).toHaveBeenCalled());
  await release();
  expect((await sent).status).toBe(201);
});
