/** `GET {base_url}/automation/consumers/{id}/log` and `…/senders/{id}/log`: what one of them has received or sent, and when. */
import type { IncomingMessage } from 'node:http';
import { type AttemptLog, CONSUMER_LOG_PATH, SENDER_LOG_PATH } from '@leadtap/contract';
import type { AttemptStore } from '../attempts/store.ts';
import { type CallerEndpoint, READ_METHODS, type RefusalObserver } from '../http/endpoint.ts';
import { type Exchange, jsonPayload, type Payload } from '../http/exchange.ts';
import { searchOf } from '../http/headers.ts';
import {
  type Accounts,
  type Caller,
  createIdentification,
  type IdentificationOptions,
} from '../http/identify.ts';
import { ProblemError } from '../http/problems.ts';
import { invalidQuery, type Parsed, parametersOf, parseLimit, parseTime } from '../http/query.ts';
import { systemClock } from '../lib/clock.ts';
import type { FairQueue } from '../lib/fair.ts';
import type { Limiter } from '../limits/limiter.ts';
import { type LogSubject, logOfConsumer, logOfSender, readLog } from './attempt-log.ts';
import { type ConsumerSources, listedConsumerPages, publicIdOf } from './consumer-states.ts';
import { readSenders, type SenderSources } from './senders.ts';
import { senderSelectionOf } from './senders-endpoint.ts';

interface LogOptions extends IdentificationOptions, RefusalObserver {
  readonly accounts: Accounts;
  /** The limiter of polls: both count together. */
  readonly limiter: Limiter;
  readonly queue: FairQueue;
  readonly attempts: AttemptStore;
  /** Writes what is in memory of the user, so that an attempt is listed at once. */
  readonly flushUser: (userId: string) => Promise<void>;
}

export interface ConsumerLogOptions extends LogOptions {
  readonly sources: ConsumerSources;
}

export interface SenderLogOptions extends LogOptions {
  readonly sources: SenderSources;
}

interface FoundLog {
  readonly name: string | null;
  readonly subject: LogSubject;
}

export function createConsumerLogEndpoint(options: ConsumerLogOptions): CallerEndpoint {
  async function find(id: string, { user }: Caller, now: number): Promise<FoundLog | undefined> {
    const query = { userId: user.id, maxPendingLeads: 1, now };
    for await (const page of listedConsumerPages(options.sources, query))
      for (const listed of page)
        if (publicIdOf(listed) === id) return { name: listed.name, subject: logOfConsumer(listed) };
    return undefined;
  }
  return createLogEndpoint(CONSUMER_LOG_PATH, options, find);
}

export function createSenderLogEndpoint(options: SenderLogOptions): CallerEndpoint {
  async function find(id: string, { user }: Caller, now: number): Promise<FoundLog | undefined> {
    const { listed } = await readSenders(options.sources, () => now, senderSelectionOf(user));
    const sender = listed.find((one) => one.id === id);
    return sender && { name: sender.name, subject: logOfSender(sender) };
  }
  return createLogEndpoint(SENDER_LOG_PATH, options, find);
}

function createLogEndpoint(
  path: string,
  options: LogOptions,
  find: (id: string, caller: Caller, now: number) => Promise<FoundLog | undefined>,
): CallerEndpoint {
  const { attempts, flushUser, observeRefusal, clock = systemClock } = options;

  async function answer(exchange: Exchange, caller: Caller): Promise<Payload> {
    const page = parseLogQuery(searchOf(exchange.request.url));
    await flushUser(caller.user.id);
    const now = clock();
    const found = await find(idOf(exchange.request), caller, now);
    if (!found) throw new ProblemError('no-such-resource', { detail: NOT_LISTED });
    const { name, subject } = found;
    const log = await readLog(attempts, subject, { ...page, now });
    return jsonPayload(exchange, 200, { name, log } satisfies AttemptLog);
  }

  return {
    path,
    methods: READ_METHODS,
    callers: createIdentification({ ...options, scope: 'leads:read' }),
    queue: options.queue,
    answer,
    observe: ({ problem }) => observeRefusal?.(problem?.parts.violatedPolicies ?? []),
  };
}

const NOT_LISTED = 'Nothing in your list has this `id`. Read the list again.';

/** The part of the path before `/log`. */
const idOf = ({ url = '' }: IncomingMessage): string => url.split('?', 1)[0]?.split('/').at(-2) ?? '';

function parseLogQuery(search: string) {
  const query = parametersOf(search);
  const limit = parseLimit(query['limit']);
  const before: Parsed<number | undefined> =
    query['before'] === undefined ? { value: undefined } : parseTime(query['before']);
  if ('value' in limit && 'value' in before) return { before: before.value, limit: limit.value };
  throw invalidQuery({ before, limit });
}
