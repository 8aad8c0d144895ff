/** `{base_url}/automation/hooks`: webhook subscriptions, as plain Node listeners. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import {
  HOOKS_PATH,
  MAX_HOOK_BYTES,
  MAX_HOOK_URL_LENGTH,
  MAX_HOOKS_PER_USER,
  SINCE_EXAMPLE,
  type SubscribedHook,
  type Hook as WireHook,
} from '@leadtap/contract';
import type { VerifiedToken } from '../accounts/tokens.ts';
import { systemClock, toIso, toIsoOrNull } from '../clock.ts';
import { consumerKeyOf, storableExpiry } from '../consumers/recorder.ts';
import { isSameConsumer } from '../consumers/store.ts';
import {
  createHandler,
  createResponder,
  type Exchange,
  type HandlerOptions,
  type Payload,
  type RequestHandler,
} from '../http/exchange.ts';
import { sendContinue } from '../http/expect-continue.ts';
import { createIdentification, type IdentificationOptions } from '../http/identify.ts';
import { requireMethod, requireValidHeaders } from '../http/methods.ts';
import { JSON_MEDIA_TYPE } from '../http/page-headers.ts';
import { ProblemError } from '../http/problems.ts';
import { addressKey, rateLimitExceeded } from '../http/rate-limit.ts';
import type { RequestState } from '../http/request-log.ts';
import {
  declaredBytes,
  endWithUnreadBody,
  hasLongUnreadBody,
  readBody,
  requireMediaType,
} from '../intake/body.ts';
import { parseInstant } from '../leads/since.ts';
import { FAILED_TOKEN_POLICIES, type Limiter, USER_POLICIES } from '../limits/limiter.ts';
import { MemoryLimiter } from '../limits/memory-limiter.ts';
import type { PollReaders } from '../poll/cache/poll-cache.ts';
import { requirePollRights } from '../poll/endpoint.ts';
import type { PollObserver } from '../poll/observer.ts';
import { MIN_TIME } from '../store/sql.ts';
import { secretOf } from './signature.ts';
import { type Hook, type HookStore, hookStateOf } from './store.ts';
import { checkHookUrl } from './url.ts';

/** What the endpoint needs beside the parts of the others. */
export interface HookSettings {
  readonly store: HookStore;
  /** Those that events may be sent to. */
  readonly hosts: readonly string[];
  /** The first one is used for secrets; events are signed with all of them. */
  readonly signingSecrets: readonly [Uint8Array, ...Uint8Array[]];
}

export interface HooksHandlerOptions extends IdentificationOptions, HandlerOptions {
  readonly hooks: HookSettings;
  /** The limiter of polls: both count together. */
  readonly limiter?: Limiter | undefined;
  readonly observer?: PollObserver | undefined;
  readonly onSubscribed: () => void;
}

export interface HooksHandlers {
  /** Of `/automation/hooks`. */
  readonly collection: RequestHandler;
  /** Of `/automation/hooks/{id}`. */
  readonly item: RequestHandler;
}

const HOOK_ID = /^[0-9a-f]{32}$/;

/** The checks are those of a poll, in the same order; then come media type 415, size 413, text 400, subscription 422, number 409. */
export function createHooksHandlers(options: HooksHandlerOptions, readers: PollReaders): HooksHandlers {
  const { hooks, onSubscribed, clock = systemClock } = options;
  const { limiter = new MemoryLimiter(USER_POLICIES, clock) } = options;
  const { failedTokens = new MemoryLimiter(FAILED_TOKEN_POLICIES, clock) } = options;
  const { identify, identifyAgain } = createIdentification({
    ...options,
    readers,
    limiter,
    failedTokens,
    clock,
  });
  const [signingSecret] = hooks.signingSecrets;

  async function identifyPoller(exchange: Exchange): Promise<VerifiedToken> {
    const identity = await identify(exchange);
    requirePollRights(identity);
    return identity.token;
  }

  async function subscribe(exchange: Exchange): Promise<Payload> {
    const { context, headers } = exchange;
    const token = await identifyPoller(exchange);
    const { url, since } = await readSubscription(exchange);
    // Token: 401. User: 404, 403. They may have changed while the body arrived.
    const requireAccount = async () => requirePollRights(await identifyAgain(exchange));
    await requireAccount();
    const checked = checkHookUrl(url, hooks.hosts);
    if (checked.kind === 'invalid') throw new ProblemError('invalid-hook', { detail: checked.detail });
    if (checked.kind === 'host-not-allowed') throw new ProblemError('hook-host-not-allowed');
    const baseUrl = context.baseUrl();
    if (baseUrl.length > MAX_HOOK_URL_LENGTH)
      throw new ProblemError('malformed-request', { detail: 'The Host header is too long.' });
    const outcome = await hooks.store.subscribe(
      {
        ...consumerKeyOf(token),
        id: randomBytes(16).toString('hex'),
        tokenExpiresAt: storableExpiry(token),
        url: checked.url.href,
        baseUrl,
        since,
      },
      MAX_HOOKS_PER_USER,
    );
    if (outcome.kind === 'too-many') throw new ProblemError('too-many-hooks');
    if (outcome.kind === 'no-such-user') throw new ProblemError('user-not-found');
    // And while the subscription waited for the database. The hook of a revoked token sends nothing, and is deleted.
    await requireAccount();
    onSubscribed();
    const { hook } = outcome;
    headers.push('location', `${baseUrl}${HOOKS_PATH}/${hook.id}`);
    return toJsonPayload(exchange, outcome.kind === 'created' ? 201 : 200, {
      id: hook.id,
      url: hook.url,
      secret: secretOf(signingSecret, hook.id),
      since: toIso(hook.announcedThrough),
      state: hookStateOf(hook),
    } satisfies SubscribedHook);
  }

  async function read(exchange: Exchange, id: string): Promise<Payload> {
    const key = consumerKeyOf(await identifyPoller(exchange));
    const hook = HOOK_ID.test(id) ? await hooks.store.find(id) : undefined;
    if (!hook || !isSameConsumer(hook, key))
      throw new ProblemError('no-such-resource', {
        detail: 'This token has no such webhook subscription. Subscribe again.',
      });
    return toJsonPayload(exchange, 200, toWireHook(hook));
  }

  /** Without a token: platforms unsubscribe after the token was changed, or without it. */
  async function remove({ context, headers }: Exchange, id: string): Promise<Payload> {
    // Counted apart from failed tokens, so that neither uses up the other.
    const verdict = await failedTokens.consume(`hooks ${addressKey(context.address)}`);
    if (verdict.violated.length > 0) throw rateLimitExceeded(verdict);
    if (HOOK_ID.test(id)) await hooks.store.remove(id);
    headers.push('cache-control', 'no-store');
    return { status: 204, body: undefined };
  }

  const handlerOf = (
    path: string,
    methods: readonly string[],
    answer: (exchange: Exchange) => Promise<Payload>,
  ): RequestHandler =>
    createHandler(
      path,
      createResponder<RequestState>({
        createState: () => ({}),
        answer: async (exchange) => {
          try {
            requireValidHeaders(exchange.request);
            requireMethod(exchange.request, methods);
            return await answer(exchange);
          } finally {
            if (hasLongUnreadBody(exchange.request)) exchange.headers.push('connection', 'close');
          }
        },
        observe: ({ state }) =>
          options.observer?.observeRefusal?.(state.problem?.parts.violatedPolicies ?? []),
        endResponse: endWithUnreadBody,
      }),
      options,
    );

  return {
    collection: handlerOf(HOOKS_PATH, ['POST'], subscribe),
    item: handlerOf(`${HOOKS_PATH}/{id}`, ['GET', 'HEAD', 'DELETE'], (exchange) =>
      (exchange.request.method === 'DELETE' ? remove : read)(exchange, idOf(exchange.request)),
    ),
  };
}

/** The part of the path after the last slash. */
function idOf({ url = '' }: IncomingMessage): string {
  const [path = ''] = url.split('?', 1);
  return path.slice(path.lastIndexOf('/') + 1);
}

interface Subscription {
  readonly url: string;
  readonly since: number | undefined;
}

const MEDIA_TYPE_DETAIL = 'Send the subscription as `Content-Type: application/json` in UTF-8.';

async function readSubscription({ request, response }: Exchange): Promise<Subscription> {
  // Power Automate sends the URL in a header, and what its connector describes, or nothing, in the body.
  const notificationUrl = request.headers['x-ms-notification-url'];
  if (notificationUrl !== undefined) return { url: String(notificationUrl), since: undefined };
  requireMediaType(request, ['application/json'], MEDIA_TYPE_DETAIL);
  if ((declaredBytes(request) ?? 0) > MAX_HOOK_BYTES) throw tooLarge();
  sendContinue(response);
  return parseSubscription(await readBody(request, MAX_HOOK_BYTES, tooLarge));
}

const tooLarge = (): ProblemError =>
  new ProblemError('payload-too-large', {
    detail: `Send at most ${MAX_HOOK_BYTES / 1024} KiB in a subscription.`,
  });

function parseSubscription(bytes: Buffer): Subscription {
  const value = parseJson(bytes);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ProblemError('invalid-hook');
  const { url, since } = value as { readonly url?: unknown; readonly since?: unknown };
  if (typeof url !== 'string') throw new ProblemError('invalid-hook');
  if (since === undefined || since === null) return { url, since: undefined };
  const at = typeof since === 'string' ? parseInstant(since) : undefined;
  if (at === undefined)
    throw new ProblemError('invalid-hook', {
      detail: `The \`since\` is not an ISO 8601 date-time, such as ${SINCE_EXAMPLE}.`,
    });
  // The earliest time that every database can store.
  return { url, since: Math.max(at, MIN_TIME) };
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
  state: hookStateOf(hook),
  announcedThrough: toIso(hook.announcedThrough),
  lastEventAt: toIsoOrNull(hook.lastEventAt),
  lastStatus: hook.lastStatus,
  failures: hook.failures,
});

function toJsonPayload({ headers }: Exchange, status: number, value: object): Payload {
  const body = Buffer.from(JSON.stringify(value));
  headers.push('cache-control', 'no-store', 'content-type', JSON_MEDIA_TYPE);
  headers.push('content-length', String(body.length));
  return { status, body };
}
