/** The orders of events in which leads get lost where stamps and polls are not under one lock, forced to happen. */
import { Client } from 'pg';
import type { Ledger, WrittenLead } from './ledger.ts';
import type { Kind } from './seats.ts';
import { hasWaiters } from './waiters.ts';

export interface Scene {
  readonly databaseUrl: string;
  readonly companyId: string;
  readonly ledger: Ledger;
  /** Lets everybody of this company poll, or those of one kind. */
  poll(kind?: Kind): Promise<unknown>;
}

/**
 * A slow writer has stamped its lead but not committed; in the next second a quick one comes, and everybody polls. Where
 * the quick one must wait, they poll all the same.
 */
export async function overtake(scene: Scene): Promise<void> {
  const slow = await Writer.connect(scene, 'slow');
  const quick = await Writer.connect(scene, 'quick');
  await slow.insert();
  await slow.nextSecond();
  const quickInsert = quick.insert();
  await Promise.race([quickInsert.then(() => quick.commit()), slow.somebodyWaits()]);
  await scene.poll();
  await slow.commit();
  await quickInsert;
  await quick.commit();
}

/**
 * A writer has stamped its lead but not committed; in the next second there are polls, and it commits while they wait for
 * it. A wrong `Date` is all that can be seen of this.
 */
export async function commitWhilePollsWait(scene: Scene): Promise<void> {
  const writer = await Writer.connect(scene, 'awaited');
  await writer.insert();
  await writer.nextSecond();
  const polls = scene.poll('date');
  await Promise.race([polls, writer.somebodyWaits()]);
  await writer.commit();
  await polls;
}

const INSERT = `INSERT INTO leadtap.leads (company_id, id, department_id) VALUES ($1, $2, $3)
  RETURNING leadtap.to_ms(created_at) AS stamp`;

class Writer {
  readonly #client: Client;
  readonly #lead: WrittenLead;
  readonly #ledger: Ledger;
  #stamp = 0;
  #committed = false;

  private constructor(client: Client, lead: WrittenLead, ledger: Ledger) {
    this.#client = client;
    this.#lead = lead;
    this.#ledger = ledger;
  }

  static async connect({ databaseUrl, companyId, ledger }: Scene, name: string): Promise<Writer> {
    const client = new Client({ connectionString: databaseUrl });
    // A trial that fails ends in the middle of this.
    client.on('error', () => undefined);
    await client.connect();
    const id = `${name}-${companyId}-${ledger.committed.size}`;
    const lead = { id, companyId, branchId: 'north', departmentId: 'sales' };
    return new Writer(client, lead, ledger);
  }

  async insert(): Promise<void> {
    const { companyId, id, departmentId } = this.#lead;
    await this.#client.query('BEGIN');
    const { rows } = await this.#client.query(INSERT, [companyId, id, departmentId]);
    this.#stamp = Number(rows[0]?.stamp);
  }

  /** Until the `Date` of an answer, which has whole seconds, can be later than the stamp. */
  async nextSecond(): Promise<void> {
    const rest = `(floor($1::bigint / 1000.0) + 1) * 1000 - leadtap.clock_ms()`;
    await this.#client.query(`SELECT pg_sleep(greatest(0, ${rest}) / 1000)`, [this.#stamp]);
  }

  async commit(): Promise<void> {
    if (this.#committed) return;
    this.#committed = true;
    await this.#client.query('COMMIT');
    this.#ledger.commit([this.#lead]);
    await this.#client.end();
  }

  async somebodyWaits(): Promise<void> {
    while (!this.#committed && !(await hasWaiters(this.#client)));
  }
}
