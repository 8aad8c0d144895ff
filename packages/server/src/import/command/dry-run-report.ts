/** What a dry run prints: which users would get how many of the new leads. */

import { userPages } from '../../accounts/commands/organisation.ts';
import { type AccessLevel, PROFESSIONAL, type User } from '../../accounts/records.ts';
import type { CommandContext } from '../../cli/context.ts';
import { Table, writeLine } from '../../cli/output.ts';
import { pollScopeOf } from '../../leads/access.ts';
import { isInScope } from '../../leads/placement.ts';
import type { LeadScope } from '../../leads/record.ts';
import type { Store } from '../../store/store.ts';
import type { DryRun, PlaceCount } from '../dry-run.ts';
import type { ImportCounts } from '../import-leads.ts';

/** The users of one access level at one place, who all see the same leads. */
interface Audience {
  readonly accessLevel: AccessLevel;
  readonly branchId: string | null;
  readonly departmentId: string | null;
  users: number;
  /** The new leads that each of them would get. */
  readonly leads: number;
}

interface Delivery {
  readonly companyId: string;
  readonly newLeads: number;
  readonly audiences: readonly Audience[];
}

const LEVELS: readonly AccessLevel[] = ['COMPANY', 'BRANCH', 'DEPARTMENT'];

const sum = (counts: readonly PlaceCount[]): number => counts.reduce((total, { count }) => total + count, 0);

const leadsInScope = (scope: LeadScope, places: readonly PlaceCount[]): number =>
  sum(places.filter(({ place }) => isInScope(scope, place)));

const placeOf = (scope: LeadScope): string => {
  if (scope.level === 'COMPANY') return '';
  return scope.level === 'BRANCH' ? scope.branchId : scope.departmentId;
};

/** Adds the user to those of the same access level and place. */
function countUser(user: User, places: readonly PlaceCount[], audiences: Map<string, Audience>): void {
  const scope = pollScopeOf(user);
  if (scope === undefined) return;
  const key = JSON.stringify([scope.level, placeOf(scope)]);
  const { accessLevel, branchId, departmentId } = user;
  const known = audiences.get(key);
  if (known) known.users += 1;
  else
    audiences.set(key, { accessLevel, branchId, departmentId, users: 1, leads: leadsInScope(scope, places) });
}

const byLevel = (a: Audience, b: Audience): number =>
  LEVELS.indexOf(a.accessLevel) - LEVELS.indexOf(b.accessLevel) || b.leads - a.leads;

/** Reads all users once, unless all leads are of one company. */
async function findDeliveries(store: Store, dryRun: DryRun, signal: AbortSignal): Promise<Delivery[]> {
  const companies = [...dryRun.newLeads].map(([companyId, places]) => ({
    companyId,
    places,
    audiences: new Map<string, Audience>(),
  }));
  const [first, ...others] = companies;
  if (first === undefined) return [];
  const byId = new Map(companies.map((company) => [company.companyId, company]));
  const only = others.length === 0 ? first.companyId : undefined;
  for await (const users of userPages(store, signal, only))
    for (const user of users) {
      const company = byId.get(user.companyId);
      if (company) countUser(user, company.places, company.audiences);
    }
  return companies.map(({ companyId, places, audiences }) => ({
    companyId,
    newLeads: sum(places),
    audiences: [...audiences.values()].filter(({ leads }) => leads > 0).sort(byLevel),
  }));
}

export interface DryRunReport {
  readonly store: Store;
  readonly dryRun: DryRun;
  readonly counts: ImportCounts;
  readonly flags: { readonly historical?: true; readonly json?: true };
}

/** Prints who would get the leads. With `json` also the counts. */
export async function printDryRun(
  { store, dryRun, counts, flags }: DryRunReport,
  { stdout, stderr, signal }: CommandContext,
): Promise<void> {
  const { historical = false, json } = flags;
  const deliveries = historical ? [] : await findDeliveries(store, dryRun, signal);
  if (json) return writeLine(stdout, JSON.stringify({ dryRun: true, ...counts, deliveries }));
  if (deliveries.length > 0) await printDeliveries(deliveries, stdout);
  await writeLine(stderr, explain(deliveries, historical));
}

function explain(deliveries: readonly Delivery[], historical: boolean): string {
  const silent = deliveries.filter(({ audiences }) => audiences.length === 0);
  const ids = silent.map(({ companyId }) => companyId).join(', ');
  if (historical) return 'Dry run: nothing was written. Historical leads are not delivered as new.';
  if (deliveries.length === 0) return 'Dry run: nothing was written. No lead is new, so none is delivered.';
  const noUsers = `No user with the plan ${PROFESSIONAL} would get the leads of ${ids}.`;
  return ['Dry run: nothing was written.', ...(silent.length > 0 ? [noUsers] : [])].join(' ');
}

const HEADINGS = ['COMPANY', 'NEW LEADS', 'ACCESS', 'PLACE', 'USERS', 'LEADS FOR EACH'];

async function printDeliveries(
  deliveries: readonly Delivery[],
  stdout: CommandContext['stdout'],
): Promise<void> {
  const table = new Table(stdout, HEADINGS);
  for (const { companyId, newLeads, audiences } of deliveries) {
    const rows = audiences.map(({ accessLevel, branchId, departmentId, users, leads }) => {
      const place = accessLevel === 'DEPARTMENT' ? departmentId : branchId;
      return [companyId, `${newLeads}`, accessLevel, place, `${users}`, `${leads}`];
    });
    await table.add(rows.length > 0 ? rows : [[companyId, `${newLeads}`, null, null, '0', '0']]);
  }
}
