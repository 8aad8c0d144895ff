import { NEW_LEADS_PATH } from '@leadtap/contract';
import type { Store } from 'leadtap';
import type { Actor } from '../actor.ts';
import { findUndeclared, isFaultStatus, type ReceivedResponse, receive } from '../declared.ts';
import { type Installation, timeoutSignal } from '../pollers/http-caller.ts';

export interface TokenRevocationsOptions {
  readonly installation: Installation;
  /** Of the instances themselves: the client of a long poll has no other way to find out that its connection is half-open. */
  readonly directUrls: readonly string[];
  /** One for each revocation, of a company that gets no leads. */
  readonly userIds: readonly string[];
  readonly openStore: () => Promise<Store>;
}

/** A poll that the revocation does not end is answered with 200 after this time. */
const HELD_S = 50;
const PAUSE_MS = 8000;

/** A token is revoked while polls with it are held: they end with 401, and so does each later poll, on every instance. */
export const tokenRevocations = (options: TokenRevocationsOptions): Actor => ({
  name: 'token revocations',
  run: async ({ recorder, random, goesOn, pause }) => {
    const { installation, directUrls, userIds, openStore } = options;
    const store = await openStore();
    for (const [index, userId] of userIds.entries()) {
      if (!goesOn(index)) break;
      const token = await installation.token(userId);
      const headers = { authorization: `Bearer ${token}` };
      const check = (what: string, response: ReceivedResponse | undefined, expected: readonly number[]) => {
        recorder.count(`${what}, answered ${response?.status ?? 'not at all'}`);
        if (!response) return;
        const isExpected = expected.includes(response.status) || isFaultStatus(response.status);
        if (!isExpected || findUndeclared(response))
          recorder.complain(`${what} of ${userId}: ${response.status} ${response.text}`);
      };
      const poll = (url: string) =>
        receive(`${url}${NEW_LEADS_PATH}`, { headers, signal: timeoutSignal(installation) });
      const hold = (url: string) =>
        receive(`${url}${NEW_LEADS_PATH}?since=2026-01-01`, {
          headers: { ...headers, prefer: `wait=${HELD_S}` },
        });
      for (const url of installation.urls) check('polls before a revocation', await poll(url), [200]);
      const begun = performance.now();
      const held = directUrls.map(hold);
      await pause(random.below(500));
      await store.revokeToken(tokenIdOf(token));
      // On a busy machine, a poll may be held to its end before.
      const isInTime = performance.now() - begun < (HELD_S * 1000) / 2;
      for (const url of installation.urls) check('polls after a revocation', await poll(url), [401]);
      for (const response of await Promise.all(held))
        check('long polls, revoked', response, isInTime ? [401] : [200, 401]);
      await pause(random.below(2 * PAUSE_MS));
    }
    await store.close();
  },
});

const tokenIdOf = (token: string): string =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).jti;
