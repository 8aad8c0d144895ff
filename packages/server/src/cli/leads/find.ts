/** How the commands for leads find them: by company and time, or by id. */
import { InvalidArgumentError } from 'commander';
import { parseInstant } from '../../leads/instant.ts';
import type { StoredLead } from '../../leads/record.ts';
import { toWire } from '../../leads/render.ts';
import type { LeadListQuery } from '../../leads/store.ts';
import { toDurationMs } from '../../lib/clock.ts';
import { pagesOf } from '../../lib/pages.ts';
import type { Store } from '../../store/store.ts';
import { findCompany } from '../accounts/organisation.ts';
import { Failure } from '../exit.ts';

/** A time, or a time span up to now. */
export function parseSince(text: string, now: number): number {
  const spanMs = toDurationMs(text);
  const since = spanMs === undefined ? parseInstant(text) : now - spanMs;
  if (since !== undefined) return since;
  throw new InvalidArgumentError(
    'Write a time such as 2026-03-02T09:30:00Z or 2026-03-02, or a time span such as 30m, 12h or 7d.',
  );
}

const LEADS_PER_PAGE = 500;

/** Page by page, so that any number of leads fits into memory. Without a company, pages are of all companies, in the order of time. */
export const leadPages = (
  store: Store,
  query: Pick<LeadListQuery, 'companyId' | 'since'>,
  signal: AbortSignal,
): AsyncGenerator<readonly StoredLead[]> =>
  pagesOf<StoredLead>(LEADS_PER_PAGE, (last, limit) => {
    signal.throwIfAborted();
    const after = last && { companyId: last.companyId, createdAt: last.lead.createdAt };
    return store.listLeads({ ...query, limit, ...(after && { after }) });
  });

/** The only lead with this id. Throws if there is none, or if several companies have one. */
export async function findLead(store: Store, id: string, companyId: string | undefined): Promise<StoredLead> {
  if (companyId !== undefined) await findCompany(store, companyId);
  const found = await store.findLeads(id, companyId);
  checkFound(id, found, companyId);
  return found[0];
}

/** The same id in two companies may be two people. */
export function checkFound<Lead extends { readonly companyId: string }>(
  id: string,
  found: readonly Lead[],
  companyId: string | undefined,
): asserts found is readonly [Lead] {
  const [lead, ...others] = found;
  if (!lead)
    throw new Failure(
      'not-found',
      companyId === undefined ? `there is no lead ${id}` : `company ${companyId} has no lead ${id}`,
      '`leadtap leads list` shows the newest leads.',
    );
  if (others.length > 0)
    throw new Failure(
      'conflict',
      `${found.length} companies have a lead ${id}: ${found.map((one) => one.companyId).join(', ')}`,
      `Say which one you mean: --company ${lead.companyId}`,
    );
}

/** The lead as the API has it, and the ids of its places. */
export const toJsonLead = ({ lead, companyId, branchId, departmentId }: StoredLead) => ({
  ...toWire(lead),
  ...{ companyId, branchId, departmentId },
});
