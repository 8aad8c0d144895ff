/** Which users would get how many of the new leads of a dry run. */

import type { AccessLevel } from '../../accounts/records.ts';
import type { NewLeads } from '../../import/dry-run.ts';
import { isInScope, pollScopeOf } from '../../leads/access.ts';
import type { LeadScope } from '../../leads/record.ts';
import type { Store } from '../../store/store.ts';
import { userPages } from '../accounts/organisation.ts';
import { type Output, Table } from '../output.ts';

/** The users of one access level at one place, who all see the same leads. */
interface Audience {
  readonly accessLevel: AccessLevel;
  readonly branchId: string | null;
  readonly departmentId: string | null;
  users: number;
  /** The new leads that each of them would get. */
  readonly leads: number;
}

export interface Delivery {
  readonly companyId: string;
  readonly newLeads: number;
  readonly audiences: readonly Audience[];
}

const LEVELS: readonly AccessLevel[] = ['COMPANY', 'BRANCH', 'DEPARTMENT'];

const countLeads = (newLeads: readonly NewLeads[]): number =>
  newLeads.reduce((sum, { count }) => sum + count, 0);

const leadsInScope = (scope: LeadScope, newLeads: readonly NewLeads[]): number =>
  countLeads(newLeads.filter((place) => isInScope(scope, place)));

const byLevel = (a: Audience, b: Audience): number =>
  LEVELS.indexOf(a.accessLevel) - LEVELS.indexOf(b.accessLevel) || b.leads - a.leads;

/** Reads all users once, unless all leads are of one company. */
export async function findDeliveries(
  store: Store,
  newLeads: readonly NewLeads[],
  signal: AbortSignal,
): Promise<Delivery[]> {
  const companyIds = [...new Set(newLeads.map(({ companyId }) => companyId))];
  if (companyIds.length === 0) return [];
  const audiences = new Map<string, Map<string, Audience>>(companyIds.map((id) => [id, new Map()]));
  for await (const users of userPages(store, signal, companyIds.length === 1 ? companyIds[0] : undefined))
    for (const user of users) {
      const scope = pollScopeOf(user);
      const ofCompany = audiences.get(user.companyId);
      if (!scope || !ofCompany) continue;
      const { accessLevel, branchId, departmentId } = user;
      const key = JSON.stringify(scope);
      const known = ofCompany.get(key);
      if (known) known.users += 1;
      else {
        const leads = leadsInScope(scope, newLeads);
        ofCompany.set(key, { accessLevel, branchId, departmentId, users: 1, leads });
      }
    }
  return companyIds.map((companyId) => ({
    companyId,
    newLeads: countLeads(newLeads.filter((place) => place.companyId === companyId)),
    audiences: [...(audiences.get(companyId)?.values() ?? [])].filter(({ leads }) => leads > 0).sort(byLevel),
  }));
}

const HEADINGS = ['COMPANY', 'NEW LEADS', 'ACCESS', 'PLACE', 'USERS', 'LEADS FOR EACH'];

export async function printDeliveries(deliveries: readonly Delivery[], stdout: Output): Promise<void> {
  const table = new Table(stdout, HEADINGS);
  for (const { companyId, newLeads, audiences } of deliveries) {
    const rows = audiences.map(({ accessLevel, branchId, departmentId, users, leads }) => {
      const place = accessLevel === 'DEPARTMENT' ? departmentId : branchId;
      return [companyId, `${newLeads}`, accessLevel, place, `${users}`, `${leads}`];
    });
    await table.add(rows.length > 0 ? rows : [[companyId, `${newLeads}`, null, null, '0', '0']]);
  }
}
