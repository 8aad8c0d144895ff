import type { Places } from '../placement.ts';
import type { LeadInput } from '../records.ts';
import type { Session } from './connection.ts';
import { idInCompany } from './loaded-table.ts';

/** The companies of a batch and the places that its leads name, read at once under the locks of the companies. */
export class KnownPlaces implements Places {
  readonly #statusesOf: ReadonlyMap<string, readonly string[]>;
  readonly #branches: ReadonlySet<string>;
  readonly #branchOf: ReadonlyMap<string, string>;

  private constructor(
    statusesOf: ReadonlyMap<string, readonly string[]>,
    branches: ReadonlySet<string>,
    branchOf: ReadonlyMap<string, string>,
  ) {
    this.#statusesOf = statusesOf;
    this.#branches = branches;
    this.#branchOf = branchOf;
  }

  static async read(session: Session, leads: readonly LeadInput[]): Promise<KnownPlaces> {
    const companies = await session.query<{ id: string; statuses: string[] }>(
      `SELECT c.id, array(SELECT s.value::text FROM leadtap.statuses AS s WHERE s.company_id = c.id
                           ORDER BY s.position) AS statuses
         FROM leadtap.companies AS c WHERE c.id = ANY ($1)`,
      [companiesOf(leads)],
    );
    const branches = await session.query<{ company_id: string; id: string }>(
      `SELECT company_id, id FROM leadtap.branches
        WHERE (company_id, id) IN (SELECT * FROM unnest($1::text[], $2::text[]))`,
      namedBy(leads, ({ branchId }) => branchId),
    );
    const departments = await session.query<{ company_id: string; id: string; branch_id: string }>(
      `SELECT company_id, id, branch_id FROM leadtap.departments
        WHERE (company_id, id) IN (SELECT * FROM unnest($1::text[], $2::text[]))`,
      namedBy(leads, ({ departmentId }) => departmentId),
    );
    return new KnownPlaces(
      new Map(companies.map(({ id, statuses }) => [id, statuses])),
      new Set(branches.map(({ company_id, id }) => idInCompany(company_id, id))),
      new Map(departments.map(({ company_id, id, branch_id }) => [idInCompany(company_id, id), branch_id])),
    );
  }

  hasCompany(companyId: string): boolean {
    return this.#statusesOf.has(companyId);
  }

  statusValues(companyId: string): readonly string[] {
    return this.#statusesOf.get(companyId) ?? [];
  }

  hasBranch(companyId: string, branchId: string): boolean {
    return this.#branches.has(idInCompany(companyId, branchId));
  }

  branchOfDepartment(companyId: string, departmentId: string): string | undefined {
    return this.#branchOf.get(idInCompany(companyId, departmentId));
  }
}

export const companiesOf = (leads: readonly LeadInput[]): string[] => [
  ...new Set(leads.map(({ companyId }) => companyId)),
];

/** Pairs of a company and what its leads name there, as two columns. */
export function namedBy(
  leads: readonly LeadInput[],
  nameOf: (lead: LeadInput) => string | null | undefined,
): [string[], string[]] {
  const pairs = new Map<string, [string, string]>();
  for (const lead of leads) {
    const name = nameOf(lead);
    if (name != null) pairs.set(idInCompany(lead.companyId, name), [lead.companyId, name]);
  }
  return [[...pairs.values()].map(([company]) => company), [...pairs.values()].map(([, name]) => name)];
}
