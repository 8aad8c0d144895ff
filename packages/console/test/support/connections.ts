import type {
  ConnectionLevel,
  ConnectionLog,
  Connections,
  InConnection,
  LeadConnections,
  OutConnection,
} from '@leadtap/contract';
import type { Page, Request } from 'playwright-core';

const HOUR_MS = 3_600_000;
export const iso = (ms: number): string => new Date(ms).toISOString();
const TIME = iso(Date.UTC(2026, 0));

/** 24 hours up to now: `leads` and `failed` by the number of the hour, 23 is the current one. Those of `unknown` are not known. */
export const hours = (
  leads: Readonly<Record<number, number>> = {},
  failed: Readonly<Record<number, number>> = {},
  unknown: readonly number[] = [],
): OutConnection['hours'] =>
  Array.from({ length: 24 }, (_, index) => ({
    at: iso((Math.floor(Date.now() / HOUR_MS) - 23 + index) * HOUR_MS),
    leads: leads[index] ?? 0,
    failed: failed[index] ?? 0,
    known: !unknown.includes(index),
  }));

const shared = (name: string, level: ConnectionLevel, message: string) => ({
  ...{ id: name.toLowerCase().replace(/\W+/g, '-'), name, userId: 'boss', level, message },
  ...({ fix: null, action: null, state: 'working', stateSince: null, lastAt: TIME } as const),
  ...{ tokenExpiresAt: null, hours: hours() },
});

export const wayIn = (
  name: string,
  level: ConnectionLevel,
  message: string,
  others: Partial<InConnection> = {},
): InConnection => ({
  ...shared(name, level, message),
  ...{ source: 'token', lastLeadAt: TIME, added: 0, updated: 0, held: 0, lost: 0 },
  ...others,
});

export const wayOut = (
  name: string,
  level: ConnectionLevel,
  message: string,
  others: Partial<OutConnection> = {},
): OutConnection => ({
  ...shared(name, level, message),
  ...{ kind: 'poll', host: null, sent: 0, waiting: 0, waitingSince: null, missed: 0, endedAt: null },
  ...others,
});

export const WEBHOOK = { kind: 'webhook', host: 'crm.example.com' } as const;

/** The sentence, and all ways in and out. */
export const connections = (
  level: ConnectionLevel,
  message: string,
  all: Partial<Pick<Connections, 'in' | 'out'>> = {},
): Connections => ({ since: TIME, level, message, leads: 41, in: [], out: [], ...all });

/** In place of what the service says, for situations that would need failing platforms or hours. */
export const answerConnections = (page: Page, read: () => Connections) =>
  page.route('**/automation/connections', (route) => route.fulfill({ json: read() }));

export const answerLead = (page: Page, read: (id: string) => LeadConnections['out']) =>
  page.route('**/automation/connections?lead=*', (route) => {
    const lead = new URL(route.request().url()).searchParams.get('lead') ?? '';
    return route.fulfill({ json: { lead, out: read(lead) } satisfies LeadConnections });
  });

export const answerLog = (page: Page, read: (limit: number) => ConnectionLog) =>
  page.route('**/automation/connections/*/log?*', (route) =>
    route.fulfill({ json: read(Number(new URL(route.request().url()).searchParams.get('limit'))) }),
  );

/** The changes that the page asks for: `POST crm/send {"missed":true}`. */
export async function recordChanges(page: Page, status = 204, problem?: object): Promise<string[]> {
  const changes: string[] = [];
  await page.route(/\/automation\/connections\/[^?]+$/, (route) => {
    const request = route.request();
    if (request.method() === 'GET') return route.fallback();
    const path = new URL(request.url()).pathname.replace(/^.*\/connections\//, '');
    changes.push(`${request.method()} ${path} ${request.postData() ?? ''}`.trim());
    return route.fulfill({ status, ...(problem && { json: { status, ...problem } }) });
  });
  return changes;
}

export const isListRequest = (exchange: Pick<Request, 'url'>): boolean =>
  /\/automation\/connections$/.test(exchange.url());
export const isLeadRequest = (exchange: Pick<Request, 'url'>): boolean =>
  exchange.url().includes('/automation/connections?lead=');

/** Counts such requests of the page from now on. */
export function countRequests(
  page: Page,
  isCounted: (exchange: Pick<Request, 'url'>) => boolean,
): () => number {
  let count = 0;
  page.on('request', (request) => {
    if (isCounted(request)) count += 1;
  });
  return () => count;
}
