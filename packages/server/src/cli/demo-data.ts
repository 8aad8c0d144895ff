/** The made-up company of `leadtap demo`, and its leads. */

import type { Organisation, User } from '../accounts/records.ts';
import type { LeadInput } from '../leads/record.ts';

const user = (
  id: string,
  plan: string,
  accessLevel: User['accessLevel'],
  branchId: string | null = null,
  departmentId: string | null = null,
): Omit<User, 'companyId'> => ({
  ...{ id, plan, accessLevel, branchId, departmentId, email: `${id}@soleil-roofing.example` },
  name: `${id.charAt(0).toUpperCase()}${id.slice(1)}`,
});

const LYON = {
  ...{ id: 'lyon', name: 'Lyon' },
  departments: [
    { id: 'lyon-repairs', name: 'Repairs' },
    { id: 'lyon-new', name: 'New roofs' },
  ],
};
const LILLE = { id: 'lille', name: 'Lille', departments: [{ id: 'lille-solar', name: 'Solar' }] };

/** The automations are hers, so that her console lists them. */
export const DEMO_USER = 'ada';

export const DEMO_ORGANISATION: Organisation = {
  companies: [
    {
      ...{ id: 'soleil', name: 'Soleil Roofing', branches: [LYON, LILLE] },
      users: [
        user(DEMO_USER, 'PROFESSIONAL', 'COMPANY'),
        user('ben', 'PROFESSIONAL', 'BRANCH', 'lyon'),
        user('cleo', 'PROFESSIONAL', 'DEPARTMENT', 'lyon', 'lyon-repairs'),
        user('dan', 'STARTER', 'COMPANY'),
      ],
    },
  ],
};

/** The users for whom the demo has a token, and what a poll returns. Zoe's token is valid, but the user does not exist. */
export const DEMO_TOKENS = [
  { userId: DEMO_USER, shows: 'all leads of the company' },
  { userId: 'ben', shows: 'the branch Lyon' },
  { userId: 'cleo', shows: 'Repairs in Lyon' },
  { userId: 'dan', shows: '403: not on the Professional plan' },
  { userId: 'zoe', shows: '404: no such user' },
] as const;

type NonEmpty<T> = readonly [T, ...T[]];

const FIRST_NAMES = ['Alma', 'Basile', 'Chiara', 'Dario', 'Elif', 'Femke', 'Goran', 'Hana', 'Ines'] as const;
const LAST_NAMES = ['Moreau', 'Okafor', 'Lindqvist', 'Rossi', 'Nowak', 'Dubois', 'Yilmaz', 'Costa'] as const;
const STREETS = ['Rue des Lilas', 'Quai Perrache', 'Avenue Foch', 'Rue Nationale'] as const;
const SOURCES = ['website', 'phone', 'referral', 'fair'] as const;
/** Some leads have no branch or no department, so that each access level sees different leads. */
const PLACES: NonEmpty<Pick<LeadInput, 'branchId' | 'departmentId'>> = [
  { branchId: 'lyon', departmentId: 'lyon-repairs' },
  { branchId: 'lyon', departmentId: 'lyon-repairs' },
  { branchId: 'lyon', departmentId: 'lyon-new' },
  { branchId: 'lyon' },
  { branchId: 'lille', departmentId: 'lille-solar' },
  {},
];

/** Of leads that the company has worked on. */
const STATUSES = ['CONTACTED', 'APPOINTMENT', 'QUOTED', 'WON', 'LOST'] as const;

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

const randomBelow = (limit: number): number => Math.floor(Math.random() * limit);
const pick = <T>(list: NonEmpty<T>): T => list[randomBelow(list.length)] ?? list[0];

export const makeStatus = (): string => pick(STATUSES);

/** What the web form of the company sends, after somebody has renamed its field `email`. */
export function makeRefusedBody(): Record<string, unknown> {
  const { firstName, lastName, email, phone1, address, postalCode } = makeLead(0).fields;
  return { firstName, lastName, mail: email, phone1, address, postalCode };
}

/** What the first page and the status page show. */
export const DEMO_AUTOMATIONS = [
  { name: 'n8n', shows: 'polls, and is well' },
  { name: 'Zapier', shows: 'is sent leads by webhook, and is well' },
  { name: 'Make', shows: 'stopped an hour ago: leads wait' },
  { name: 'Web form', shows: 'sends leads; one was refused' },
] as const;

/** Returns a random lead with an appointment in the next days. */
export function makeLead(now: number): LeadInput {
  const firstName = pick(FIRST_NAMES);
  const lastName = pick(LAST_NAMES);
  const hour = 8 + randomBelow(10);
  const day = Math.floor(now / DAY_MS) + 1 + randomBelow(7);
  return {
    companyId: 'soleil',
    ...pick(PLACES),
    fields: {
      firstName,
      lastName,
      phone1: `+33 1 99 00 ${10 + randomBelow(90)} ${10 + randomBelow(90)}`,
      email: `${firstName}.${lastName}@mail.example`.toLowerCase(),
      address: `${1 + randomBelow(120)} ${pick(STREETS)}`,
      postalCode: String(69_001 + randomBelow(9)),
      appointmentDateTime: day * DAY_MS + hour * HOUR_MS,
      timeslot: `${String(hour).padStart(2, '0')}:00`,
      sameDay: Math.random() < 0.2,
      customFields: { source: pick(SOURCES), roofArea: 40 + randomBelow(160) },
      images: Math.random() < 0.3 ? [`https://images.example/roof-${randomBelow(1000)}.jpg`] : [],
    },
  };
}
