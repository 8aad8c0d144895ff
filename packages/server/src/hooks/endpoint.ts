/** `{base_url}/automation/hooks`: webhook subscriptions. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import {
  HOOK_SENDS,
  HOOKS_PATH,
  type HookSend,
  type InvalidHook,
  MAX_HOOK_BYTES,
  MAX_HOOK_NAME_LENGTH,
  MAX_HOOK_URL_LENGTH,
  MAX_HOOKS_PER_USER,
  PROBLEMS,
  type SubscribedHook,
  type Hook as WireHook,
} from '@leadtap/contract';
import { findTextProblem } from '../accounts/organisation-fields.ts';
import { storableExpiry, tokenKeyOf } from '../accounts/token-key.ts';
import { addressKey, rateLimitExceeded } from '../http/authorize.ts';
import { type BodyRule, readBody } from '../http/body.ts';
import { type Endpoint, READ_METHODS, type RefusalObserver } from '../http/endpoint.ts';
import { type Exchange, jsonPayload, type Payload } from '../http/exchange.ts';
import {
  type Accounts,
  type Caller,
  createIdentification,
  type IdentificationOptions,
} from '../http/identify.ts';
import { ProblemError } from '../http/problems.ts';
import { parseInstant } from '../leads/instant.ts';
import { MIN_TIME, systemClock, toIso, toIsoOrNull } from '../lib/clock.ts';
import { isJsonObject } from '../lib/json.ts';
import { FAILED_TOKEN_POLICIES, type Limiter, MemoryLimiter } from '../limits/limiter.ts';
import { hasOwnToken, ownTokenId } from './claim.ts';
import { secretOf } from './event.ts';
import { isSinceInFuture } from './rules.ts';
import { type Hook, type HookStore, hookStateOf } from './store.ts';
import { checkHookUrl } from './url.ts';

/** What the endpoint needs beside the parts of the others. */
export interface HookSettings {
  readonly store: HookStore;
  /** Those that events may be sent to. */
  readonly hosts: readonly string[];
  /** The first one is used for secrets; events are signed with all of them. */
  readonly signingSecrets: readonly [Uint8Array, ...Uint8Array[]];
  /** What has signed a token: nothing is sent any more when it is not accepted. */
  readonly keyIdOf: (token: string) => string | null;
  readonly revokeToken: (tokenId: string) => Promise<boolean>;
}

export interface HookEndpointOptions extends IdentificationOptions, RefusalObserver {
  readonly hooks: HookSettings;
  readonly accounts: Accounts;
  /** The limiter of polls: both count together. */
  readonly limiter: Limiter;
  readonly onSubscribed: () => void;
}

const HOOK_ID = /^[0-9a-f]{32}$/;

/** After the checks of every endpoint: text of the body 400, subscription 422, number 409. */
export function createHookEndpoints(options: HookEndpointOptions): Endpoint[] {
  const { hooks, onSubscribed, observeRefusal, clock = systemClock } = options;
  const { failedTokens = new MemoryLimiter(FAILED_TOKEN_POLICIES, clock) } = options;
  const callers = createIdentification({ ...options, failedTokens, scope: 'leads:read' });
  const [signingSecret] = hooks.signingSecrets;

  async function subscribe(exchange: Exchange, { token }: Caller): Promise<Payload> {
    const { url, since, send, name } = await readSubscription(exchange);
    if (send !== 'event' && isSinceInFuture(since, clock())) throw invalidHook('since-in-future');
    // The account may have changed while the body arrived.
    await callers.identifyAgain(exchange);
    const checked = checkHookUrl(url, hooks.hosts);
    if (checked.kind === 'invalid') throw invalidHook(checked.reason);
    if (checked.kind === 'host-not-allowed') throw new ProblemError('hook-host-not-allowed');
    const baseUrl = exchange.baseUrl();
    if (baseUrl.length > MAX_HOOK_URL_LENGTH)
      throw new ProblemError('malformed-request', { detail: 'The Host header is too long.' });
    const outcome = await hooks.store.subscribe(
      {
        ...tokenKeyOf(token),
        id: randomBytes(16).toString('hex'),
        tokenExpiresAt: storableExpiry(token),
        keyId: hooks.keyIdOf(exchange.request.headers.authorization?.slice('Bearer '.length) ?? ''),
        url: checked.url.href,
        send,
        name,
        baseUrl,
        since,
      },
      MAX_HOOKS_PER_USER,
    );
    if (outcome.kind === 'too-many') throw new ProblemError('too-many-hooks');
    if (outcome.kind === 'no-such-user') throw new ProblemError('user-not-found');
    // And while the subscription waited for the database. The hook of a revoked token sends nothing, and is deleted.
    await callers.identifyAgain(exchange);
    onSubscribed();
    const { hook } = outcome;
    exchange.headers.push('location', `${baseUrl}${HOOKS_PATH}/${hook.id}`);
    return jsonPayload(exchange, outcome.kind === 'created' ? 201 : 200, {
      id: hook.id,
      url: hook.url,
      name: hook.name,
      send: hook.send,
      secret: secretOf(signingSecret, hook.id),
      since: toIso(hook.announcedThrough),
      state: hookStateOf(hook),
    } satisfies SubscribedHook);
  }

  async function read(exchange: Exchange, { token }: Caller): Promise<Payload> {
    return jsonPayload(exchange, 200, toWireHook(await findHook(exchange, token)));
  }

  async function findHook({ request }: Exchange, token: Caller['token']): Promise<Hook> {
    const id = idOf(request);
    const hook = HOOK_ID.test(id) ? await hooks.store.find(id) : undefined;
    const { userId, tokenId } = tokenKeyOf(token);
    if (hook?.userId !== userId || hook.tokenId !== tokenId) throw noSuchHook();
    return hook;
  }

  async function rename(exchange: Exchange, { token }: Caller): Promise<Payload> {
    const { name: given } = parseObject(await readBody(exchange, CHANGE));
    const name = parseName(given);
    // The account may have changed while the body arrived.
    await callers.identifyAgain(exchange);
    const hook = await findHook(exchange, token);
    if (!(await hooks.store.rename(hook.id, name))) throw noSuchHook();
    return jsonPayload(exchange, 200, toWireHook({ ...hook, name }));
  }

  /** Without a token: platforms unsubscribe after the token was changed, or without it. */
  async function remove({ request, address, headers }: Exchange): Promise<Payload> {
    // Counted apart from failed tokens, so that neither uses up the other.
    const verdict = await failedTokens.consume(`hooks ${addressKey(address)}`);
    if (verdict.violated.length > 0) throw rateLimitExceeded(verdict);
    const id = idOf(request);
    const hook = HOOK_ID.test(id) ? await hooks.store.find(id) : undefined;
    if (hook) await hooks.store.remove(id, undefined, 'deleted');
    if (hook && hasOwnToken(hook)) await hooks.revokeToken(ownTokenId(id));
    headers.push('cache-control', 'no-store');
    return { status: 204, body: undefined };
  }

  const observe: Endpoint['observe'] = ({ problem }) =>
    observeRefusal?.(problem?.parts.violatedPolicies ?? []);
  const item = `${HOOKS_PATH}/{id}`;
  return [
    { path: HOOKS_PATH, methods: ['POST'], callers, body: SUBSCRIPTION, answer: subscribe, observe },
    { path: item, methods: READ_METHODS, callers, answer: read, observe },
    { path: item, methods: ['PATCH'], callers, body: CHANGE, answer: rename, observe },
    { path: item, methods: ['DELETE'], answer: remove, observe },
  ];
}

/** The part of the path after the last slash. */
function idOf({ url = '' }: IncomingMessage): string {
  const [path = ''] = url.split('?', 1);
  return path.slice(path.lastIndexOf('/') + 1);
}

interface Subscription {
  readonly url: string;
  readonly since: number | undefined;
  readonly send: HookSend;
  readonly name: string | null;
}

/** Power Automate sends the URL in a header, and what its connector describes, or nothing, in the body. */
const NOTIFICATION_URL = 'x-ms-notification-url';

const CHANGE: BodyRule = {
  mediaTypes: ['application/json'],
  mediaTypeDetail: 'Send the subscription as `Content-Type: application/json` in UTF-8.',
  maxBytes: MAX_HOOK_BYTES,
  sizeDetail: `Send at most ${MAX_HOOK_BYTES / 1024} KiB in a subscription.`,
};

const SUBSCRIPTION: BodyRule = {
  ...CHANGE,
  isIgnored: ({ headers }) => headers[NOTIFICATION_URL] !== undefined,
};

async function readSubscription(exchange: Exchange): Promise<Subscription> {
  const notificationUrl = exchange.request.headers[NOTIFICATION_URL];
  if (notificationUrl !== undefined)
    return { url: String(notificationUrl), since: undefined, send: 'event', name: null };
  return parseSubscription(await readBody(exchange, SUBSCRIPTION));
}

function parseSubscription(bytes: Buffer): Subscription {
  const { url, since, send: given, name: givenName } = parseObject(bytes);
  if (typeof url !== 'string') throw new ProblemError('invalid-hook');
  const send = HOOK_SENDS.find((known) => known === (given ?? 'event'));
  if (send === undefined) throw invalidHook('send-unknown');
  const name = givenName === undefined || givenName === null ? null : parseName(givenName);
  if (since === undefined || since === null) return { url, since: undefined, send, name };
  const at = typeof since === 'string' ? parseInstant(since) : undefined;
  if (at === undefined) throw invalidHook('since-not-a-time');
  // The earliest time that every database can store.
  return { url, since: Math.max(at, MIN_TIME), send, name };
}

const invalidHook = (reason: InvalidHook): ProblemError =>
  new ProblemError('invalid-hook', { detail: PROBLEMS['invalid-hook'].details[reason] });

function parseName(value: unknown): string {
  const name = typeof value === 'string' ? value.trim() : '';
  if (findTextProblem(name, MAX_HOOK_NAME_LENGTH) !== undefined) throw invalidHook('name-not-valid');
  return name;
}

const noSuchHook = (): ProblemError =>
  new ProblemError('no-such-resource', {
    detail: 'This token has no such webhook subscription. Subscribe again.',
  });

function parseObject(bytes: Buffer): Readonly<Record<string, unknown>> {
  const value = parseJson(bytes);
  if (!isJsonObject(value)) throw new ProblemError('invalid-hook');
  return value;
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new ProblemError('malformed-request', {
      detail: 'The body is not JSON in UTF-8. Send an object such as {"url":"https://…"}.',
    });
  }
}

const toWireHook = (hook: Hook): WireHook => ({
  id: hook.id,
  url: hook.url,
  name: hook.name,
  send: hook.send,
  state: hookStateOf(hook),
  announcedThrough: toIso(hook.announcedThrough),
  lastEventAt: toIsoOrNull(hook.lastEventAt),
  lastStatus: hook.lastStatus,
  failures: hook.failures,
});
