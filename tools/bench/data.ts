/** Companies, users and leads in any number, the same ones in every run, written by the program's own commands. */
import { type Home, leadtap, sqliteUrl } from './service.ts';

export type AccessLevel = 'COMPANY' | 'BRANCH' | 'DEPARTMENT';

export interface Place {
  readonly accessLevel: AccessLevel;
  readonly branchId?: string;
  readonly departmentId?: string;
}

export const WHOLE_COMPANY: readonly Place[] = [{ accessLevel: 'COMPANY' }];

/** A third of the users has each access level. */
export const EVERY_PLACE: readonly Place[] = [
  { accessLevel: 'COMPANY' },
  { accessLevel: 'BRANCH', branchId: 'north' },
  { accessLevel: 'DEPARTMENT', branchId: 'north', departmentId: 'repairs' },
  { accessLevel: 'COMPANY' },
  { accessLevel: 'BRANCH', branchId: 'south' },
  { accessLevel: 'DEPARTMENT', branchId: 'south', departmentId: 'sales' },
];

export interface Shape {
  readonly companies: number;
  readonly usersOf: (company: number) => number;
  readonly places: readonly Place[];
  readonly history?: History;
}

export interface History {
  readonly leads: number;
  /** Between two leads. */
  readonly intervalMs: number;
  /** The company of lead number n. */
  readonly companyOf: (n: number) => number;
}

const pad = (n: number): string => String(n).padStart(5, '0');
export const companyId = (company: number): string => `company-${pad(company)}`;
export const userId = (company: number, n: number): string => `user-${pad(company)}-${pad(n)}`;

const organisation = ({ companies, usersOf, places }: Shape): object => ({
  companies: Array.from({ length: companies }, (_, company) => ({
    id: companyId(company),
    name: `Company ${company}`,
    branches: [
      { id: 'north', name: 'North', departments: [{ id: 'repairs', name: 'Repairs' }] },
      { id: 'south', name: 'South', departments: [{ id: 'sales', name: 'Sales' }] },
    ],
    users: Array.from({ length: usersOf(company) }, (_, n) => ({
      id: userId(company, n),
      email: `${userId(company, n)}@example.com`,
      name: `User ${n}`,
      plan: 'PROFESSIONAL',
      ...places[n % places.length],
    })),
  })),
});

/** A lead of usual size: about 750 bytes in a response. */
export const leadOf = (n: number) => ({
  branchId: n % 2 === 0 ? 'north' : 'south',
  departmentId: n % 2 === 0 ? 'repairs' : 'sales',
  firstName: `First${n % 997}`,
  lastName: `Last${n % 1009}`,
  phone1: `+33 1 99 00 ${n % 100} ${n % 89}`,
  email: `contact-${n}@mail.example`,
  address: `${n % 200} Rue des Lilas`,
  postalCode: `69${String(n % 999).padStart(3, '0')}`,
  appointmentDateTime: n % 3 === 0 ? '2026-03-05T14:00:00.000Z' : null,
  customFields: n % 5 < 3 ? { source: 'website' } : {},
  images: n % 7 === 0 ? [`https://images.example.com/${n}.jpg`] : [],
  sameDay: n % 5 === 0,
});

const CHUNK = 500;

/** Leads at even intervals until an hour ago. */
function* leadHistory({ leads, intervalMs, companyOf }: History): Generator<string> {
  const first = Date.now() - 3600_000 - leads * intervalMs;
  const positions = new Map<number, number>();
  let lines: string[] = [];
  for (let n = 0; n < leads; n += 1) {
    const company = companyOf(n);
    const position = positions.get(company) ?? 0;
    positions.set(company, position + 1);
    const createdAt = new Date(first + n * intervalMs).toISOString();
    lines.push(JSON.stringify({ companyId: companyId(company), createdAt, ...leadOf(position) }));
    if (lines.length < CHUNK && n + 1 < leads) continue;
    yield `${lines.join('\n')}\n`;
    lines = [];
  }
}

/** Leads per second, with the start of the command. */
export async function importHistory(home: Home, history: History): Promise<number> {
  const startedAt = performance.now();
  await leadtap(home, ['leads', 'import', '-', '--historical'], leadHistory(history));
  return (history.leads * 1000) / (performance.now() - startedAt);
}

export type Tokens = ReadonlyMap<string, string>;

/** Fills the SQLite database of the folder. */
export async function fillSqlite(
  home: Home,
  shape: Shape,
  scope = 'leads:read',
): Promise<{ tokens: Tokens }> {
  await leadtap(home, ['org', 'apply', '-'], [JSON.stringify(organisation(shape))]);
  if (shape.history) await importHistory(home, shape.history);
  const scopes = scope.split(' ').flatMap((one) => ['--scope', one]);
  const issued: { userId: string; token: string }[] = JSON.parse(
    await leadtap(home, ['token', 'issue', '--all-users', ...scopes, '--json']),
  );
  return { tokens: new Map(issued.map(({ userId: id, token }) => [id, token])) };
}

/** A copy of that database in PostgreSQL; users, tokens and key are the same. */
export async function copyToPostgres(home: Home, url: string): Promise<void> {
  await leadtap(home, ['migrate', '--from', sqliteUrl(home.folder), '--to', url]);
}

/** What the users of one place ask for. */
export interface Feed {
  /** Since the newest lead, as in the `Link` of the newest page. */
  readonly empty: string;
  /** The query whose page has the newest 100 leads. */
  readonly since: string;
}

export const NEWEST = '?limit=100';
export const sinceQuery = (ms: number): string =>
  `?${new URLSearchParams({ since: new Date(ms).toISOString(), limit: '100' })}`;

const NEW_LEADS = '/automation/new-leads';

export async function readFeed(port: number, token: string): Promise<Feed> {
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`http://127.0.0.1:${port}${NEW_LEADS}${NEWEST}`, { headers });
  if (response.status !== 200) throw new Error(`a poll was answered with ${response.status}`);
  const leads = (await response.json()) as { createdAt: string }[];
  const link = /\?[^>]*/.exec(response.headers.get('link') ?? '')?.[0] ?? '';
  return { empty: link, since: sinceQuery(Date.parse(leads.at(-1)?.createdAt ?? '') - 1) };
}

const HEADERS = 'Host: leads.example.com\r\nUser-Agent: leadtap-bench\r\nAccept: application/json';

/** What an automation platform sends. */
export const pollRequest = (token: string, query: string, ...headers: readonly string[]): string =>
  [
    `GET ${NEW_LEADS}${query} HTTP/1.1`,
    HEADERS,
    'Content-Type: application/json',
    `Authorization: Bearer ${token}`,
    ...headers,
    '\r\n',
  ].join('\r\n');

export function leadsRequest(token: string, leads: object): string {
  const json = JSON.stringify(leads);
  return [
    'POST /leads HTTP/1.1',
    HEADERS,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(json)}`,
    `Authorization: Bearer ${token}`,
    `\r\n${json}`,
  ].join('\r\n');
}
