import {
  type ColumnKind,
  DEFAULT_LEAD_FIELDS,
  FIELD_COLUMNS,
  type LeadFieldsRow,
  toLeadFields,
  toLeadFieldsRow,
} from '../lead-row.ts';
import { type Place, resolvePlace } from '../placement.ts';
import type { LeadFields, LeadInput } from '../records.ts';
import type { LeadResult } from '../store.ts';
import type { Session } from './connection.ts';
import { KnownPlaces, namedBy } from './known-places.ts';
import { idInCompany } from './loaded-table.ts';

/** The types of the columns of a batch, as `json_to_recordset` reads them. */
const TYPES: Readonly<Record<ColumnKind, string>> = {
  text: 'text',
  boolean: 'boolean',
  time: 'bigint',
  json: 'jsonb',
  texts: 'text[]',
};

const TIME_COLUMNS = new Set(FIELD_COLUMNS.filter(({ kind }) => kind === 'time').map(({ column }) => column));
const CONTENT_COLUMNS = [
  ...['branch_id', 'department_id', 'status_value'],
  ...FIELD_COLUMNS.map(({ column }) => column),
];
const contentOf = (alias: string) =>
  CONTENT_COLUMNS.map((column) =>
    TIME_COLUMNS.has(column) ? `leadtap.from_ms(${alias}.${column})` : `${alias}.${column}`,
  );
const BATCH = `json_to_recordset($1) AS b (company_id text, id text, created_at bigint,
  branch_id text, department_id text, status_value text,
  ${FIELD_COLUMNS.map(({ column, kind }) => `${column} ${TYPES[kind]}`).join(', ')})`;

/** The rows are locked: a lead that another transaction deletes meanwhile is not found, and added again. */
const FIND = `SELECT company_id, id, leadtap.to_ms(created_at) AS created_at,
       ${CONTENT_COLUMNS.map((column) =>
         TIME_COLUMNS.has(column) ? `leadtap.to_ms(${column}) AS ${column}` : column,
       ).join(', ')}
  FROM leadtap.leads WHERE (company_id, id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
   ORDER BY company_id, id FOR NO KEY UPDATE`;

const UPDATE = `UPDATE leadtap.leads AS l
  SET (${CONTENT_COLUMNS.join(', ')}) = ROW (${contentOf('b').join(', ')})
  FROM ${BATCH} WHERE l.company_id = b.company_id AND l.id = b.id`;

/** The rows are stamped in the order in which they stand in the batch. */
const INSERT = `INSERT INTO leadtap.leads (company_id, id, created_at, ${CONTENT_COLUMNS.join(', ')})
  SELECT b.company_id, b.id, leadtap.from_ms(b.created_at), ${contentOf('b').join(', ')} FROM ${BATCH}
  RETURNING company_id, id, leadtap.to_ms(created_at) AS created_at`;

interface ExistingRow extends LeadFieldsRow {
  company_id: string;
  id: string;
  created_at: number;
  branch_id: string | null;
  department_id: string | null;
  status_value: string;
}

/** A lead as the batch leaves it. */
interface Draft {
  readonly companyId: string;
  readonly id: string;
  place: Place;
  fields: LeadFields;
  /** The time that history wants. */
  readonly wantedAt: number | undefined;
  /** Undefined while it is not in the database, also if a trigger of the operator's has suppressed it. */
  stored: Stored | undefined;
}

interface Stored {
  readonly id: string;
  readonly createdAt: number;
}

/** A lead on its way in that has an id. */
export type IdentifiedLead = LeadInput & { readonly id: string };

/** Adds and updates leads. The transaction holds the locks of their companies, and has said whether the leads are history. */
export async function writeBatch(
  session: Session,
  leads: readonly IdentifiedLead[],
  historical: boolean,
): Promise<readonly LeadResult[]> {
  const batch = await Batch.begin(session, leads);
  const outcomes = leads.map((lead) => batch.take(lead, historical));
  await batch.save(session);
  return outcomes.map(toResult);
}

type Outcome = Extract<LeadResult, { kind: 'rejected' }> | { kind: 'added' | 'updated'; draft: Draft };

function toResult(outcome: Outcome): LeadResult {
  if (outcome.kind === 'rejected') return outcome;
  const { kind, draft } = outcome;
  if (!draft.stored)
    return { kind: 'rejected', problem: { field: 'id', reason: 'not-stored', value: draft.id } };
  return { kind, ...draft.stored };
}

/** What a batch finds and what it leaves. A lead that comes twice in it is added once, and changed before it is written. */
class Batch {
  readonly #places: KnownPlaces;
  readonly #drafts: Map<string, Draft>;
  readonly #added = new Set<Draft>();
  readonly #changed = new Set<Draft>();

  private constructor(places: KnownPlaces, existing: readonly ExistingRow[]) {
    this.#places = places;
    this.#drafts = new Map(existing.map((row) => [idInCompany(row.company_id, row.id), toDraft(row)]));
  }

  static async begin(session: Session, leads: readonly IdentifiedLead[]): Promise<Batch> {
    const places = await KnownPlaces.read(session, leads);
    const existing = await session.query<ExistingRow>(
      FIND,
      namedBy(leads, ({ id }) => id),
    );
    return new Batch(places, existing);
  }

  take(lead: IdentifiedLead, historical: boolean): Outcome {
    const { companyId, id } = lead;
    if (!this.#places.hasCompany(companyId))
      return { kind: 'rejected', problem: { field: 'companyId', reason: 'unknown', value: companyId } };
    const known = this.#drafts.get(idInCompany(companyId, id));
    const placed = resolvePlace(lead, known?.place, this.#places);
    if ('problem' in placed) return { kind: 'rejected', problem: placed.problem };
    if (known) return this.#change(known, placed.place, lead.fields);
    const wantedAt = historical ? lead.createdAt : undefined;
    const fields = { ...DEFAULT_LEAD_FIELDS, ...lead.fields };
    const draft: Draft = { companyId, id, place: placed.place, fields, wantedAt, stored: undefined };
    this.#drafts.set(idInCompany(companyId, id), draft);
    this.#added.add(draft);
    return { kind: 'added', draft };
  }

  #change(draft: Draft, place: Place, fields: Partial<LeadFields>): Outcome {
    draft.place = place;
    draft.fields = { ...draft.fields, ...fields };
    if (!this.#added.has(draft)) this.#changed.add(draft);
    return { kind: 'updated', draft };
  }

  async save(session: Session): Promise<void> {
    if (this.#changed.size > 0) await session.query(UPDATE, [toJson([...this.#changed])]);
    if (this.#added.size === 0) return;
    const added = [...this.#added];
    const rows = await session.query<ExistingRow>(INSERT, [toJson(added)]);
    for (const [index, { company_id, id, created_at: createdAt }] of rows.entries()) {
      // A trigger of the operator's may have changed the company or the id; if all rows are there, they are in order.
      const draft =
        rows.length === added.length ? added[index] : this.#drafts.get(idInCompany(company_id, id));
      if (draft) draft.stored = { id, createdAt };
    }
  }
}

const toDraft = (row: ExistingRow): Draft => ({
  companyId: row.company_id,
  id: row.id,
  place: { branchId: row.branch_id, departmentId: row.department_id, statusValue: row.status_value },
  fields: toLeadFields(row),
  wantedAt: undefined,
  stored: { id: row.id, createdAt: row.created_at },
});

const toJson = (drafts: readonly Draft[]): string =>
  JSON.stringify(
    drafts.map(({ companyId, id, place, fields, wantedAt }) => ({
      company_id: companyId,
      id,
      created_at: wantedAt ?? null,
      branch_id: place.branchId,
      department_id: place.departmentId,
      status_value: place.statusValue,
      ...toLeadFieldsRow(fields),
    })),
  );
