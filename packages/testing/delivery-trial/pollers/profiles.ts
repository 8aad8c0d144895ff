import type { Organisation, UserInput } from 'leadtap';
import { type Client, LEVELS, type Memory, type Scope } from '../judge/history.ts';
import { BRANCH, DEPARTMENT } from '../judge/timeline.ts';

/** How a kind of client polls. */
export interface PollerProfile {
  readonly name: string;
  readonly memory: Memory;
  readonly limit: number;
  /** Asks without `since` at first, as a client does that wants only what is new from now on. */
  readonly startsWithoutSince?: boolean;
  /** How it avoids reading the same page again: `If-None-Match`, or a HEAD request with it before each GET. */
  readonly validates?: 'etag' | 'head';
  /** Waits so many seconds for a lead: `Prefer: wait`. */
  readonly waitS?: number;
}

/** Every company has each of these at every access level. */
const MAIN_PROFILES: readonly PollerProfile[] = [
  { name: 'createdAt', memory: 'createdAt', limit: 100 },
  { name: 'Date', memory: 'date', limit: 100 },
  { name: 'Link', memory: 'link', limit: 100 },
];

/** Every company has each of these once, at access levels that take turns. */
const OTHER_PROFILES: readonly PollerProfile[] = [
  { name: 'Link from empty', memory: 'link', limit: 50, startsWithoutSince: true },
  { name: 'Link from empty, HEAD', memory: 'link', limit: 100, startsWithoutSince: true, validates: 'head' },
  { name: 'createdAt, ETag', memory: 'createdAt', limit: 7, validates: 'etag' },
  { name: 'newest, ETag', memory: 'ids', limit: 100, validates: 'etag' },
  { name: 'newest, HEAD', memory: 'ids', limit: 50, validates: 'head' },
];

/** A lead or two a request are enough only where few leads come. */
const PATIENT_PROFILES: readonly PollerProfile[] = [
  { name: 'createdAt, limit 1', memory: 'createdAt', limit: 1 },
  { name: 'Link, limit 2', memory: 'link', limit: 2, validates: 'etag' },
  { name: 'Date, limit 7', memory: 'date', limit: 7 },
];

/** Every company with waiting clients has each of these at every access level. */
const WAITING_PROFILES: readonly PollerProfile[] = [
  { name: 'createdAt, wait', memory: 'createdAt', limit: 100, waitS: 1 },
  { name: 'Date, wait', memory: 'date', limit: 100, waitS: 1 },
  { name: 'Link, wait, ETag', memory: 'link', limit: 7, waitS: 1, validates: 'etag' },
];

export interface PollerSetup {
  readonly profile: PollerProfile;
  readonly client: Client;
  /** They all see the same. A user may ask 100 times a minute, so each poller has several. */
  readonly userIds: readonly string[];
}

export interface TrialCompany {
  readonly id: string;
  /** Few leads come, so clients with a small limit keep up. */
  readonly isQuiet?: boolean;
  readonly hasWaitingClients?: boolean;
}

/** From 3 on: by `hashtext`, the lock of company-4 comes before that of company-3. */
export const companyIds = (companies: number): string[] =>
  Array.from({ length: companies }, (_, index) => `company-${index + 3}`);

export function pollersOf(
  { id: companyId, isQuiet = false, hasWaitingClients = false }: TrialCompany,
  usersOfEach: number,
): PollerSetup[] {
  const turn = [...companyId].reduce((sum, letter) => sum + letter.charCodeAt(0), 0);
  const others = [...OTHER_PROFILES, ...(isQuiet ? PATIENT_PROFILES : [])];
  const main = [...MAIN_PROFILES, ...(hasWaitingClients ? WAITING_PROFILES : [])];
  return [
    ...LEVELS.flatMap((level) => main.map((profile) => ({ profile, level }))),
    ...others.map((profile, index) => ({
      profile,
      level: LEVELS[(turn + index) % LEVELS.length] ?? 'COMPANY',
    })),
  ].map(({ profile, level }) => {
    const name = `${companyId}.${level}.${profile.name}`;
    const client = { name, profile: profile.name, memory: profile.memory, scope: { companyId, level } };
    const userIds = Array.from({ length: usersOfEach }, (_, index) => `${name}.${index + 1}`);
    return { profile, client, userIds };
  });
}

const userOf = (id: string, { level }: Scope): UserInput => ({
  id,
  plan: 'PROFESSIONAL',
  accessLevel: level,
  branchId: level === 'COMPANY' ? null : BRANCH,
  departmentId: level === 'DEPARTMENT' ? DEPARTMENT : null,
});

/** All companies have the same branches and departments. */
export const organisationOf = (
  companies: readonly TrialCompany[],
  setups: readonly PollerSetup[],
): Organisation => ({
  companies: companies.map(({ id }) => ({
    id,
    name: id,
    branches: [
      {
        id: BRANCH,
        name: 'North',
        departments: [
          { id: DEPARTMENT, name: 'Sales' },
          { id: 'service', name: 'Service' },
        ],
      },
      { id: 'south', name: 'South', departments: [] },
    ],
    users: setups
      .filter(({ client }) => client.scope.companyId === id)
      .flatMap(({ client, userIds }) => userIds.map((userId) => userOf(userId, client.scope))),
  })),
});
