import { uuidV7 } from '../../uuid.ts';
import { placeKey } from '../place-key.ts';
import type { LeadInput } from '../records.ts';
import type { Session } from './connection.ts';
import { HistoryTimes } from './history-times.ts';
import { type Field, rowsLiteral, textsLiteral } from './literals.ts';
import { idInCompany } from './loaded-table.ts';

const ADD = 'SELECT company_id, id, created_at, ahead_ms FROM leadtap.add_leads($1, $2)';

/** A lead on its way in that has an id. */
export type IdentifiedLead = LeadInput & { readonly id: string };

/** What `leadtap.add_leads` gives for each lead that it has added. */
export interface AddedRow {
  readonly company_id: string;
  readonly id: string;
  readonly created_at: number;
  /** How far it is ahead of the clock. */
  readonly ahead_ms: number;
}

/**
 * Adds those leads that are new and in their place, all in one statement, under the locks of their companies. Gives a row
 * for each of them, in the order of all leads, and undefined for the others.
 */
export async function addNewLeads(
  session: Session,
  leads: readonly IdentifiedLead[],
  historical: boolean,
): Promise<(AddedRow | undefined)[]> {
  const keys = leads.map(({ companyId, id }) => idInCompany(companyId, id));
  const places = new Places();
  const rows = rowsOf(firstOfEach(leads, keys), places, historical);
  const added = await session.query<AddedRow>(ADD, [rowsLiteral(places.rows), rowsLiteral(rows)]);
  const addedByKey = new Map(added.map((row) => [idInCompany(row.company_id, row.id), row]));
  return keys.map((key) => {
    const row = addedByKey.get(key);
    // The same lead again is a change of the one before.
    addedByKey.delete(key);
    return row;
  });
}

const firstOfEach = (
  leads: readonly IdentifiedLead[],
  keys: readonly string[],
): readonly IdentifiedLead[] => {
  const seen = new Set<string>();
  return leads.filter((_lead, index) => seen.size < seen.add(keys[index] ?? '').size);
};

function rowsOf(leads: readonly IdentifiedLead[], places: Places, historical: boolean): Field[][] {
  const madeAt = Date.now();
  const history = new HistoryTimes();
  const times = leads.map(({ companyId, createdAt }) =>
    historical && createdAt !== undefined ? history.take(companyId, createdAt) : null,
  );
  const runOf = history.numberRuns();
  return leads.map((lead, index) => {
    const time = times[index] ?? null;
    const run = time === null ? null : runOf(lead.companyId, time);
    return [places.numberOf(lead), lead.id, time, run, ...contentOf(lead), null, uuidV7(madeAt), null];
  });
}

/** In the order of `leadtap.new_lead`. */
const contentOf = ({ fields }: IdentifiedLead): Field[] => [
  fields.firstName ?? null,
  fields.lastName ?? null,
  fields.fullName ?? null,
  fields.phone1 ?? null,
  fields.phone2 ?? null,
  fields.email ?? null,
  fields.address ?? null,
  fields.postalCode ?? null,
  fields.addressNotes ?? null,
  fields.appointmentDateTime ?? null,
  fields.timeslot ?? null,
  fields.customFields ? JSON.stringify(fields.customFields) : null,
  fields.images ? textsLiteral(fields.images) : null,
  fields.sameDay ?? null,
];

/** The places that the leads of a batch name: each is sent and looked for once. */
class Places {
  readonly rows: Field[][] = [];
  readonly #numbers = new Map<string, number>();

  /** From 1. */
  numberOf({ companyId, branchId, departmentId, statusValue }: LeadInput): number {
    const key = placeKey(companyId, branchId, departmentId, statusValue);
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const number = this.rows.push([companyId, branchId ?? null, departmentId ?? null, statusValue ?? null]);
    this.#numbers.set(key, number);
    return number;
  }
}
