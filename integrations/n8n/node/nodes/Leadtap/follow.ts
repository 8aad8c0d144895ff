import {
  type ExecutionError,
  type ITriggerFunctions,
  type ITriggerResponse,
  NodeApiError,
  NodeOperationError,
  sleep,
} from 'n8n-workflow';
import { isSimplified, itemsOf } from './lead.ts';
import { PAGE_SIZE, type Page, readPage } from './page.ts';
import { retryAfterMsOf } from './problem.ts';
import { spacingMs } from './spacing.ts';
import { positionLoader, type SavedPosition } from './start.ts';

/** The service holds a request for no longer, because many proxies end one that is silent for 60 seconds. */
const MAX_WAIT_S = 50;
const MIN_WAIT_S = 5;
/** A request that fails sooner was not ended because it was silent for too long. */
const HELD_MS = 10_000;
/** For a service that does not wait. */
const POLL_INTERVAL_MS = 120_000;
const FIRST_BACK_OFF_MS = 1000;
const LONGEST_BACK_OFF_MS = 60_000;
/** A failure of the network or the service is reported when it lasts: about half a minute. */
const REPORTED_FAILURE = 6;

export interface Timing {
  readonly now: () => number;
  /** Resolves early when the signal is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** At least 0, less than 1. */
  readonly random: () => number;
}

/**
 * n8n forbids nodes to use timers, and its own `sleep` cannot be aborted. The timer of an aborted sleep runs on without effect, for an
 * hour at most.
 */
function abortableSleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => resolve();
    signal.addEventListener('abort', onAbort);
    sleep(ms)
      .finally(() => signal.removeEventListener('abort', onAbort))
      .then(resolve, reject);
  });
}

export const N8N_TIMING: Timing = { now: Date.now, sleep: abortableSleep, random: Math.random };

/**
 * Holds a request until there is a lead, passes leads on, and sends the next request, until n8n closes the trigger. Errors after the
 * activation are retried here and not given to n8n's `emitError`: n8n would deactivate the workflow and activate it again with the
 * static data that it had loaded before, which may have no position. `emitError` is the last resort, for an error of the retry itself.
 */
export async function followLeads(context: ITriggerFunctions, timing: Timing): Promise<ITriggerResponse> {
  const closed = new AbortController();
  const feed = new Feed(context, timing, closed.signal);
  // While a person activates the workflow, an error is shown to that person. At the start of n8n it is retried.
  const isUnattended = ['init', 'leadershipChange'].includes(context.getActivationMode());
  const first = isUnattended ? undefined : await feed.read();
  // An empty page was requested without a wait: the request that is held comes at once, not after the interval of polls.
  const ended = feed.run(first?.leads.length ? first : undefined).catch((error: unknown) => {
    const shown = asExecutionError(context, error);
    context.saveFailedExecution(shown);
    context.emitError(shown);
  });
  return {
    closeFunction: async () => {
      closed.abort();
      await ended;
    },
  };
}

class Feed {
  readonly #context: ITriggerFunctions;
  readonly #timing: Timing;
  readonly #signal: AbortSignal;
  // Made while n8n activates the workflow: later it evaluates no expressions for a trigger.
  readonly #isSimplified: boolean;
  readonly #loadPosition: () => Promise<SavedPosition>;
  #position: SavedPosition | undefined;
  #waitS = MAX_WAIT_S;
  #failures = 0;
  #isReported = false;

  constructor(context: ITriggerFunctions, timing: Timing, signal: AbortSignal) {
    this.#context = context;
    this.#timing = timing;
    this.#signal = signal;
    this.#isSimplified = isSimplified(context);
    this.#loadPosition = positionLoader(context);
  }

  /** One page after the position; with `waitS` the service may wait for its first lead. */
  async read(waitS = 0): Promise<Page> {
    this.#position ??= await this.#loadPosition();
    const hold = waitS > 0 ? { waitS, signal: this.#signal } : undefined;
    return readPage(this.#context, { limit: PAGE_SIZE, since: this.#position.since }, hold);
  }

  /** Ends when the signal is aborted. Every error is retried after a pause; only an error of that pause is thrown. */
  async run(first: Page | undefined): Promise<void> {
    let activationPage = first;
    while (!this.#signal.aborted) {
      const sentAt = this.#timing.now();
      try {
        const page = activationPage ?? (await this.read(this.#waitS));
        activationPage = undefined;
        await this.#sleepUntil(sentAt + this.#passOn(page));
      } catch (error) {
        await this.#sleepUntil(this.#timing.now() + this.#failed(error, sentAt));
      }
    }
  }

  /** Gives the time from this request to the next one. */
  #passOn({ leads, headers }: Page): number {
    if (this.#signal.aborted) return 0;
    const last = leads.at(-1);
    if (last && this.#position) this.#emit(leads, last.createdAt, this.#position);
    this.#failures = 0;
    this.#isReported = false;
    const isHeld = /\bwait\b/i.test(headers['preference-applied'] ?? '');
    return last || isHeld ? spacingMs(headers['ratelimit']) : POLL_INTERVAL_MS;
  }

  #emit(leads: Page['leads'], since: string, position: SavedPosition): void {
    const items = itemsOf(this.#context, leads, this.#isSimplified);
    const before = position.since;
    let isEmitted = false;
    try {
      // Before the leads are passed on: `emit` saves it.
      position.since = since;
      this.#context.emit([items]);
      isEmitted = true;
    } finally {
      if (!isEmitted) position.since = before;
    }
  }

  /** Gives the time to the retry: what the service asks for, and a random part that grows with each failure. */
  #failed(error: unknown, sentAt: number): number {
    if (this.#signal.aborted) return 0;
    const heldMs = this.#timing.now() - sentAt;
    if (heldMs >= HELD_MS)
      this.#waitS = Math.min(this.#waitS, Math.max(MIN_WAIT_S, Math.floor(heldMs / 2000)));
    this.#failures += 1;
    this.#report(error);
    const longestMs = Math.min(LONGEST_BACK_OFF_MS, FIRST_BACK_OFF_MS * 2 ** (this.#failures - 1));
    return retryAfterMsOf(error) + this.#timing.random() * longestMs;
  }

  /** Once until it works again, as a failed execution: at once if a retry cannot help. */
  #report(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.#context.logger.warn(`Leadtap Instant Trigger: ${message}. Retrying.`);
    if (this.#isReported || (isTemporary(error) && this.#failures < REPORTED_FAILURE)) return;
    this.#isReported = true;
    this.#context.saveFailedExecution(asExecutionError(this.#context, error));
  }

  async #sleepUntil(dueAt: number): Promise<void> {
    const ms = Math.ceil(dueAt - this.#timing.now());
    if (ms > 0 && !this.#signal.aborted) await this.#timing.sleep(ms, this.#signal);
  }
}

/** An error of the network, or of a service that may answer again without a change by a person. */
function isTemporary(error: unknown): boolean {
  if (error instanceof NodeOperationError) return true;
  if (!(error instanceof NodeApiError)) return false;
  const status = Number(error.httpCode);
  return !(status >= 400 && status < 500) || [408, 425, 429].includes(status);
}

const asExecutionError = (context: ITriggerFunctions, error: unknown): ExecutionError =>
  error instanceof NodeApiError || error instanceof NodeOperationError
    ? error
    : new NodeOperationError(context.getNode(), error instanceof Error ? error : String(error));
