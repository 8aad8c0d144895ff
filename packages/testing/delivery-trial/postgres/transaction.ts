import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { Place } from '../actor.ts';
import type { Change, LeadState } from '../judge/history.ts';
import type { Recorder } from '../judge/recorder.ts';

export type InsertForm = 'values' | 'select' | 'copy';

export interface NewLead {
  readonly id: string;
  /** Only for history. */
  readonly createdAt?: number;
}

interface OwnRow extends LeadState {
  readonly id: string;
  readonly createdAt: number;
}

const COLUMNS = '(company_id, id, branch_id, department_id, first_name)';
const ROW = `id, branch_id AS "branchId", department_id AS "departmentId", first_name AS version,
  leadtap.to_ms(created_at)::double precision AS "createdAt"`;

/** One transaction, and what it leaves behind if it commits. */
export class SqlTransaction {
  readonly client: Client;
  readonly #name: string;
  readonly #recorder: Recorder;
  #changes = new Map<string, Change>();
  xid = '0';

  constructor(client: Client, name: string, recorder: Recorder) {
    this.client = client;
    this.#name = name;
    this.#recorder = recorder;
  }

  async insert(
    companyId: string,
    ids: readonly string[],
    place: Place,
    form: InsertForm = 'values',
  ): Promise<void> {
    const versions = new Map(ids.map((id) => [id, this.newVersion()]));
    await INSERT[form](this.client, companyId, versions, place);
    for (const [id, version] of versions) this.#put(companyId, id, { ...place, version });
    this.#recorder.count(`inserts (${form})`, ids.length);
  }

  /** Keeps a time of the past, which is not delivered to clients that poll from a later time. */
  async insertHistory(companyId: string, ids: readonly string[], place: Place, ageMs: number): Promise<void> {
    await this.client.query(`SET LOCAL leadtap.historical = 'on'`);
    for (const id of ids) {
      const version = this.newVersion();
      await this.client.query(
        `INSERT INTO leadtap.leads (company_id, id, branch_id, department_id, first_name, created_at)
         VALUES ($1, $2, $3, $4, $5, leadtap.from_ms(leadtap.clock_ms() - $6))`,
        [companyId, id, place.branchId, place.departmentId, version, ageMs],
      );
      this.#put(companyId, id, { ...place, version }, true);
    }
    await this.client.query('SET LOCAL leadtap.historical TO DEFAULT');
    this.#recorder.count('historical inserts', ids.length);
  }

  /** Whether the lead was there. */
  async update(companyId: string, id: string, place?: Place): Promise<boolean> {
    const version = this.newVersion();
    const move = place ? ', branch_id = $4, department_id = $5' : '';
    const { rows } = await this.client.query<OwnRow>(
      `UPDATE leadtap.leads SET first_name = $3${move} WHERE company_id = $1 AND id = $2 RETURNING ${ROW}`,
      [companyId, id, version, ...(place ? [place.branchId, place.departmentId] : [])],
    );
    const [row] = rows;
    if (row) this.#put(companyId, id, { branchId: row.branchId, departmentId: row.departmentId, version });
    this.#recorder.count(place ? 'moves' : 'updates', rows.length);
    return row !== undefined;
  }

  async delete(companyId: string, id: string): Promise<boolean> {
    const { rowCount } = await this.client.query(
      'DELETE FROM leadtap.leads WHERE company_id = $1 AND id = $2',
      [companyId, id],
    );
    if (rowCount) this.forget(companyId, id);
    return rowCount === 1;
  }

  /** The lead was deleted by a statement of the caller's own. */
  forget(companyId: string, id: string): void {
    this.#changes.set(`${companyId}\0${id}`, { companyId, id, state: undefined });
    this.#recorder.count('deletes');
  }

  versionOf(companyId: string, id: string): string {
    return this.#changes.get(`${companyId}\0${id}`)?.state?.version ?? '';
  }

  /** A trigger of the operator's has written this lead as well. */
  put(companyId: string, id: string, state: LeadState): void {
    this.#put(companyId, id, state);
  }

  /** Runs the work under a savepoint, and undoes it if that is wanted. */
  async savepoint(isRolledBack: boolean, work: () => Promise<void>): Promise<void> {
    const before = new Map(this.#changes);
    await this.client.query('SAVEPOINT s');
    await work();
    await this.client.query(isRolledBack ? 'ROLLBACK TO SAVEPOINT s' : 'RELEASE SAVEPOINT s');
    if (isRolledBack) this.#changes = before;
  }

  async sleep(ms: number): Promise<void> {
    if (ms > 0) await this.client.query('SELECT pg_sleep($1)', [ms / 1000]);
  }

  /** A writer can always read what it wrote, also before it commits. Gives all changes with their stamps. */
  async readOwnWrites(): Promise<Change[]> {
    const changes = [...this.#changes.values()];
    const rows = new Map<string, OwnRow>();
    for (const companyId of new Set(changes.map((change) => change.companyId))) {
      const ids = changes.filter((change) => change.companyId === companyId).map(({ id }) => id);
      const found = await this.client.query<OwnRow>(
        `SELECT ${ROW} FROM leadtap.leads WHERE company_id = $1 AND id = ANY ($2)`,
        [companyId, ids],
      );
      for (const row of found.rows) rows.set(`${companyId}\0${row.id}`, row);
    }
    if (changes.length > 0) {
      const { rows: own } = await this.client.query<{ xid: string }>(
        'SELECT pg_current_xact_id()::text AS xid',
      );
      this.xid = own[0]?.xid ?? '0';
    }
    return changes.map((change) => this.#withStamp(change, rows.get(`${change.companyId}\0${change.id}`)));
  }

  #withStamp(change: Change, row: OwnRow | undefined): Change {
    const { state, companyId, id } = change;
    const isAsWritten =
      row?.version === state?.version &&
      (row === undefined || (row.branchId === state?.branchId && row.departmentId === state.departmentId));
    if (!isAsWritten)
      this.#recorder.complain(
        `${this.#name} wrote ${companyId}/${id} as ${state?.version ?? 'deleted'} and reads ${row?.version ?? 'nothing'} in its own transaction`,
      );
    return { ...change, createdAt: row?.createdAt };
  }

  #put(companyId: string, id: string, state: LeadState, isHistorical = false): void {
    const key = `${companyId}\0${id}`;
    const before = this.#changes.get(key);
    const isReinserted = before !== undefined && (before.state === undefined || before.isReinserted === true);
    this.#changes.set(key, { companyId, id, state, isHistorical, isReinserted });
  }

  newVersion(): string {
    return `${this.#name}.${this.#recorder.next()}`;
  }
}

type Insert = (
  client: Client,
  companyId: string,
  versions: ReadonlyMap<string, string>,
  place: Place,
) => Promise<void>;

const insertValues: Insert = async (client, companyId, versions, { branchId, departmentId }) => {
  const tuples = [...versions].map((_, i) => `($1, $${2 * i + 4}, $2, $3, $${2 * i + 5})`);
  await client.query(`INSERT INTO leadtap.leads ${COLUMNS} VALUES ${tuples.join(', ')}`, [
    companyId,
    branchId,
    departmentId,
    ...[...versions].flat(),
  ]);
};

const insertSelect: Insert = async (client, companyId, versions, { branchId, departmentId }) => {
  await client.query(
    `INSERT INTO leadtap.leads ${COLUMNS}
     SELECT $1, id, $2, $3, version FROM unnest($4::text[], $5::text[]) AS lead (id, version)`,
    [companyId, branchId, departmentId, [...versions.keys()], [...versions.values()]],
  );
};

const insertCopy: Insert = async (client, companyId, versions, { branchId, departmentId }) => {
  const lines = [...versions].map(
    ([id, version]) => `${[companyId, id, branchId ?? '\\N', departmentId ?? '\\N', version].join('\t')}\n`,
  );
  await pipeline(Readable.from(lines), client.query(copyFrom(`COPY leadtap.leads ${COLUMNS} FROM STDIN`)));
};

const INSERT: Record<InsertForm, Insert> = { values: insertValues, select: insertSelect, copy: insertCopy };
