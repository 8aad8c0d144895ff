/** `GET {base_url}/automation/consumers/{id}/log` and `…/senders/{id}/log`: what one of them has received or sent, and when. */
import type { IncomingMessage } from 'node:http';
import { type AttemptLog, CONSUMER_LOG_PATH, SENDER_LOG_PATH } from '@leadtap/contract';
import type { AttemptStore } from '../attempts/store.ts';
import type { CallerEndpoint } from '../http/endpoint.ts';
import { type Exchange, jsonPayload } from '../http/exchange.ts';
import { searchOf } from '../http/headers.ts';
import type { Caller } from '../http/identify.ts';
import { ProblemError } from '../http/problems.ts';
import { invalidQuery, parametersOf, parseLimit, parseOptional, parseTime } from '../http/query.ts';
import { createReadEndpoint, type ReadEndpointOptions } from '../http/read-endpoint.ts';
import { systemClock } from '../lib/clock.ts';
import { type LogSubject, logOfConsumer, logOfSender, readLog } from './attempt-log.ts';
import { type ConsumerSources, listedConsumerPages, publicIdOf } from './consumer-states.ts';
import { readSenders, type SenderSources } from './senders.ts';
import { senderSelectionOf } from './senders-endpoint.ts';

interface LogOptions<Sources> extends ReadEndpointOptions {
  readonly attempts: AttemptStore;
  readonly sources: Sources;
}

interface FoundLog {
  readonly name: string | null;
  readonly subject: LogSubject;
}

export function createConsumerLogEndpoint(options: LogOptions<ConsumerSources>): CallerEndpoint {
  async function find(id: string, { user }: Caller, now: number): Promise<FoundLog | undefined> {
    const query = { userId: user.id, maxPendingLeads: 1, now };
    for await (const page of listedConsumerPages(options.sources, query))
      for (const listed of page)
        if (publicIdOf(listed) === id) return { name: listed.name, subject: logOfConsumer(listed) };
    return undefined;
  }
  return createLogEndpoint(CONSUMER_LOG_PATH, options, find);
}

export function createSenderLogEndpoint(options: LogOptions<SenderSources>): CallerEndpoint {
  async function find(id: string, { user }: Caller, now: number): Promise<FoundLog | undefined> {
    const { listed } = await readSenders(options.sources, () => now, senderSelectionOf(user));
    const sender = listed.find((one) => one.id === id);
    return sender && { name: sender.name, subject: logOfSender(sender) };
  }
  return createLogEndpoint(SENDER_LOG_PATH, options, find);
}

function createLogEndpoint(
  path: string,
  options: LogOptions<unknown>,
  find: (id: string, caller: Caller, now: number) => Promise<FoundLog | undefined>,
): CallerEndpoint {
  const { attempts, clock = systemClock } = options;

  async function read(exchange: Exchange, caller: Caller): Promise<{ readonly found?: AttemptLog }> {
    const page = parseLogQuery(searchOf(exchange.request.url));
    const now = clock();
    const found = await find(idOf(exchange.request), caller, now);
    if (!found) return {};
    return { found: { name: found.name, log: await readLog(attempts, found.subject, { ...page, now }) } };
  }

  return createReadEndpoint(path, options, read, (exchange, { found }) => {
    if (found) return jsonPayload(exchange, 200, found);
    throw new ProblemError('no-such-resource', { detail: NOT_LISTED });
  });
}

const NOT_LISTED = 'Nothing in your list has this `id`. Read the list again.';

/** The part of the path before `/log`. */
const idOf = ({ url = '' }: IncomingMessage): string => url.split('?', 1)[0]?.split('/').at(-2) ?? '';

function parseLogQuery(search: string) {
  const query = parametersOf(search);
  const limit = parseLimit(query['limit']);
  const before = parseOptional(query['before'], parseTime);
  if ('value' in limit && 'value' in before) return { before: before.value, limit: limit.value };
  throw invalidQuery({ before, limit });
}
