/** Stands in for the store in an import that writes nothing, and counts which leads would be new. */
import { hash } from 'node:crypto';
import { idInCompany } from '../accounts/records.ts';
import type { LeadPlace } from '../leads/placement.ts';
import type { LeadInput } from '../leads/record.ts';
import type {
  LeadResult,
  PlacementProblem,
  PlannedLead,
  WriteOptions,
  WriteOutcome,
} from '../leads/store.ts';
import type { Store } from '../store/store.ts';

/** About 60 bytes for each. A lead that comes again after more new ids than this is counted as new. */
const MAX_REMEMBERED_IDS = 5_000_000;

export interface PlaceCount {
  readonly place: LeadPlace;
  readonly count: number;
}

const keyOf = ({ companyId }: LeadInput, id: string): string =>
  hash('sha256', idInCompany(companyId, id), 'base64url').slice(0, 12);

type PlanningStore = Pick<Store, 'planLeads' | 'findPlacementProblems'>;
type FindProblems = NonNullable<PlanningStore['findPlacementProblems']>;

export class DryRun {
  readonly #store: PlanningStore;
  /** Hashes of the new ids so far, because an id that comes again is an update. */
  readonly #newIds = new Set<string>();
  /** The new leads by company, then by place. */
  readonly #newLeads = new Map<string, Map<string, { readonly place: LeadPlace; count: number }>>();

  constructor(store: PlanningStore) {
    this.#store = store;
  }

  async writeLeads(leads: readonly LeadInput[], options?: WriteOptions): Promise<WriteOutcome> {
    const plans = await this.#store.planLeads(leads, options);
    const results = leads.map((lead, index) => this.#count(lead, plans[index]));
    return { kind: 'written', results };
  }

  async findPlacementProblems(
    ...[leads, ...options]: Parameters<FindProblems>
  ): Promise<readonly (readonly PlacementProblem[])[]> {
    return (await this.#store.findPlacementProblems?.(leads, ...options)) ?? leads.map(() => []);
  }

  /** The new leads of each company by their places. */
  get newLeads(): ReadonlyMap<string, readonly PlaceCount[]> {
    return new Map([...this.#newLeads].map(([companyId, places]) => [companyId, [...places.values()]]));
  }

  #count(lead: LeadInput, plan: PlannedLead | undefined): LeadResult {
    if (plan === undefined) throw new Error('the store returned fewer plans than it was given leads');
    // An earlier line of the file adds the lead that this one updates.
    const isAddedBefore = lead.onlyUpdate && lead.id !== undefined && this.#newIds.has(keyOf(lead, lead.id));
    if (plan.kind === 'rejected' && plan.problem.reason === 'no-content' && isAddedBefore)
      return { kind: 'updated', id: lead.id, createdAt: 0 };
    if (plan.kind === 'rejected') return plan;
    const kind = plan.kind === 'added' && this.#isNew(lead) ? 'added' : 'updated';
    if (kind === 'added') this.#add(lead.companyId, plan);
    return { kind, id: lead.id ?? '', createdAt: lead.createdAt ?? 0 };
  }

  #isNew(lead: LeadInput): boolean {
    if (lead.id === undefined) return true;
    const key = keyOf(lead, lead.id);
    if (this.#newIds.has(key)) return false;
    if (this.#newIds.size < MAX_REMEMBERED_IDS) this.#newIds.add(key);
    return true;
  }

  #add(companyId: string, { branchId, departmentId }: LeadPlace): void {
    const places = this.#newLeads.get(companyId) ?? new Map<string, { place: LeadPlace; count: number }>();
    this.#newLeads.set(companyId, places);
    const key = JSON.stringify([branchId, departmentId]);
    const counted = places.get(key);
    if (counted) counted.count += 1;
    else places.set(key, { place: { branchId, departmentId }, count: 1 });
  }
}
