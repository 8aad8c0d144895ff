import { StoreUnavailableError } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { beforeQuestion } from '../../../packages/testing/harness/before-question.ts';
import { manualClock } from '../../../packages/testing/harness/manual-clock.ts';
import { startService } from '../../../packages/testing/harness/service.ts';
import { perform } from '../src/triggers/new-lead.ts';
import { connect, failureOf, run } from './connection.ts';

describe('a poll that is refused for a while', () => {
  it('is tried again after as many seconds as the limit asks for', async () => {
    const clock = manualClock();
    const test = await startService({ clock });
    const connection = await connect(test);
    await test.add({ id: 'waits' });
    for (let request = 0; request < 100; request += 1) await test.poll('boss');
    clock.advance(17_001);
    const failure = await failureOf(run(perform, connection));
    expect(failure).toMatchObject({ name: 'ThrottledError', delay: 43 });
    expect(failure.message).toContain('The rate limit was reached.');
    clock.advance(43_000);
    expect(await run(perform, connection)).toMatchObject([{ id: 'waits' }]);
  });

  it('is tried again after as many seconds as an outage asks for', async () => {
    const test = await startService();
    const connection = await connect(test);
    const recover = beforeQuestion(test.store, 'revalidate', () =>
      Promise.reject(new StoreUnavailableError('the database is away')),
    );
    const refused = await test.poll('boss');
    expect(await failureOf(run(perform, connection))).toMatchObject({
      name: 'ThrottledError',
      delay: Number(refused.headers.get('retry-after')),
    });
    recover();
    expect(await run(perform, connection)).toEqual([]);
  });

  it('says the request id when the service made a mistake', async () => {
    const test = await startService();
    beforeQuestion(test.store, 'revalidate', () => Promise.reject(new Error('a bug')));
    const failure = await failureOf(run(perform, await connect(test)));
    expect(failure).toMatchObject({ name: 'AppError', code: 'internal-error', status: 500 });
    expect(failure.message).toMatch(/The request id is \S+\.$/);
  });
});
