import { idInCompany } from '../../accounts/records.ts';
import type { Place, Places, StatusName } from '../../leads/placement.ts';
import type { LeadInput } from '../../leads/record.ts';
import { hashErasedId } from '../../leads/removal.ts';
import type { Session } from './connection.ts';

const FIND_PLACES_OF_LEADS = `SELECT company_id, id, branch_id, department_id, status_value FROM leadtap.leads
  WHERE (company_id, id) IN (SELECT * FROM unnest($1::text[], $2::text[]))`;

/** Takes two columns of keys, as toKeyColumns makes them; the ids are hashed. */
const ERASED_KEYS = '(company_id, id_hash) IN (SELECT * FROM unnest($1::text[], $2::text[]))';
const FIND_ERASED = `SELECT company_id, id_hash FROM leadtap.erased_leads WHERE ${ERASED_KEYS}`;
const FORGET_ERASED = `DELETE FROM leadtap.erased_leads WHERE ${ERASED_KEYS}`;

export interface PlacedRow {
  company_id: string;
  id: string;
  branch_id: string | null;
  department_id: string | null;
  status_value: string;
}

/** By company and id: the places of those leads that exist. */
export async function readPlacesOfLeads(
  session: Session,
  leads: readonly LeadInput[],
): Promise<ReadonlyMap<string, Place>> {
  const ids = toKeyColumns(leads, ({ id }) => id);
  const rows = await session.query<PlacedRow>(FIND_PLACES_OF_LEADS, ids);
  return new Map(rows.map((row) => [idInCompany(row.company_id, row.id), toPlace(row)]));
}

export const toPlace = (row: PlacedRow): Place => ({
  branchId: row.branch_id,
  departmentId: row.department_id,
  statusValue: row.status_value,
});

type ReadPlaces = Places & {
  /** Whether the company has erased leads at all. Nearly none has, and then no further query is needed. */
  hasErased(companyId: string): boolean;
};

/** The companies of the leads, and the branches and departments that the leads name. */
export async function readPlaces(session: Session, leads: readonly LeadInput[]): Promise<ReadPlaces> {
  const companies = await session.query<{ id: string; statuses: StatusName[]; hasErased: boolean }>(
    `SELECT c.id, (SELECT coalesce(json_agg(json_build_object('value', s.value, 'label', s.label) ORDER BY s.position), '[]')
                     FROM leadtap.statuses AS s WHERE s.company_id = c.id) AS statuses,
            EXISTS (SELECT FROM leadtap.erased_leads AS e WHERE e.company_id = c.id) AS "hasErased"
       FROM leadtap.companies AS c WHERE c.id = ANY ($1)`,
    [companiesOf(leads)],
  );
  const branches = await session.query<{ company_id: string; id: string }>(
    `SELECT company_id, id FROM leadtap.branches
      WHERE (company_id, id) IN (SELECT * FROM unnest($1::text[], $2::text[]))`,
    toKeyColumns(leads, ({ branchId }) => branchId),
  );
  const departments = await session.query<{ company_id: string; id: string; branch_id: string }>(
    `SELECT company_id, id, branch_id FROM leadtap.departments
      WHERE (company_id, id) IN (SELECT * FROM unnest($1::text[], $2::text[]))`,
    toKeyColumns(leads, ({ departmentId }) => departmentId),
  );
  const statusesOf = new Map(companies.map(({ id, statuses }) => [id, statuses]));
  const withErased = new Set(companies.filter(({ hasErased }) => hasErased).map(({ id }) => id));
  const branchIds = new Set(branches.map(({ company_id, id }) => idInCompany(company_id, id)));
  const branchOf = new Map(
    departments.map(({ company_id, id, branch_id }) => [idInCompany(company_id, id), branch_id]),
  );
  return {
    hasCompany: (companyId) => statusesOf.has(companyId),
    statuses: (companyId) => statusesOf.get(companyId) ?? [],
    hasBranch: (companyId, branchId) => branchIds.has(idInCompany(companyId, branchId)),
    branchOfDepartment: (companyId, departmentId) => branchOf.get(idInCompany(companyId, departmentId)),
    hasErased: (companyId) => withErased.has(companyId),
  };
}

/** The leads, by company and id, that were erased. One that exists all the same is an update, and not looked up here. */
export async function readErased(
  session: Session,
  leads: readonly LeadInput[],
  { hasErased }: ReadPlaces,
): Promise<ReadonlySet<string>> {
  const hashed = leads.flatMap(({ companyId, id }) =>
    id !== undefined && hasErased(companyId) ? [{ companyId, id, hash: hashErasedId(id) }] : [],
  );
  if (hashed.length === 0) return new Set();
  const rows = await session.query<{ company_id: string; id_hash: string }>(
    FIND_ERASED,
    toKeyColumns(hashed, ({ hash }) => hash),
  );
  const found = new Set(rows.map(({ company_id, id_hash }) => idInCompany(company_id, id_hash)));
  return new Set(
    hashed
      .filter(({ companyId, hash }) => found.has(idInCompany(companyId, hash)))
      .map(({ companyId, id }) => idInCompany(companyId, id)),
  );
}

/** Leads that were erased and are written again. */
export async function forgetErased(
  session: Session,
  leads: readonly { readonly companyId: string; readonly id: string }[],
): Promise<void> {
  if (leads.length === 0) return;
  await session.query(
    FORGET_ERASED,
    toKeyColumns(leads, ({ id }) => hashErasedId(id)),
  );
}

export const companiesOf = (leads: readonly LeadInput[]): string[] => [
  ...new Set(leads.map(({ companyId }) => companyId)),
];

/** The distinct pairs of a company and an id, as two columns for `unnest`. */
export function toKeyColumns<Lead extends { readonly companyId: string }>(
  leads: readonly Lead[],
  idOf: (lead: Lead) => string | null | undefined,
): [string[], string[]] {
  const pairs = new Map<string, [string, string]>();
  for (const lead of leads) {
    const id = idOf(lead);
    if (id != null) pairs.set(idInCompany(lead.companyId, id), [lead.companyId, id]);
  }
  return [[...pairs.values()].map(([company]) => company), [...pairs.values()].map(([, id]) => id)];
}
