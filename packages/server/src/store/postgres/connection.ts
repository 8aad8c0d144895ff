import { Socket } from 'node:net';
import pg from 'pg';
import { ClientDisconnectedError, StoreUnavailableError } from '../../sql/errors.ts';
import { isBrokenConnection, isConnectTimeout, isRetryable, isStalePlan, toStoreError } from './errors.ts';
import { TIMEOUTS, type Timeouts } from './timeouts.ts';

export type SqlValue = string | number | boolean | null | readonly (string | null)[];

export interface Session {
  /** The rows as the query names their columns. The conformance suite shows that `Row` describes them. */
  query<Row>(text: string, values?: readonly SqlValue[]): Promise<Row[]>;
}

export interface TransactionSession extends Session {
  /** With `commits`, it is the last statement, and COMMIT is sent in the same round trip. If it fails, nothing is committed. */
  query<Row>(
    text: string,
    values?: readonly SqlValue[],
    options?: { readonly commits?: boolean },
  ): Promise<Row[]>;
}

export interface QueryOptions {
  /** Aborted when the client has disconnected: its query is not started. One that runs ends within its timeouts. */
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
}

export interface TransactionOptions {
  readonly statementTimeoutMs?: number;
  readonly lockTimeoutMs?: number;
  /** Further `SET LOCAL` statements. */
  readonly settings?: string;
  /**
   * The first statement. It is sent with BEGIN, in one round trip. It must change nothing: if BEGIN failed, it would run as a
   * transaction of its own.
   */
  readonly opening?: { readonly text: string; readonly values: readonly SqlValue[] };
}

/** As for PostgreSQL. For work whose duration depends on the size of a table. */
export const NO_TIMEOUT_MS = 0;

/** Further requests fail at once, so that a database that hangs does not fill the memory. */
const MAX_QUEUED_QUERIES = 1000;
/** For a statement of a transaction: a batch of leads, an organisation of many thousand users. */
const STATEMENT_TIMEOUT_MS = 60_000;
/** A write that cannot get its lock for this long fails with "unavailable"; nothing was written. */
export const LOCK_TIMEOUT_MS = 10_000;
/** The server ends a statement first, so that the connection stays usable. The client does so if the server does not answer. */
const CLIENT_GRACE_MS = 1000;
const MAX_TRIES = 5;
/** A longer wait makes several attempts: a server that restarts meanwhile may never answer the first one. */
const CONNECT_ATTEMPT_MS = 10_000;
const INT8 = 20;

/** Milliseconds and counts fit into a number. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format),
};

/**
 * A connection pool in which every wait has a timeout. Every query is a transaction of its own or part of one, with no
 * session setting or prepared statement, so that it works through a pooler such as PgBouncer in transaction mode.
 */
export class Database {
  readonly #pool: pg.Pool;
  readonly #timeouts: Timeouts;
  readonly #connectAttempts: number;
  #queued = 0;

  /** The signal ends all connections, and no other is opened. */
  constructor(url: string, connections: number, timeouts: Partial<Timeouts> = {}, signal?: AbortSignal) {
    this.#timeouts = { ...TIMEOUTS, ...timeouts };
    this.#connectAttempts = Math.ceil(this.#timeouts.connectLimitMs / CONNECT_ATTEMPT_MS);
    this.#pool = new pg.Pool({
      connectionString: url,
      max: connections,
      types,
      application_name: 'leadtap',
      connectionTimeoutMillis: Math.ceil(this.#timeouts.connectLimitMs / this.#connectAttempts),
      keepAlive: true,
      // A statement may be sent before the response to the one before it has arrived.
      pipeline: true,
      ...(signal && { stream: () => openSocket(signal) }),
      // A database that hangs never confirms the end of a connection; the process must be able to exit all the same.
      allowExitOnIdle: true,
    });
    // The query that uses a broken connection fails; an event without a listener would end the process.
    this.#pool.on('error', () => undefined);
    this.#pool.on('connect', (client) => client.on('error', () => undefined));
  }

  get connections(): number {
    return this.#pool.options.max;
  }

  get writeLimitMs(): number {
    return this.#timeouts.writeLimitMs;
  }

  /**
   * A statement without a transaction. Its timeout is on the client's side alone, since PgBouncer refuses
   * `statement_timeout` as a startup parameter. The functions that polls call set a `lock_timeout` themselves.
   */
  async query<Row>(
    text: string,
    values: readonly SqlValue[] = [],
    { signal, timeoutMs = this.#timeouts.queryLimitMs }: QueryOptions = {},
  ): Promise<Row[]> {
    throwIfDisconnected(signal);
    return this.#withClient(async (client) => {
      throwIfDisconnected(signal);
      try {
        return await runQuery<Row>(client, text, values, timeoutMs);
      } catch (error) {
        if (!isStalePlan(error)) throw error;
        // In one transaction, so that a pooler sends both to the same server connection.
        const work = (session: Session) => session.query<Row>(text, values);
        return runTransaction(client, 'BEGIN; DISCARD PLANS', work, { beginMs: timeoutMs, timeoutMs });
      }
    });
  }

  /**
   * `work` gets the rows of the opening statement. It may run more than once: after a deadlock or a serialization failure the
   * transaction is retried.
   */
  async transaction<T, Row>(
    work: (session: TransactionSession, opened: Row[]) => Promise<T>,
    options: TransactionOptions = {},
  ): Promise<T> {
    const { statementTimeoutMs = STATEMENT_TIMEOUT_MS, lockTimeoutMs = LOCK_TIMEOUT_MS } = options;
    const { settings = '', opening } = options;
    const begin = `BEGIN ISOLATION LEVEL READ COMMITTED;
      SET LOCAL statement_timeout = ${statementTimeoutMs}; SET LOCAL lock_timeout = ${lockTimeoutMs};
      SET LOCAL idle_in_transaction_session_timeout = ${this.#timeouts.idleLimitMs}; ${settings}`;
    const timeoutMs =
      statementTimeoutMs === NO_TIMEOUT_MS ? NO_TIMEOUT_MS : statementTimeoutMs + CLIENT_GRACE_MS;
    // It waits for no lock. On a connection that the network has lost, it is the statement that gets no answer.
    const beginMs = this.#timeouts.queryLimitMs;
    let discardPlans = '';
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#withClient((client) =>
          runTransaction(client, `${begin}${discardPlans}`, work, { beginMs, timeoutMs, opening }),
        );
      } catch (error) {
        if (isStalePlan(error) && discardPlans === '') discardPlans = '; DISCARD PLANS';
        else if (tries >= MAX_TRIES || !isRetryable(error)) throw error;
      }
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #withClient<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#connect();
    let isBroken = false;
    try {
      return await work(client);
    } catch (error) {
      isBroken = isBrokenConnection(error);
      throw toStoreError(error);
    } finally {
      client.release(isBroken);
    }
  }

  async #connect(): Promise<pg.PoolClient> {
    if (this.#queued >= MAX_QUEUED_QUERIES)
      throw new StoreUnavailableError('too many requests wait for a connection to the database');
    this.#queued += 1;
    try {
      for (let attempt = 1; ; attempt += 1)
        try {
          return await this.#pool.connect();
        } catch (error) {
          if (attempt >= this.#connectAttempts || !isConnectTimeout(error)) throw toStoreError(error);
        }
    } finally {
      this.#queued -= 1;
    }
  }
}

/** A socket that is destroyed before `connect` connects all the same, so the signal is checked first. */
function openSocket(signal: AbortSignal): Socket {
  signal.throwIfAborted();
  return new Socket({ signal });
}

function throwIfDisconnected(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new ClientDisconnectedError('the client has disconnected');
}

/** After a timeout, the connection is in an unknown state and is closed (`isBrokenConnection`). */
async function runQuery<Row>(
  client: pg.PoolClient,
  text: string,
  values: readonly SqlValue[],
  timeoutMs: number,
): Promise<Row[]> {
  const config = { text, values: [...values], query_timeout: timeoutMs };
  const { rows } = await client.query(config);
  return rows as Row[];
}

interface RunOptions {
  readonly opening?: TransactionOptions['opening'] | undefined;
  readonly beginMs: number;
  readonly timeoutMs: number;
}

async function runTransaction<T, Row>(
  client: pg.PoolClient,
  begin: string,
  work: (session: TransactionSession, opened: Row[]) => Promise<T>,
  { beginMs, timeoutMs, opening }: RunOptions,
): Promise<T> {
  let isEnded = false;
  const query: TransactionSession['query'] = async <R>(
    text: string,
    values: readonly SqlValue[] = [],
    { commits = false } = {},
  ) => {
    if (isEnded) throw new Error('the transaction has ended');
    const answered = runQuery<R>(client, text, values, timeoutMs);
    if (!commits) return answered;
    isEnded = true;
    // COMMIT rolls back if the statement has failed.
    const [rows] = await settleBoth(answered, runQuery(client, 'COMMIT', [], timeoutMs));
    return rows;
  };
  try {
    const [, opened] = await settleBoth(
      runQuery(client, begin, [], beginMs),
      opening ? query<Row>(opening.text, opening.values) : [],
    );
    const result = await work({ query }, opened);
    if (!isEnded) await query('COMMIT');
    return result;
  } catch (error) {
    // Without a ROLLBACK the connection cannot be used again. Its error must not hide the first one.
    if (!isEnded && !isBrokenConnection(error)) await query('ROLLBACK').catch(() => void client.end());
    throw error;
  }
}

/** Waits for both, because the connection must not be used for something else before; then throws the first error. */
async function settleBoth<First, Second>(
  first: Promise<First>,
  second: Promise<Second> | Second,
): Promise<[First, Second]> {
  await Promise.allSettled([first, second]);
  return [await first, await second];
}

/** Until the transaction ends, no other transaction adds leads to these companies. */
export async function lockCompanies(session: Session, companyIds: readonly string[]): Promise<void> {
  await session.query('SELECT leadtap.lock_companies($1)', [companyIds]);
}
