/** The order and the steps in which leads are listed over all companies. */
import { AFTER_ALL_MS } from '../sql/sql.ts';
import type { StoredLead } from './record.ts';
import type { LeadListQuery } from './store.ts';

/** The parts of SQL that differ between the two orders. */
export interface ListOrder {
  readonly direction: 'ASC' | 'DESC';
  readonly after: '>' | '<';
  readonly upTo: '<=' | '>=';
  /** Of a time: the one before it, in milliseconds. What is after that has the same time, or is after it. */
  readonly oneBack: '- 1' | '+ 1';
  /** Of several times, the one that comes first. */
  readonly nearest: 'min' | 'max';
}

export const OLDEST_FIRST: ListOrder = {
  direction: 'ASC',
  after: '>',
  upTo: '<=',
  oneBack: '- 1',
  nearest: 'min',
};
export const NEWEST_FIRST: ListOrder = {
  direction: 'DESC',
  after: '<',
  upTo: '>=',
  oneBack: '+ 1',
  nearest: 'max',
};

/**
 * How many leads of each company the first step reads at most. Each further step reads more: a company with most of the leads would
 * need many steps, and each of them reads every company.
 */
const FIRST_LOOKAHEAD = 32;
const LOOKAHEAD_GROWTH = 4;

/** The parameters of one query. */
export interface ListStep {
  /** Company and time of the last lead before. The company is null for the first page. */
  readonly afterCompany: string | null;
  readonly afterTime: number;
  readonly limit: number;
  /** The query reads at most this many leads of each company, and one more. Null: no bound. */
  readonly lookahead: number | null;
}

const toStep = (
  { companyId, since }: LeadListQuery,
  after: LeadListQuery['after'],
  limit: number,
  lookahead: number,
): ListStep => ({
  afterCompany: after?.companyId ?? null,
  afterTime: after?.createdAt ?? since ?? AFTER_ALL_MS,
  limit,
  lookahead: companyId === undefined && limit > lookahead ? lookahead : null,
});

export const firstStep = (query: LeadListQuery): ListStep | undefined =>
  query.limit > 0 ? toStep(query, query.after, query.limit, FIRST_LOOKAHEAD) : undefined;

/** The step after one that has left the page with these leads; undefined if the page is complete. */
export function nextStep(
  { afterTime, afterCompany, lookahead }: ListStep,
  query: LeadListQuery,
  leads: readonly StoredLead[],
): ListStep | undefined {
  const last = leads.at(-1);
  const limit = query.limit - leads.length;
  if (last === undefined || lookahead === null || limit <= 0) return undefined;
  const after = { companyId: last.companyId, createdAt: last.lead.createdAt };
  const isEmptyStep = after.createdAt === afterTime && after.companyId === afterCompany;
  return isEmptyStep ? undefined : toStep(query, after, limit, lookahead * LOOKAHEAD_GROWTH);
}
