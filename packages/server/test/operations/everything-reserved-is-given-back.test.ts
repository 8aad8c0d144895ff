import { request } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { HOOKS_PATH } from '@leadtap/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { tokenWith } from '../../../testing/harness/intake.ts';
import type { TestService } from '../../../testing/harness/service.ts';
import { startReceiver } from '../../../testing/integrations/hook-receiver.ts';
import { propertyRuns } from '../../../testing/vitest/nightly.ts';
import { eventually } from '../faults/eventually.ts';
import { startWith } from '../hooks/support/hooks.ts';

const UNLIMITED = [{ name: 'minute', quota: 1_000_000, windowS: 60 }];
const LEAD = '{"firstName":"Ada"}';
const JSON_TYPE = { 'content-type': 'application/json' };
const HELD = { prefer: 'wait=1' };
const POLL = '/automation/new-leads';

interface Sent {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string | number>>;
  /** Of a POST. */
  readonly chunks?: readonly string[];
  /** The end of the body never comes. */
  readonly hangs?: true;
}

const post = (chunks: readonly string[], headers: Sent['headers'] = {}): Sent => ({
  path: '/leads',
  headers: { ...JSON_TYPE, ...headers },
  chunks,
});

const REQUESTS = {
  poll: () => ({ path: POLL }),
  longPoll: () => ({ path: `${POLL}?since=${new Date().toISOString()}`, headers: HELD }),
  refusedPoll: () => ({ path: `${POLL}?limit=0` }),
  unknownToken: () => ({ path: POLL, headers: { authorization: 'Bearer x.y.z' } }),
  search: () => ({ path: '/automation/leads?q=ada' }),
  lead: () => post([LEAD], { 'content-length': LEAD.length }),
  chunkedLead: () => post([LEAD]),
  invalidLead: () => post(['{"email":"ada"}']),
  notJson: () => post(['{']),
  tooLarge: () => post([LEAD], { 'content-length': 2 * 1024 * 1024 }),
  tooLargeInChunks: () => post(Array(20).fill('x'.repeat(64 * 1024))),
  hangingLead: (): Sent => ({ ...post([LEAD], { 'content-length': 1000 }), hangs: true }),
  hangingChunks: (): Sent => ({ ...post(['{']), hangs: true }),
} as const satisfies Record<string, () => Sent>;

const RECEIVER = ['answers', 'fails', 'disconnects', 'hangs'] as const;

const mix = fc.array(
  fc.record({
    kind: fc.constantFrom(...(Object.keys(REQUESTS) as (keyof typeof REQUESTS)[])),
    userId: fc.constantFrom('boss', 'seller', 'rival'),
    /** The client disconnects after so many turns of the event loop. */
    cutAfter: fc.option(fc.nat(40), { freq: 2 }),
    /** The request begins after so many. */
    after: fc.nat(60),
  }),
  { minLength: 30, maxLength: 60 },
);

async function send(url: string, token: string, sent: Sent, cutAfter: number | null): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, ...sent.headers };
  const method = sent.chunks ? 'POST' : 'GET';
  const client = request(`${url}${sent.path}`, { method, headers, agent: false });
  client.on('error', () => undefined).on('response', (response) => response.resume());
  const closed = new Promise((resolve) => client.once('close', resolve));
  for (const chunk of sent.chunks ?? []) client.write(chunk);
  if (!sent.hangs) client.end();
  if (cutAfter !== null) {
    for (let turn = 0; turn < cutAfter; turn += 1) await nextTurn();
    client.destroy();
  }
  await closed;
}

/** What is reserved, and the open connections. */
async function readReserved({ metricsUrl, service }: TestService): Promise<Record<string, number>> {
  const text = await (await fetch(metricsUrl)).text();
  const reserved = [...text.matchAll(/^leadtap_(?:reserved\{resource="(\w+)"\}|(waiting_polls)) (\S+)$/gm)];
  const { server } = service.publicServer;
  const connections = await new Promise<number>((resolve) =>
    server.getConnections((_error, count) => resolve(count)),
  );
  return {
    connections,
    ...Object.fromEntries(reserved.map(([, name, other, value]) => [name ?? other, Number(value)])),
  };
}

const AT_REST = {
  ...{ connections: 0, waiting_polls: 0, poll_checks: 0 },
  ...{ upload_bytes: 0, uploading_users: 0, webhook_slots: 0, list_slots: 0 },
};

it('after any mix of finished, failed, disconnected and timed-out requests', async () => {
  const receiver = await startReceiver();
  const test = await startWith(receiver, {
    requestTimeoutMs: 1000,
    hookDelivery: { timeoutMs: 500 },
    limits: { userPolicies: UNLIMITED, intakePolicies: UNLIMITED, failedTokenPolicies: UNLIMITED },
  });
  const tokens = new Map<string, string>();
  for (const userId of ['boss', 'seller', 'rival'])
    tokens.set(userId, await tokenWith(test, userId, ['leads:read', 'leads:write']));
  // Without a connection.
  const hook = { headers: { authorization: `Bearer ${tokens.get('boss')}`, ...JSON_TYPE } };
  let run = 0;
  await fc.assert(
    fc.asyncProperty(mix, fc.infiniteStream(fc.constantFrom(...RECEIVER)), async (requests, answers) => {
      receiver.respond = (response) => {
        const answer = answers.next().value;
        if (answer === 'answers') response.end();
        if (answer === 'fails') response.writeHead(500).end();
        if (answer === 'disconnects') response.destroy();
      };
      run += 1;
      const hooks: string[] = [];
      for (const kind of ['event', 'lead'] as const) {
        const body = { url: `${receiver.url}/${kind}/${run}`, send: kind };
        const answer = await test.inject({ ...hook, method: 'POST', url: HOOKS_PATH, payload: body });
        hooks.push(answer.json().id);
      }
      await Promise.all(
        requests.map(async ({ kind, userId, cutAfter, after }) => {
          for (let turn = 0; turn < after; turn += 1) await nextTurn();
          await send(test.url, tokens.get(userId) ?? '', REQUESTS[kind](), cutAfter);
        }),
      );
      for (const id of hooks) await test.inject({ ...hook, method: 'DELETE', url: `${HOOKS_PATH}/${id}` });
      await eventually(async () => expect(await readReserved(test)).toEqual(AT_REST));
    }),
    { numRuns: propertyRuns(4), endOnFailure: true },
  );
});
