import { describe, it } from 'vitest';
import { emptyStore, injectPoll, makeEndpoint } from '../../../testing/harness/endpoint.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';

describe('404 user-not-found', () => {
  const shared = shareService();

  it.each(['BOSS', 'boss ', ' boss', 'boss\0', 'boss\0x', 'bos%', 'acme', '__proto__', "' OR '1'='1"])(
    'answers %j, who is not boss',
    async (userId) => {
      const { poll } = shared();
      await expectProblem(await poll(userId), 'user-not-found');
    },
  );

  it('answers if the database finds another user by ignoring case', async () => {
    const findUser = () => emptyStore.findUser('boss');
    const verifyToken = async () =>
      ({ kind: 'valid', token: { userId: 'Boss', tokenId: undefined } }) as const;
    await expectProblem(await injectPoll(makeEndpoint({ findUser }, { verifyToken })), 'user-not-found');
  });
});
