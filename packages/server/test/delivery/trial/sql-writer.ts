import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Client, DatabaseError } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { End, Ledger, WrittenLead } from './ledger.ts';
import type { InsertPlan, TransactionPlan } from './plans.ts';

/** The transaction may begin anew: another one was in the way. */
const CONFLICTS = ['40001', '40P01'];

export interface WriterOptions {
  readonly url: string;
  /** Begins the ids of its leads. */
  readonly name: string;
  readonly companyIds: readonly string[];
  readonly ledger: Ledger;
}

/** Those that a transaction inserted, and those of them that it did not undo itself. */
interface Leads {
  readonly inserted: WrittenLead[];
  readonly kept: WrittenLead[];
}

/** A program that knows nothing of Leadtap but its table, and writes with plain SQL. */
export class SqlWriter {
  readonly #options: WriterOptions;
  #client: Client | undefined;
  #count = 0;
  #last: WrittenLead | undefined;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  async run(plan: TransactionPlan): Promise<void> {
    const leads: Leads = { inserted: [], kept: [] };
    const end = await this.#attempt(plan, leads);
    this.#options.ledger.end(end, leads.inserted, leads.kept);
    if (end === 'committed') this.#last = leads.kept.at(-1) ?? this.#last;
  }

  async close(): Promise<void> {
    await this.#client?.end();
    this.#client = undefined;
  }

  async #attempt(plan: TransactionPlan, leads: Leads): Promise<End> {
    const client = await this.#connect();
    try {
      await client.query(`BEGIN ISOLATION LEVEL ${plan.isolation}`);
      for (const company of plan.companies)
        for (const insert of plan.inserts)
          await this.#insert(client, insert, this.#options.companyIds[company] ?? '', leads);
      if (plan.again) await this.#insertAgain(client, leads.kept);
      return await this.#end(client, plan.end);
    } catch (error) {
      if (!(error instanceof DatabaseError && CONFLICTS.includes(error.code ?? ''))) throw error;
      await client.query('ROLLBACK');
      return 'refused';
    }
  }

  async #insert(client: Client, plan: InsertPlan, companyId: string, leads: Leads): Promise<void> {
    const made = this.#makeLeads(plan, companyId);
    if (plan.savepoint !== 'none') await client.query('SAVEPOINT s');
    await WRITE[plan.form](client, made);
    leads.inserted.push(...made);
    await client.query('SELECT pg_sleep($1)', [plan.pauseMs / 1000]);
    if (plan.savepoint === 'released') await client.query('RELEASE SAVEPOINT s');
    if (plan.savepoint === 'rolled back') await client.query('ROLLBACK TO SAVEPOINT s');
    else leads.kept.push(...made);
  }

  /** Only in a company that the transaction has the lock of: two might else wait for each other. */
  async #insertAgain(client: Client, kept: readonly WrittenLead[]): Promise<void> {
    const last = this.#last;
    if (last && kept.some(({ companyId }) => companyId === last.companyId)) await writeValues(client, [last]);
  }

  async #end(client: Client, end: TransactionPlan['end']): Promise<End> {
    if (end === 'cut off') {
      this.#client = undefined;
      cutOff(client);
      return 'cutOff';
    }
    await client.query(end === 'commit' ? 'COMMIT' : 'ROLLBACK');
    return end === 'commit' ? 'committed' : 'rolledBack';
  }

  #makeLeads({ rows, place }: InsertPlan, companyId: string): WrittenLead[] {
    const first = this.#count;
    this.#count += rows;
    return Array.from({ length: rows }, (_, index) => ({
      id: `${this.#options.name}-${first + index}`,
      companyId,
      ...place,
    }));
  }

  async #connect(): Promise<Client> {
    if (!this.#client) {
      const client = new Client({
        connectionString: this.#options.url,
        application_name: this.#options.name,
      });
      // A connection that is cut off says so.
      client.on('error', () => undefined);
      await client.connect();
      this.#client = client;
    }
    return this.#client;
  }
}

/** As if the program had been killed: the server learns of it when it next looks at the connection. */
const cutOff = (client: Client): void => void client.connection.stream.destroy();

const COLUMNS = '(company_id, id, branch_id, department_id, first_name)';

/** The branch is left out where the department says it. */
const branchOf = ({ branchId, departmentId }: WrittenLead): string | null =>
  departmentId === null ? branchId : null;

async function writeValues(client: Client, leads: readonly WrittenLead[]): Promise<void> {
  const tuples = leads.map((_, i) => `($${4 * i + 1}, $${4 * i + 2}, $${4 * i + 3}, $${4 * i + 4}, 'Ada')`);
  const values = leads.flatMap((lead) => [lead.companyId, lead.id, branchOf(lead), lead.departmentId]);
  await client.query(`INSERT INTO leadtap.leads ${COLUMNS} VALUES ${tuples.join(', ')}`, values);
}

async function writeSelect(client: Client, leads: readonly WrittenLead[]): Promise<void> {
  const [lead] = leads;
  if (!lead) return;
  await client.query(
    `INSERT INTO leadtap.leads ${COLUMNS} SELECT $1, id, $2, $3, 'Grace' FROM unnest($4::text[]) AS id`,
    [lead.companyId, branchOf(lead), lead.departmentId, leads.map(({ id }) => id)],
  );
}

async function writeCopy(client: Client, leads: readonly WrittenLead[]): Promise<void> {
  const lines = leads.map((lead) =>
    [lead.companyId, lead.id, branchOf(lead) ?? '\\N', lead.departmentId ?? '\\N', 'Mary\n'].join('\t'),
  );
  await pipeline(Readable.from(lines), client.query(copyFrom(`COPY leadtap.leads ${COLUMNS} FROM STDIN`)));
}

const WRITE = { values: writeValues, select: writeSelect, copy: writeCopy };
