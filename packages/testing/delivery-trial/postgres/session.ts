import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Client, DatabaseError } from 'pg';
import type { Change } from '../judge/history.ts';
import type { Commit, Recorder } from '../judge/recorder.ts';
import { SqlTransaction } from './transaction.ts';

export type Isolation = 'READ COMMITTED' | 'REPEATABLE READ' | 'SERIALIZABLE';
export type PlannedEnd = 'commit' | 'roll back' | 'cut off' | 'two-phase commit' | 'two-phase rollback';

/** The transaction may begin anew: another one was in the way. */
const CONFLICTS: Readonly<Record<string, string>> = {
  '40001': 'serialization failures',
  '40P01': 'deadlocks',
};
/** The server is going, gone or coming; or the connection is. */
const isConnectionLost = (error: unknown): boolean =>
  !(error instanceof DatabaseError) || /^(57P0|08)/.test(error.code ?? '');

export interface SessionOptions {
  readonly url: string;
  readonly name: string;
  readonly recorder: Recorder;
  /** It follows the advice of docs/postgresql.md, so it must never be the victim of a deadlock. */
  readonly isDeadlockFree?: boolean;
}

/** A program with one connection that writes with plain SQL, and connects again when the connection is lost. */
export class SqlSession {
  readonly #options: SessionOptions;
  #client: Client | undefined;
  /** Of the transaction that is prepared. It is unique in the whole cluster. */
  #gid = '';
  #hasTwoPhase = true;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** True if it was committed. */
  async transaction(
    isolation: Isolation,
    work: (transaction: SqlTransaction) => Promise<void>,
    end: PlannedEnd = 'commit',
  ): Promise<boolean> {
    const client = await this.connect();
    if (end.startsWith('two-phase')) await this.#findTwoPhase(client);
    const transaction = new SqlTransaction(client, this.#options.name, this.#options.recorder);
    const sent: { commit?: Commit } = {};
    try {
      await client.query(`BEGIN ISOLATION LEVEL ${isolation}`);
      await work(transaction);
      const changes = await transaction.readOwnWrites();
      return await this.#end(client, this.#possibleEnd(end), changes, sent);
    } catch (error) {
      if (!isConnectionLost(error)) return await this.#refused(client, error as DatabaseError, sent.commit);
      this.#options.recorder.count('connections lost');
      this.#drop();
      if (sent.commit) return await this.#resolve(transaction.xid, sent.commit);
      await this.#rollbackPrepared();
      return false;
    }
  }

  async connect(): Promise<Client> {
    for (; !this.#client; await wait(20)) {
      const { url, name } = this.#options;
      const client = new Client({ connectionString: url, application_name: name });
      client.on('error', () => undefined);
      this.#client = await client.connect().then(
        () => client,
        () => undefined,
      );
      if (this.#client) break;
    }
    return this.#client;
  }

  async #findTwoPhase(client: Client): Promise<void> {
    const { rows } = await client
      .query<{ most: string }>(`SELECT current_setting('max_prepared_transactions') AS most`)
      .catch(() => ({ rows: [] }));
    this.#hasTwoPhase = rows[0]?.most !== '0';
  }

  /** A server that prepares no transactions (`max_prepared_transactions = 0`) gets plain ones. */
  #possibleEnd(end: PlannedEnd): PlannedEnd {
    if (this.#hasTwoPhase || !end.startsWith('two-phase')) return end;
    return end === 'two-phase commit' ? 'commit' : 'roll back';
  }

  async close(): Promise<void> {
    await this.#client?.end();
    this.#client = undefined;
  }

  async #end(
    client: Client,
    end: PlannedEnd,
    changes: readonly Change[],
    sent: { commit?: Commit },
  ): Promise<boolean> {
    const { recorder } = this.#options;
    recorder.count(`transactions: ${end}`);
    if (end === 'cut off') {
      this.#drop();
      return false;
    }
    if (end === 'roll back') {
      await client.query('ROLLBACK');
      return false;
    }
    if (end !== 'commit') {
      this.#gid = `${this.#options.name}-${randomUUID()}`;
      await client.query(`PREPARE TRANSACTION '${this.#gid}'`);
      await client.query('SELECT pg_sleep(0.005)');
    }
    if (end === 'two-phase rollback') {
      await client.query(`ROLLBACK PREPARED '${this.#gid}'`);
      return false;
    }
    sent.commit = recorder.commit(changes);
    await client.query(end === 'commit' ? 'COMMIT' : `COMMIT PREPARED '${this.#gid}'`);
    sent.commit.acknowledge();
    return true;
  }

  async #refused(
    client: Client,
    { code = '', message, detail = '' }: DatabaseError,
    commit?: Commit,
  ): Promise<boolean> {
    const { recorder, name, isDeadlockFree = false } = this.#options;
    commit?.refuse();
    const conflict = CONFLICTS[code];
    if (conflict) recorder.count(`transactions: ${conflict}`);
    if (!conflict || (code === '40P01' && isDeadlockFree))
      recorder.complain(`${name} was refused with ${code} ${message} ${detail}`.trim());
    await client.query('ROLLBACK').catch(() => this.#drop());
    return false;
  }

  /** As if the program had been killed: the server learns of it when it next reads from the connection. */
  #drop(): void {
    this.#client?.connection.stream.destroy();
    this.#client = undefined;
  }

  /** Asks the server how a commit ended whose answer was lost. */
  async #resolve(xid: string, commit: Commit): Promise<boolean> {
    for (;;) {
      // A transaction that changed nothing has no number.
      const status = xid === '0' ? 'aborted' : await this.#ask(xid);
      if (status === 'committed') commit.acknowledge();
      if (status === 'aborted') commit.refuse();
      if (status === 'committed' || status === 'aborted') break;
      if (await this.#rollbackPrepared()) continue;
      await wait(20);
    }
    this.#options.recorder.count('commits resolved after a lost connection');
    return false;
  }

  async #ask(xid: string): Promise<string | undefined> {
    const client = await this.connect();
    try {
      const { rows } = await client.query('SELECT pg_xact_status($1::xid8) AS status', [xid]);
      return rows[0]?.status ?? undefined;
    } catch (error) {
      if (isConnectionLost(error)) this.#drop();
      // "is in the future": the crash came before anything of it was kept.
      else return 'aborted';
      return undefined;
    }
  }

  /** A transaction that stays prepared would hold its locks for ever. True if there was one. */
  async #rollbackPrepared(): Promise<boolean> {
    if (this.#gid === '') return false;
    for (;;) {
      const client = await this.connect();
      try {
        const { rowCount } = await client.query('SELECT FROM pg_prepared_xacts WHERE gid = $1', [this.#gid]);
        if (rowCount === 0) return false;
        await client.query(`ROLLBACK PREPARED '${this.#gid}'`);
        return true;
      } catch (error) {
        if (!isConnectionLost(error)) throw error;
        this.#drop();
      }
    }
  }
}
