/** The last days of the made-up company: rows that are written into its database before it is served. */
import { loadSigningKeys } from '../accounts/signing-keys.ts';
import type { Config } from '../config.ts';
import type { ConnectionBatch } from '../connections/store.ts';
import type { Clock } from '../lib/clock.ts';
import { openStore } from '../open-store.ts';
import { DAY_MS, issue } from './accounts/issued-tokens.ts';
import { DEMO_ORGANISATION, DEMO_USER, makeLead, makeStatus } from './demo-data.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const OLD_LEADS = 20;
/** How long ago the form sent two leads. */
const FORM_MS = [22 * HOUR_MS, 15 * HOUR_MS, 9 * HOUR_MS, 4 * HOUR_MS, 15 * MINUTE_MS];
const POLLS_EVERY_MS = 5 * MINUTE_MS;
/** The polls before this are not written. */
const POLLED_MS = 2 * HOUR_MS;
/** Make has not polled since. */
const STOPPED_MS = HOUR_MS;
/** So long that no page of the demo warns that a token expires. */
export const TOKEN_MS = 90 * DAY_MS;

/** The form has sent leads, n8n has got all of them, and Make has stopped. Returns the tokens that go on. */
export async function writeHistory(config: Config, clock: Clock) {
  let agoMs = DAY_MS;
  const now = () => clock() - agoMs;
  const keys = await loadSigningKeys(config.signingKey);
  const store = await openStore(config, { clock: now });
  try {
    await store.applyOrganisation(DEMO_ORGANISATION);
    const oldLeads = Array.from({ length: OLD_LEADS }, () => {
      const createdAt = Math.floor(now() - Math.random() * 5 * DAY_MS);
      return { ...makeLead(createdAt), statusValue: makeStatus(), createdAt };
    });
    await store.writeLeads(oldLeads, { historical: true });
    await store.connections.noteInstance('demo', 'started');
    const issueFor = (name: string) =>
      issue({ store, keys, now: now() }, { userId: DEMO_USER, name, lifetimeMs: TOKEN_MS });
    const pollers = [await issueFor('n8n'), await issueFor('Make')] as const;
    const form = await issue(
      { store, keys, now: now() },
      { userId: DEMO_USER, name: 'Web form', lifetimeMs: TOKEN_MS, scopes: ['leads:write'] },
    );
    const unread = new Map<string, number[]>(pollers.map(({ tokenId }) => [tokenId, []]));
    const positions = new Map<string, number>();

    const polls = Array.from({ length: POLLED_MS / POLLS_EVERY_MS }, (_, index) => index * POLLS_EVERY_MS);
    for (agoMs of [...new Set([DAY_MS, ...FORM_MS, ...polls])].sort((a, b) => b - a)) {
      const batches: ConnectionBatch[] = [];
      if (FORM_MS.includes(agoMs)) {
        const { results } = await store.writeLeads([makeLead(now()), makeLead(now())]);
        for (const result of results)
          if (result.kind === 'added') for (const stamps of unread.values()) stamps.push(result.createdAt);
        batches.push(sentBy(form.tokenId, now(), results.length));
      }
      for (const { tokenId } of agoMs < STOPPED_MS ? pollers.slice(0, 1) : pollers) {
        const stamps = unread.get(tokenId)?.splice(0) ?? [];
        const since = positions.get(tokenId) ?? now();
        positions.set(tokenId, stamps.at(-1) ?? since);
        batches.push(polledBy(tokenId, now(), since, stamps));
      }
      await store.connections.record(batches);
    }
    await store.connections.noteInstance('demo', 'stopped');
    const [n8n] = pollers;
    return { n8nToken: n8n.token, formToken: form.token, since: clock() - DAY_MS };
  } finally {
    await store.close();
  }
}

const batchOf = (keyId: string, at: number) => ({
  ...{ userId: DEMO_USER, keyId, source: 'token' as const, tokenExpiresAt: at + TOKEN_MS },
  ...{ isKnownOnly: false, polls: [], sends: [], pushes: [] },
});

const sentBy = (keyId: string, at: number, added: number): ConnectionBatch => ({
  ...batchOf(keyId, at),
  kind: 'send',
  sends: [
    {
      ...{ firstAt: at, lastAt: at, times: 1, status: 201, code: null, added, updated: 0 },
      ...{ isHeld: false, fields: [], durationMs: 3 },
    },
  ],
});

/** A poll for what is newer than `since`, which got the leads of these stamps. */
const polledBy = (keyId: string, at: number, since: number, stamps: readonly number[]): ConnectionBatch => ({
  ...batchOf(keyId, at),
  kind: 'poll',
  polls: [
    {
      ...{ firstAt: at, lastAt: at, times: 1, since, limit: 100, status: 200, code: null, durationMs: 2 },
      page: {
        createdAt: stamps,
        ...{ oldest: stamps[0] ?? null, newest: stamps.at(-1) ?? null, isFull: false },
        ...{ link: stamps.at(-1) ?? since, isSent: true },
      },
    },
  ],
});
