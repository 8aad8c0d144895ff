import { randomBytes } from 'node:crypto';
import { decodeProtectedHeader } from 'jose';
import { expect, it } from 'vitest';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import { outcome, pollWith } from './support/polling.ts';

const [OLD, NEW] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];

/** Two instances on one database. One is restarted after the other, as in a rolling restart. */
class Installation {
  #instances: TestService[] = [];

  async start(): Promise<void> {
    const env = { LEADTAP_SIGNING_KEY: OLD };
    const first = await startService({ env });
    this.#instances = [first, await startService({ env, beside: first })];
  }

  /** Restarts both with other keys, and runs the check while only the first has them, and when both have. */
  async restart(keys: string, check: () => Promise<void>): Promise<void> {
    for (const [index, instance] of this.#instances.entries()) {
      await instance.stop();
      this.#instances[index] = await startService({ env: { LEADTAP_SIGNING_KEY: keys }, beside: instance });
      await check();
    }
  }

  /** A token that each instance signs. */
  issue(): Promise<string[]> {
    return Promise.all(this.#instances.map((instance) => instance.token('boss')));
  }

  /** What each instance answers to a poll with this token. */
  answers(token: string): Promise<string[]> {
    return Promise.all(this.#instances.map(async ({ url }) => outcome(await pollWith(url, token))));
  }
}

it('no token is rejected while a key is rotated, and those of the old key are when it is removed', async () => {
  const installation = new Installation();
  await installation.start();
  const keyIdOf = (token: string) => decodeProtectedHeader(token).kid;
  const expectAccepted = async (...tokens: readonly string[]) => {
    for (const token of tokens) expect(await installation.answers(token)).toEqual(['200', '200']);
  };
  const [old = ''] = await installation.issue();
  await expectAccepted(old);

  await installation.restart(`${OLD} ${NEW}`, async () =>
    expectAccepted(old, ...(await installation.issue())),
  );
  expect((await installation.issue()).map(keyIdOf)).toEqual([keyIdOf(old), keyIdOf(old)]);

  await installation.restart(`${NEW} ${OLD}`, async () =>
    expectAccepted(old, ...(await installation.issue())),
  );
  const [current = '', other = ''] = await installation.issue();
  expect(keyIdOf(current)).toBe(keyIdOf(other));
  expect(keyIdOf(current)).not.toBe(keyIdOf(old));

  const rejected: string[][] = [];
  await installation.restart(NEW, async () => {
    await expectAccepted(current, ...(await installation.issue()));
    rejected.push(await installation.answers(old));
  });
  expect(rejected).toEqual([
    ['401 token-invalid', '200'],
    ['401 token-invalid', '401 token-invalid'],
  ]);
});
