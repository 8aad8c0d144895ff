import pg from 'pg';
import { RollbackResult, type RollbackWith, rollbackWith } from '../rollback.ts';
import { ClientDisconnectedError, StoreUnavailableError } from '../store.ts';
import { unlessGone } from './caller.ts';
import { sendCancelRequest } from './cancel.ts';
import {
  asStoreError,
  isBrokenConnection,
  isGivenUp,
  isStalePlan,
  isWorthAnotherTry,
  NoAnswerError,
} from './errors.ts';

export type SqlValue = string | number | boolean | null | readonly (string | null)[];

export interface Session {
  /** The rows as the query names their columns; that `Row` describes them is what the conformance suite shows. */
  query<Row>(text: string, values?: readonly SqlValue[]): Promise<Row[]>;
}

export interface QueryOptions {
  /** Aborted when nobody waits for the answer any more: the queue for a connection is left, and the query is cancelled. */
  readonly signal?: AbortSignal | undefined;
  /** Lets the query end by itself, once it has begun. */
  readonly isShort?: boolean;
  readonly limitMs?: number;
}

/** However long it takes: to rewrite a table, or to read the whole of it. */
export const NO_LIMIT_MS = Number.POSITIVE_INFINITY;

export interface Limits {
  /** For a connection: from the pool, or a new one. */
  readonly connectMs: number;
  /** For a statement by itself. */
  readonly queryMs: number;
  /** Between two statements of a transaction. When the connection is lost there, its locks are released after this. */
  readonly idleMs: number;
}

/** A poll takes a millisecond or waits a second for its lock; what takes three does not come back. */
export const LIMITS: Limits = { connectMs: 2000, queryMs: 3000, idleMs: 10_000 };
/** Whoever comes while so many wait already is turned away: a database that hangs must not fill the memory. */
const MOST_WAITING = 1000;
/** A statement of a transaction: a batch of leads, an organisation of many thousand users. */
const STATEMENT_LIMIT_MS = 60_000;
/** A write that cannot have its lock for this long fails with "unavailable"; nothing was written. */
const LOCK_LIMIT_MS = 10_000;
const TRIES = 5;
const INT8 = 20;

/** Milliseconds and counts fit into a number. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format),
};

/**
 * A pool of connections that wait for nothing for long. Every query stands alone or in a transaction of its own, with
 * no setting or prepared statement that outlives it, so that a pooler such as PgBouncer may stand in between.
 */
export class Database {
  readonly #pool: pg.Pool;
  readonly #queryLimitMs: number;
  readonly #begin: string;
  #waiting = 0;

  constructor(url: string, connections: number, { connectMs, queryMs, idleMs }: Limits = LIMITS) {
    this.#queryLimitMs = queryMs;
    this.#begin = `BEGIN ISOLATION LEVEL READ COMMITTED;
      SET LOCAL lock_timeout = ${LOCK_LIMIT_MS}; SET LOCAL idle_in_transaction_session_timeout = ${idleMs}`;
    this.#pool = new pg.Pool({
      connectionString: url,
      max: connections,
      types,
      application_name: 'leadtap',
      connectionTimeoutMillis: connectMs,
      keepAlive: true,
      // A database that hangs never takes leave of us; the process must be able to end all the same.
      allowExitOnIdle: true,
    });
    // A connection that breaks says so to whoever uses it; that it also says so here must not end the process.
    this.#pool.on('error', () => undefined);
    this.#pool.on('connect', (client) => client.on('error', () => undefined));
  }

  get connections(): number {
    return this.#pool.options.max;
  }

  /** A statement by itself. */
  async query<Row>(
    text: string,
    values: readonly SqlValue[] = [],
    options: QueryOptions = {},
  ): Promise<Row[]> {
    const limited = { limitMs: this.#queryLimitMs, ...options };
    return this.#withClient(options, async (client) => {
      try {
        return await runQuery<Row>(client, text, values, limited);
      } catch (error) {
        if (!isStalePlan(error)) throw error;
        return withFreshPlans(client, limited, () => runQuery<Row>(client, text, values, limited));
      }
    });
  }

  /** The work may run more than once: of two transactions in a deadlock one is retried. */
  async transaction<T>(
    work: (session: Session, rollbackWith: RollbackWith<T>) => Promise<T>,
    statementLimitMs = STATEMENT_LIMIT_MS,
  ): Promise<T> {
    let begin = this.#begin;
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#withClient({}, (client) => runTransaction(client, begin, work, statementLimitMs));
      } catch (error) {
        if (error instanceof RollbackResult) return error.result as T;
        const isStale = isStalePlan(error) && begin === this.#begin;
        if (isStale) begin = `${begin}; DISCARD PLANS`;
        else if (tries >= TRIES || !isWorthAnotherTry(error)) throw error;
      }
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #withClient<T>({ signal }: QueryOptions, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#connect(signal);
    let isBroken = false;
    let cancelled = Promise.resolve();
    try {
      return await work(client);
    } catch (error) {
      isBroken = isBrokenConnection(error);
      if (isGivenUp(error)) cancelled = sendCancelRequest(client);
      throw asStoreError(error);
    } finally {
      // Not before: with the connection, a pooler would forget whose query it is to cancel.
      if (isBroken) cancelled.then(() => client.release(true));
      else client.release();
    }
  }

  /** A certificate that cannot be read is thrown at once; here it is a rejection like any other. */
  async #checkOut(): Promise<pg.PoolClient> {
    return this.#pool.connect();
  }

  async #connect(signal: AbortSignal | undefined): Promise<pg.PoolClient> {
    if (this.#waiting >= MOST_WAITING)
      throw new StoreUnavailableError('too many requests wait for a connection to the database');
    this.#waiting += 1;
    const connecting = this.#checkOut();
    try {
      return await unlessGone(connecting, signal);
    } catch (error) {
      // The pool has no way to leave its queue: what it gives to one who has gone is given back.
      if (error instanceof ClientDisconnectedError)
        connecting.then(
          (client) => client.release(),
          () => undefined,
        );
      throw asStoreError(error);
    } finally {
      this.#waiting -= 1;
    }
  }
}

/** Runs a query that ends in time or is given up; its connection is then not used again. */
async function runQuery<Row>(
  client: pg.PoolClient,
  text: string,
  values: readonly SqlValue[],
  { signal, limitMs = NO_LIMIT_MS, isShort = false }: QueryOptions,
): Promise<Row[]> {
  let stop: (reason: Error) => void = () => undefined;
  const stopped = new Promise<never>((_resolve, reject) => {
    stop = reject;
  });
  const onGone = () => stop(new ClientDisconnectedError('the caller has gone'));
  const onLate = () => stop(new NoAnswerError('the database does not answer in time'));
  const timer = limitMs === NO_LIMIT_MS ? undefined : setTimeout(onLate, limitMs);
  if (!isShort) signal?.addEventListener('abort', onGone, { once: true });
  try {
    const answered = client.query(text, [...values]);
    // Of the two, one is too late for anybody to hear of.
    answered.catch(() => undefined);
    const { rows } = await Promise.race([answered, stopped]);
    return rows as Row[];
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onGone);
  }
}

/** In one transaction, so that a pooler sends both to the same server connection. */
async function withFreshPlans<T>(
  client: pg.PoolClient,
  options: QueryOptions,
  work: () => Promise<T>,
): Promise<T> {
  await runQuery(client, 'BEGIN; DISCARD PLANS', [], options);
  try {
    const result = await work();
    await runQuery(client, 'COMMIT', [], options);
    return result;
  } catch (error) {
    if (!isBrokenConnection(error)) await runQuery(client, 'ROLLBACK', [], options);
    throw error;
  }
}

async function runTransaction<T>(
  client: pg.PoolClient,
  begin: string,
  work: (session: Session, rollbackWith: RollbackWith<T>) => Promise<T>,
  limitMs: number,
): Promise<T> {
  const limits = { limitMs };
  await runQuery(client, begin, [], limits);
  try {
    const result = await work(
      { query: (text, values = []) => runQuery(client, text, values, limits) },
      rollbackWith,
    );
    await runQuery(client, 'COMMIT', [], limits);
    return result;
  } catch (error) {
    if (!isBrokenConnection(error)) await runQuery(client, 'ROLLBACK', [], limits);
    throw error;
  }
}
