import type { Client, History, Page, SeenLead, StoredLead, Write } from './history.ts';

/** Histories for tests of the judge. Times are small numbers; positions are given by hand. */

const TIME_0 = Date.parse('2026-03-02T09:30:00.000Z');
export const time = (ms: number): number => TIME_0 + ms;

export const client = (memory: Client['memory'], level: Client['scope']['level'] = 'COMPANY'): Client => ({
  name: `${level} ${memory}`,
  profile: memory,
  memory,
  scope: { companyId: 'acme', level },
});

const SALES = { branchId: 'north', departmentId: 'sales' };

export interface MadeUpWrite {
  readonly id?: string;
  /** Null: the lead is deleted. */
  readonly version?: string | null;
  readonly at?: number;
  readonly begun: number;
  readonly acknowledged?: number | undefined;
  readonly settled?: number;
  readonly place?: { readonly branchId: string | null; readonly departmentId: string | null };
  readonly isHistorical?: boolean;
  readonly isReinserted?: boolean;
}

export function write(made: MadeUpWrite): Write {
  const { id = 'a', version = 'v1', begun, place = SALES, isHistorical = false, isReinserted = false } = made;
  return {
    companyId: 'acme',
    id,
    state: version === null ? undefined : { ...place, version },
    createdAt: made.at === undefined ? undefined : time(made.at),
    isHistorical,
    isReinserted,
    begun,
    acknowledged: 'acknowledged' in made ? made.acknowledged : begun + 1,
    ...(made.settled !== undefined && { settled: made.settled }),
  };
}

export const seen = (id: string, version: string, at: number, changes: Partial<SeenLead> = {}): SeenLead => ({
  id,
  version,
  createdAt: time(at),
  triggerId: `trigger ${id} ${at}`,
  automationCreatedAt: new Date(time(at)).toISOString(),
  ...changes,
});

export interface MadeUpPage {
  readonly client?: Client;
  readonly begun: number;
  readonly ended?: number;
  readonly since?: number | null;
  readonly limit?: number;
  readonly date?: number;
  readonly leads?: readonly SeenLead[];
}

/** From the beginning of time, unless `since` is null: then the newest leads. */
export function page(made: MadeUpPage): Page {
  const { begun, ended = begun + 1, since = -1, limit = 100, date = -1000, leads = [] } = made;
  return {
    client: made.client ?? client('createdAt'),
    begun,
    ended,
    since: since === null ? undefined : time(since),
    limit,
    date: time(date),
    leads,
  };
}

/** What is stored at the end is what the last writes leave, unless it is given. */
export function history(
  writes: readonly Write[],
  pages: readonly Page[],
  changes: Partial<History> = {},
): History {
  const stored = new Map<string, StoredLead>();
  for (const { companyId, id, state, createdAt = 0 } of writes)
    if (state) stored.set(id, { companyId, id, version: state.version, createdAt });
    else stored.delete(id);
  return {
    writes,
    pages,
    stored: [...stored.values()],
    clockSetBackAt: undefined,
    complaints: [],
    ...changes,
  };
}
