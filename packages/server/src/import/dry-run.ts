/** Stands in for the store in an import that writes nothing, and counts which leads would be new. */
import { hash } from 'node:crypto';
import { idInCompany } from '../accounts/records.ts';
import type { Place } from '../leads/access.ts';
import type { LeadInput } from '../leads/record.ts';
import type { LeadResult, PlannedLead, WriteOptions, WriteOutcome } from '../leads/store.ts';
import type { Store } from '../store/store.ts';

/** About 60 bytes for each. A lead that comes again after more new ids than this is counted as new. */
const MAX_REMEMBERED_IDS = 5_000_000;

/** The new leads of a company at one place. */
export interface NewLeads extends Place {
  readonly count: number;
}

const hashId = ({ companyId }: LeadInput, id: string): string =>
  hash('sha256', idInCompany(companyId, id), 'base64url').slice(0, 12);

type PlanningStore = Pick<Store, 'planLeads' | 'findPlacementProblems'>;

export class DryRun {
  readonly #store: PlanningStore;
  /** Hashes of the new ids so far, because an id that comes again is an update. */
  readonly #newIds = new Set<string>();
  readonly #newLeads = new Map<string, NewLeads>();

  constructor(store: PlanningStore) {
    this.#store = store;
  }

  get newLeads(): readonly NewLeads[] {
    return [...this.#newLeads.values()];
  }

  async writeLeads(leads: readonly LeadInput[], options?: WriteOptions): Promise<WriteOutcome> {
    const plans = await this.#store.planLeads(leads, options);
    const results = leads.map((lead, index) => this.#count(lead, plans[index]));
    return { kind: 'written', results };
  }

  readonly findPlacementProblems: PlanningStore['findPlacementProblems'] = (...leads) =>
    this.#store.findPlacementProblems(...leads);

  #count(lead: LeadInput, plan: PlannedLead | undefined): LeadResult {
    if (plan === undefined) throw new Error('the store returned fewer plans than it was given leads');
    // An earlier line of the file may add the lead that this one updates.
    const isAddedBefore = lead.id !== undefined && this.#newIds.has(hashId(lead, lead.id));
    const needsContent = plan.kind === 'rejected' && plan.problem.reason === 'no-content';
    if (plan.kind === 'rejected' && !(needsContent && isAddedBefore)) return plan;
    const isNew = plan.kind === 'added' && !isAddedBefore;
    if (isNew) this.#addNew(lead, plan);
    return { kind: isNew ? 'added' : 'updated', id: lead.id ?? '', createdAt: lead.createdAt ?? 0 };
  }

  #addNew(lead: LeadInput, { branchId, departmentId }: Omit<Place, 'companyId'>): void {
    const { companyId, id } = lead;
    if (id !== undefined && this.#newIds.size < MAX_REMEMBERED_IDS) this.#newIds.add(hashId(lead, id));
    const key = JSON.stringify([companyId, branchId, departmentId]);
    const count = (this.#newLeads.get(key)?.count ?? 0) + 1;
    this.#newLeads.set(key, { companyId, branchId, departmentId, count });
  }
}
