/** Searches, lists and logs: endpoints that cost more than a page of leads. */
import { FairQueue, QueueFullError } from '../lib/fair.ts';
import type { Limiter } from '../limits/limiter.ts';
import { type CallerEndpoint, READ_METHODS, type RefusalObserver } from './endpoint.ts';
import { type Exchange, jsonPayload, type Payload } from './exchange.ts';
import {
  type Accounts,
  type Caller,
  createIdentification,
  type IdentificationOptions,
  readVerified,
} from './identify.ts';
import { ProblemError, unavailable } from './problems.ts';

/** More at once would not be faster. */
const MAX_RUNNING_OF_USER = 2;
const MAX_WAITING_OF_USER = 8;
/** Most clients wait for 30 s. */
const MAX_WAIT_MS = 10_000;

/** Of all read endpoints. */
export const createReadQueue = (): FairQueue =>
  new FairQueue({
    maxRunning: 8,
    maxRunningOfUser: MAX_RUNNING_OF_USER,
    maxWaitingOfUser: MAX_WAITING_OF_USER,
  });

export interface ReadEndpointOptions extends IdentificationOptions, RefusalObserver {
  readonly accounts: Accounts;
  /** The limiter of polls: both count together. */
  readonly limiter: Limiter;
  readonly queue: FairQueue;
  /** Writes what was recorded of the user and is in memory, so that it is shown at once. */
  readonly flushUser?: ((userId: string) => Promise<void>) | undefined;
}

/** `read` may run more than once: if the access level of the user changes meanwhile. */
export function createReadEndpoint<Result extends object>(
  path: string,
  { queue, observeRefusal, flushUser, ...options }: ReadEndpointOptions,
  read: (exchange: Exchange, caller: Caller) => Promise<Result>,
  respond: (exchange: Exchange, result: Result, caller: Caller) => Payload | Promise<Payload> = (
    exchange,
    result,
  ) => jsonPayload(exchange, 200, result),
): CallerEndpoint {
  const callers = createIdentification({ ...options, scope: 'leads:read' });

  async function answer(exchange: Exchange, first: Caller): Promise<Payload> {
    const readFor = (caller: Caller) => read(exchange, caller);
    await flushUser?.(first.user.id);
    const verified = await readVerified(callers, exchange, first, await readFor(first), readFor);
    return respond(exchange, verified.result, verified.caller);
  }

  return {
    path,
    methods: READ_METHODS,
    callers,
    answer(exchange, caller) {
      const { companyId, id } = caller.user;
      const signal = AbortSignal.any([exchange.disconnected(), AbortSignal.timeout(MAX_WAIT_MS)]);
      return queue.run(companyId, id, () => answer(exchange, caller), signal).catch(toProblem);
    },
    observe: ({ problem }) => observeRefusal?.(problem?.parts.violatedPolicies ?? []),
  };
}

function toProblem(error: unknown): never {
  if (error instanceof DOMException && error.name === 'TimeoutError') throw unavailable(error);
  if (!(error instanceof QueueFullError)) throw error;
  throw new ProblemError('rate-limit-exceeded', {
    detail: `Your user has ${MAX_WAITING_OF_USER} waiting searches, lists and logs. Wait for their responses, then send this one again.`,
    violatedPolicies: ['lists'],
    headers: { 'retry-after': '1' },
  });
}
