/** The orders of events in which leads get lost where a part of the rule is missing, forced to happen. */
import type { Store } from 'leadtap';
import { Client } from 'pg';
import type { Place } from '../actor.ts';
import { writeThrough } from '../actors/package-writer.ts';
import type { Client as PollingClient } from '../judge/history.ts';
import type { Trial } from '../trial.ts';
import { SqlTransaction } from './transaction.ts';
import { hasWaiters } from './waiters.ts';
import { withClient } from './with-client.ts';

export interface Scene {
  readonly url: string;
  readonly companyId: string;
  /** Its id sorts after the other one, and its lock's number before. */
  readonly otherCompanyId: string;
  readonly trial: Trial;
  readonly store: Store;
}

interface Stage extends Scene {
  /** All that the scene has begun, to be ended with it. */
  readonly writers: ForcedWriter[];
}

const PLACE = { branchId: 'north', departmentId: 'sales' };
const NO_PLACE = { branchId: null, departmentId: null };

/** Runs one scene. What the database refuses in it is recorded: none of these statements may fail. */
export async function force(scene: Scene, act: (stage: Stage) => Promise<void>): Promise<void> {
  const stage: Stage = { ...scene, writers: [] };
  try {
    await act(stage);
  } catch (error) {
    scene.trial.recorder.complain(`${act.name}: ${String(error)}`);
  } finally {
    for (const writer of stage.writers) await writer.close();
  }
}

const pollAll = ({ trial, companyId }: Scene, isMeant: (client: PollingClient) => boolean = () => true) =>
  trial.pollOnce((client) => client.scope.companyId === companyId && isMeant(client));

/**
 * A slow writer has stamped its lead but not committed; in the next second a quick one comes, and all clients poll. Where
 * the quick one must wait, they poll all the same.
 */
export async function overtake(scene: Stage): Promise<void> {
  const slow = await ForcedWriter.begin(scene, 'slow');
  const quick = await ForcedWriter.begin(scene, 'quick');
  await slow.insert();
  await slow.nextSecond();
  const quickInsert = quick.insert();
  await Promise.race([quickInsert.then(() => quick.commit()), slow.isAwaited()]);
  await pollAll(scene);
  await slow.commit();
  await quickInsert;
  await quick.commit();
}

/**
 * A writer has stamped its lead but not committed; in the next second there are polls, and it commits while they wait for
 * it. A wrong `Date` is all that can be seen of this.
 */
export async function commitWhilePollsWait(scene: Stage): Promise<void> {
  const writer = await ForcedWriter.begin(scene, 'awaited');
  await writer.insert();
  await writer.nextSecond();
  const polls = pollAll(scene, ({ memory }) => memory === 'date');
  await Promise.race([polls, writer.isAwaited()]);
  await writer.commit();
  await polls;
}

/** One transaction deletes a lead and holds it; another inserts the same id and waits; the first commits. */
export async function reinsertDuringDelete(scene: Stage): Promise<void> {
  await reinsert(scene, PLACE, async (id) => {
    const inserting = await ForcedWriter.begin(scene, 'inserting', id);
    await inserting.insert();
    await inserting.commit();
  });
}

/** The same without a department, which PostgreSQL has nothing to refuse for. */
export async function reinsertUnplacedDuringDelete(scene: Stage): Promise<void> {
  await reinsert(scene, NO_PLACE, async (id) => {
    const inserting = await ForcedWriter.begin(scene, 'inserting', id, NO_PLACE);
    await inserting.insert();
    await inserting.commit();
  });
}

/** The same through the package, as `leads import` does. */
export async function reinsertThroughPackageDuringDelete(scene: Stage): Promise<void> {
  const { store, companyId, trial } = scene;
  await reinsert(scene, NO_PLACE, (id) =>
    writeThrough(store, trial.recorder, [{ companyId, id, ...NO_PLACE }], { name: 'reinserting' }),
  );
}

async function reinsert(
  scene: Stage,
  place: Place,
  insertAgain: (id: string) => Promise<void>,
): Promise<void> {
  const id = `reinserted-${scene.trial.recorder.next()}`;
  const first = await ForcedWriter.begin(scene, 'first', id, place);
  await first.insert();
  await first.commit();
  // A newer lead is left: a transaction that deletes the newest one holds the lock of the company as well.
  const newer = await ForcedWriter.begin(scene, 'newer');
  await newer.insert();
  await newer.commit();
  await pollAll(scene);
  const deleting = await ForcedWriter.begin(scene, 'deleting', id);
  await deleting.transaction.delete(scene.companyId, id);
  const inserted = insertAgain(id);
  await Promise.race([inserted, deleting.isAwaited()]);
  await deleting.commit();
  await inserted;
  await pollAll(scene);
}

/** Leads are changed, moved and deleted, and all clients poll after each commit. */
export async function changeAndPoll(scene: Stage): Promise<void> {
  const id = `changed-${scene.trial.recorder.next()}`;
  const writer = await ForcedWriter.begin(scene, 'changing', id);
  await writer.insert();
  await writer.commit();
  await pollAll(scene);
  const steps = [
    (transaction: SqlTransaction) => transaction.update(scene.companyId, id),
    (transaction: SqlTransaction) =>
      transaction.update(scene.companyId, id, { branchId: 'south', departmentId: null }),
    (transaction: SqlTransaction) => transaction.update(scene.companyId, id, PLACE),
    (transaction: SqlTransaction) => transaction.delete(scene.companyId, id),
  ];
  for (const step of steps) {
    const next = await ForcedWriter.begin(scene, 'changing', id);
    await step(next.transaction);
    await next.commit();
    await pollAll(scene);
  }
}

/**
 * A transaction inserts into two companies in the order of their ids, as docs/postgresql.md advises; a batch of the package
 * for both companies comes in between. Neither may end the other.
 */
export async function lockTwoCompanies(scene: Stage): Promise<void> {
  const { store, companyId, otherCompanyId, trial } = scene;
  const writer = await ForcedWriter.begin(scene, 'advised');
  // It checks for a deadlock before the batch does, so it is the one that PostgreSQL would end: a batch is tried again.
  await writer.transaction.client.query(`SET LOCAL deadlock_timeout = '1ms'`);
  await writer.insert();
  const batch = [companyId, otherCompanyId].map((id) => ({
    companyId: id,
    id: `batch-${trial.recorder.next()}`,
    ...PLACE,
  }));
  const written = writeThrough(store, trial.recorder, batch, { name: 'batch' });
  await Promise.race([written, writer.isAwaited()]);
  await writer.transaction.insert(otherCompanyId, [`advised-${trial.recorder.next()}`], PLACE);
  await writer.commit();
  await written;
  await pollAll(scene);
}

/**
 * A restored database remembers the transaction that wrote last on the server it comes from; the first writer on the new
 * server may have the same number.
 */
export async function repeatTransactionId(scene: Stage): Promise<void> {
  await pollAll(scene);
  const writer = await ForcedWriter.begin(scene, 'restored');
  const { client } = writer.transaction;
  const { rowCount } = await client.query(
    `SELECT FROM information_schema.columns
      WHERE table_schema = 'leadtap' AND table_name = 'companies' AND column_name = 'last_writer'`,
  );
  if (rowCount) {
    await client.query('SET LOCAL session_replication_role = replica');
    await client.query('UPDATE leadtap.companies SET last_writer = pg_current_xact_id() WHERE id = $1', [
      scene.companyId,
    ]);
    await client.query('SET LOCAL session_replication_role = origin');
  }
  await writer.insert();
  await writer.commit();
  await pollAll(scene);
}

/** The operator adds a column to the table of leads, polls make their plans with it, and it is dropped. */
export async function dropColumn(scene: Stage): Promise<void> {
  const alter = (change: string) =>
    withClient(scene.url, (client) => client.query(`ALTER TABLE leadtap.leads ${change}`));
  const readAnew = async () => {
    const id = `column-${scene.trial.recorder.next()}`;
    for (let round = 0; round < 3; round += 1) {
      // The second and the third time it is an update: the instances discard what they have cached.
      const writer = await ForcedWriter.begin(scene, 'column', id);
      await writer.insert();
      await writer.commit();
      await pollAll(scene);
    }
  };
  await alter('ADD COLUMN operator_note text');
  await readAnew();
  await alter('DROP COLUMN operator_note');
  await readAnew();
}

class ForcedWriter {
  readonly transaction: SqlTransaction;
  readonly #client: Client;
  readonly #scene: Stage;
  readonly #id: string;
  readonly #place: Place;
  #isCommitted = false;

  private constructor(client: Client, scene: Stage, name: string, id: string, place: Place) {
    this.#client = client;
    this.#scene = scene;
    this.#id = id;
    this.#place = place;
    scene.writers.push(this);
    this.transaction = new SqlTransaction(client, name, scene.trial.recorder);
  }

  static async begin(scene: Stage, name: string, id?: string, place: Place = PLACE): Promise<ForcedWriter> {
    const client = new Client({ connectionString: scene.url, application_name: name });
    // A trial that fails ends in the middle of this.
    client.on('error', () => undefined);
    await client.connect();
    await client.query('BEGIN');
    return new ForcedWriter(client, scene, name, id ?? `${name}-${scene.trial.recorder.next()}`, place);
  }

  insert(): Promise<void> {
    return this.transaction.insert(this.#scene.companyId, [this.#id], this.#place);
  }

  /** Until the `Date` of an answer, which has whole seconds, can be later than the stamp. */
  async nextSecond(): Promise<void> {
    const [change] = await this.transaction.readOwnWrites();
    const rest = `(floor($1::bigint / 1000.0) + 1) * 1000 - leadtap.clock_ms()`;
    await this.#client.query(`SELECT pg_sleep(greatest(0, ${rest}) / 1000)`, [change?.createdAt]);
  }

  async commit(): Promise<void> {
    if (this.#isCommitted) return;
    this.#isCommitted = true;
    const commit = this.#scene.trial.recorder.commit(await this.transaction.readOwnWrites());
    await this.#client.query('COMMIT');
    commit.acknowledge();
    await this.close();
  }

  close(): Promise<void> {
    return this.#client.end();
  }

  async isAwaited(): Promise<void> {
    while (!this.#isCommitted && !(await hasWaiters(this.#client)));
  }
}

export const FORCED_SCENES = [
  overtake,
  commitWhilePollsWait,
  reinsertDuringDelete,
  reinsertUnplacedDuringDelete,
  reinsertThroughPackageDuringDelete,
  changeAndPoll,
  lockTwoCompanies,
  repeatTransactionId,
  dropColumn,
];
