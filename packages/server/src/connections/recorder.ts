/** Records requests of connections off their path: in memory, written in batches by `ConnectionStore.record`. */
import { DOOR_ID } from '@leadtap/contract';
import { LRUCache } from 'lru-cache';
import type { VerifiedToken } from '../accounts/records.ts';
import { storableExpiry, tokenKeyOf } from '../accounts/token-key.ts';
import { BatchWriter } from '../lib/batch.ts';
import type { Clock } from '../lib/clock.ts';
import { waitFor } from '../lib/timeout.ts';
import type { EndedPoll, NewestPageRule, PollFacts, PollPage, PollRecorder } from '../poll/store.ts';
import { isStorable } from '../sql/sql.ts';
import { newestPageRule, notePoll } from './polls.ts';
import type {
  Connection,
  ConnectionBatch,
  ConnectionKey,
  ConnectionKind,
  ConnectionStore,
  PolledPage,
  PollRun,
  PushRun,
  SendRun,
} from './store.ts';

export interface RecorderOptions {
  readonly clock: Clock;
  readonly log?: { warn(line: object, message: string): void } | undefined;
  readonly flushMs?: number | undefined;
  readonly maxEntries?: number | undefined;
  /** Of this process. */
  readonly instanceId: string;
}

/** What was recorded of a key since the last write. */
interface Entry extends ConnectionKey {
  readonly key: string;
  readonly source: Connection['source'];
  tokenExpiresAt: number | null;
  isKnownOnly: boolean;
  readonly polls: Writable<PollRun>[];
  readonly sends: SendRun[];
  readonly pushes: PushRun[];
  leads: number;
}

/** Undefined: it is not stored yet. */
interface KnownState {
  readonly connection: Connection | undefined;
  readonly readAt: number;
}

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

/** A transaction of so many leads takes some milliseconds, in which SQLite answers no poll. */
const MAX_WEIGHT = 2000;
const WEIGHT_OF_ENTRY = 40;
/** Of an entry. The leads of further pages are not recorded. */
const MAX_RUNS = 200;
const MAX_LEADS = 10_000;
const MAX_USER_ID_LENGTH = 200;
/** The state of a poller without `since`, as this process knows it. */
const MAX_STATES = 10_000;
/** Another instance may have written since. */
const STATE_MS = 5000;
const AUDIT_MS = 60_000;
const SEEN_MS = 5000;
const PRUNE_MS = 3_600_000;
const MAX_AUDIT_STOP_MS = 2000;

export class ConnectionRecorder implements PollRecorder {
  readonly #store: ConnectionStore;
  readonly #options: RecorderOptions;
  readonly #batches: BatchWriter<Entry>;
  readonly #states = new LRUCache<string, KnownState>({
    max: MAX_STATES,
  });
  readonly #stop = new AbortController();
  #timers: NodeJS.Timeout[] = [];
  #auditing: Promise<void> | undefined;

  constructor(store: ConnectionStore, options: RecorderOptions) {
    const { log, flushMs, maxEntries } = options;
    this.#store = store;
    this.#options = options;
    this.#batches = new BatchWriter({
      ...{ flushMs, maxEntries, maxBatch: MAX_WEIGHT },
      weigh: ({ leads }) => leads + WEIGHT_OF_ENTRY,
      write: (entries) => this.#write(entries),
      onFailure: (err) =>
        log?.warn({ err }, 'requests of connections could not be recorded; it is tried again'),
      onDrop: () => {
        log?.warn({}, 'more requests than can be recorded: what was sent in the last seconds is not known');
        this.#note('dropped');
      },
    });
  }

  /** Call it before the first request. */
  start(): void {
    this.#note('started');
    const every = (ms: number, work: () => void) => this.#timers.push(setInterval(work, ms).unref());
    every(SEEN_MS, () => this.#note('seen'));
    every(AUDIT_MS, () => void this.audit());
    every(PRUNE_MS, () => void this.#try('old rows could not be deleted', () => this.#store.prune()));
  }

  /** One run at a time. Does not reject. */
  audit(): Promise<void> {
    this.#auditing ??= this.#try('leads could not be compared with what was sent', async () => {
      await this.#batches.flush();
      // After a pause of the whole process, it must not count itself among the dead.
      await this.#store.noteInstance(this.#options.instanceId, 'seen');
      await this.#store.audit(this.#stop.signal);
    }).finally(() => {
      this.#auditing = undefined;
    });
    return this.#auditing;
  }

  recordPoll(token: VerifiedToken, poll: EndedPoll): void {
    const entry = this.#entryOf(token, 'poll');
    if (entry) addPoll(entry, poll);
    if (entry && entry.leads > MAX_LEADS) this.#batches.drop();
  }

  recordWait(token: VerifiedToken, at: number, since: number | undefined): void {
    const entry = this.#entryOf(token, 'poll');
    if (!entry || since === undefined) return;
    const asked: PolledPage = {
      createdAt: [],
      oldest: null,
      newest: null,
      isFull: false,
      link: since,
      isSent: true,
    };
    addRun(entry, { ...EMPTY_RUN, firstAt: at, lastAt: at, since, page: asked });
  }

  /** The signature of the token is valid, but it is refused: only a connection that exists is changed. */
  recordRefusedToken(token: VerifiedToken, at: number, facts: PollFacts = {}): void {
    const entry = this.#entryOf(token, 'poll', true);
    const { code = null, durationMs = null } = facts;
    if (entry)
      addRun(entry, {
        ...EMPTY_RUN,
        firstAt: at,
        lastAt: at,
        status: 401,
        code,
        durationMs: durationMs === null ? null : Math.round(durationMs),
      });
  }

  recordSend(token: VerifiedToken, run: SendRun): void {
    const entry = this.#entryOf(token, 'send');
    if (!entry) return;
    if (entry.sends.length < MAX_RUNS) addSend(entry, run);
    else this.#batches.drop();
  }

  /** Of a webhook that sends leads, or of an event for the connection of its token. */
  recordPush(key: ConnectionKey, tokenExpiresAt: number | null, run: PushRun): void {
    const entry = this.#add({ ...key, tokenExpiresAt, source: 'token' });
    if (entry) addPush(entry, run);
  }

  /** A request that sends leads with a token that is not valid, or without one. Nothing of it is stored but its number. */
  recordUnknown(run: SendRun): void {
    const entry = this.#add({
      userId: '',
      kind: 'send',
      keyId: DOOR_ID,
      tokenExpiresAt: null,
      source: 'token',
    });
    if (entry) addSend(entry, run);
  }

  /** By what is known of the poller, with what is not written yet. */
  async newestPageRule(token: VerifiedToken): Promise<NewestPageRule | undefined> {
    const state = await this.#stateOf(token);
    return state && newestPageRule(state, this.#options.clock());
  }

  /** Undefined: it has never polled. */
  async #stateOf(token: VerifiedToken): Promise<Connection | undefined> {
    const key = keyOf(token, 'poll');
    const text = textOf(key);
    const now = this.#options.clock();
    let known = this.#states.get(text);
    if (!known || now - known.readAt > STATE_MS || now < known.readAt) {
      known = { connection: await this.#store.findByKey(key), readAt: now };
      this.#states.set(text, known);
    }
    if (!known.connection) return undefined;
    const unwritten = this.#batches.find(text)?.polls ?? [];
    return unwritten.reduce(
      (state, run) => notePoll(state, run, { isStamp: false, lastStamp: now, hasNothingNew: false }),
      known.connection,
    );
  }

  flush(): Promise<void> {
    return this.#batches.flush();
  }

  flushUser(userId: string): Promise<void> {
    return this.#batches.flushWhere((entry) => entry.userId === userId);
  }

  /** Writes once more, and says farewell if all is written: else it is as after a crash. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    this.#timers = [];
    this.#stop.abort();
    // A database that hangs must not delay the stop.
    if (this.#auditing) await waitFor(MAX_AUDIT_STOP_MS, this.#auditing);
    await this.#batches.close(async () => {
      if (this.#batches.size === 0)
        await this.#store.noteInstance(this.#options.instanceId, 'stopped').catch(() => {});
    });
  }

  #note(event: 'started' | 'seen' | 'dropped'): void {
    void this.#try('it could not be recorded that this instance runs', () =>
      this.#store.noteInstance(this.#options.instanceId, event),
    );
  }

  async #try(message: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (err) {
      if (!this.#stop.signal.aborted) this.#options.log?.warn({ err }, message);
    }
  }

  #entryOf(token: VerifiedToken, kind: ConnectionKind, isKnownOnly = false): Entry | undefined {
    const key = keyOf(token, kind);
    const tokenExpiresAt = storableExpiry(token);
    const known = this.#batches.find(textOf(key));
    if (!known) {
      const source = key.client === undefined ? 'token' : 'provider';
      return this.#add({ ...key, tokenExpiresAt, source }, isKnownOnly);
    }
    if (!isKnownOnly) known.isKnownOnly = false;
    known.tokenExpiresAt = tokenExpiresAt;
    return known;
  }

  #add(
    key: ConnectionKey & Pick<Entry, 'tokenExpiresAt' | 'source'>,
    isKnownOnly = false,
  ): Entry | undefined {
    if (key.userId.length > MAX_USER_ID_LENGTH || !isStorable(key.userId)) return undefined;
    const text = textOf(key);
    return this.#batches.entryOf(text, () => ({
      ...{ ...key, key: text, isKnownOnly },
      ...{ polls: [], sends: [], pushes: [], leads: 0 },
    }));
  }

  async #write(entries: readonly Entry[]): Promise<void> {
    const written = await this.#store.record(entries.filter(hasRuns));
    const readAt = this.#options.clock();
    for (const [index, { key }] of entries.filter(hasRuns).entries()) {
      const connection = written[index];
      if (connection?.kind === 'poll' && this.#states.has(key)) this.#states.set(key, { connection, readAt });
    }
  }
}

const hasRuns = ({ polls, sends, pushes }: ConnectionBatch): boolean =>
  polls.length + sends.length + pushes.length > 0;

function keyOf(token: VerifiedToken, kind: ConnectionKind): ConnectionKey {
  const { userId, tokenId } = tokenKeyOf(token);
  return { userId, kind, keyId: tokenId, client: token.client };
}

/** No id contains a NUL. */
const textOf = ({ userId, kind, keyId, client }: ConnectionKey): string =>
  `${kind}\0${userId}\0${client === undefined ? (keyId ?? '') : `\0${client}`}`;

const EMPTY_RUN: PollRun = {
  ...{ firstAt: 0, lastAt: 0, times: 1, since: null, limit: 100 },
  ...{ page: null, status: 200, code: null, durationMs: null },
};

function addPoll(entry: Entry, { at, status, page, code, durationMs }: EndedPoll): void {
  // Without a spread, which costs 2 µs in Node.js 20.
  addRun(entry, {
    firstAt: at,
    lastAt: at,
    times: 1,
    since: page?.since ?? null,
    limit: page?.limit ?? 100,
    page: page ? toPolledPage(page) : null,
    status,
    code: code ?? null,
    durationMs: durationMs === undefined ? null : Math.round(durationMs),
  });
}

function toPolledPage({ since, leads, isFull, isSent, isInterrupted, lastStamp }: PollPage): PolledPage {
  const isForward = since !== undefined;
  const newest = (isForward ? leads.last : leads.first) ?? null;
  return {
    createdAt: leads.createdAt,
    oldest: (isForward ? leads.first : leads.last) ?? null,
    newest,
    isFull,
    link: newest ?? since ?? lastStamp ?? 0,
    // A HEAD and a 304 have no body: their leads were sent before, or are not asked for.
    isSent: isSent || (leads.count === 0 && !isInterrupted),
  };
}

const isEqualPage = (a: PolledPage | null, b: PolledPage | null): boolean =>
  a === b ||
  (a !== null &&
    b !== null &&
    a.isSent === b.isSent &&
    a.link === b.link &&
    (a.createdAt === b.createdAt || a.createdAt.length + b.createdAt.length === 0));

function addRun(entry: Entry, run: PollRun): void {
  const last = entry.polls.at(-1);
  if (
    last &&
    last.since === run.since &&
    last.status === run.status &&
    last.code === run.code &&
    isEqualPage(last.page, run.page)
  ) {
    last.lastAt = Math.max(last.lastAt, run.lastAt);
    last.times += 1;
    return;
  }
  // The oldest but one: the first says when it began, the last where it is.
  if (entry.polls.length === MAX_RUNS) entry.polls.splice(1, 1);
  entry.polls.push(run);
  entry.leads += run.page?.createdAt.length ?? 0;
}

function addPush({ pushes }: Entry, run: PushRun): void {
  const last = pushes.at(-1);
  const isEqual =
    last?.status === run.status &&
    last.failure === run.failure &&
    last.isEvent === run.isEvent &&
    last.isBeside === run.isBeside;
  if (last && isEqual)
    pushes[pushes.length - 1] = {
      ...{ ...run, firstAt: last.firstAt, times: last.times + run.times },
      createdAt: [...last.createdAt, ...run.createdAt],
    };
  else if (pushes.length < MAX_RUNS) pushes.push(run);
}

function addSend(entry: Entry, run: SendRun): void {
  const { sends } = entry;
  const last = sends.at(-1);
  const isEqual =
    last &&
    last.status === run.status &&
    last.code === run.code &&
    last.isHeld === run.isHeld &&
    last.fields.join() === run.fields.join();
  if (!isEqual) {
    sends.push(run);
    return;
  }
  sends[sends.length - 1] = {
    ...last,
    lastAt: Math.max(last.lastAt, run.lastAt),
    times: last.times + run.times,
    added: last.added + run.added,
    updated: last.updated + run.updated,
  };
}
