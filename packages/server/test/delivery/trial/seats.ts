import type { Organisation, UserInput } from 'leadtap';
import type { Placed } from './ledger.ts';

export const LEVELS = ['COMPANY', 'BRANCH', 'DEPARTMENT'] as const;
/** What pollers remember from one poll to the next. */
export const KINDS = ['lastLead', 'date', 'link'] as const;
export type Kind = (typeof KINDS)[number];

/** Where one poller sits: what it may see, what it remembers, and the users in whose names it asks. */
export interface Seat {
  readonly companyId: string;
  readonly level: (typeof LEVELS)[number];
  readonly kind: Kind;
  readonly userIds: readonly string[];
}

/** Pollers below the level of the company sit here. */
const BRANCH = 'north';
const DEPARTMENT = 'sales';

export const companyIds = (companies: number): string[] =>
  Array.from({ length: companies }, (_, index) => `company-${index + 1}`);

/** Every kind at every level. A user may ask 100 times a minute, so each seat has several who see the same. */
export const seatsOf = (companyId: string, usersOfEach: number): Seat[] =>
  LEVELS.flatMap((level) =>
    KINDS.map((kind) => {
      const name = `${companyId}.${level}.${kind}`;
      const userIds = Array.from({ length: usersOfEach }, (_, index) => `${name}.${index + 1}`);
      return { companyId, level, kind, userIds };
    }),
  );

export function sees({ companyId, level }: Seat, lead: Placed): boolean {
  if (lead.companyId !== companyId) return false;
  if (level === 'COMPANY') return true;
  return level === 'BRANCH' ? lead.branchId === BRANCH : lead.departmentId === DEPARTMENT;
}

const usersOf = ({ level, userIds }: Seat): UserInput[] =>
  userIds.map((id) => ({
    id,
    plan: 'PROFESSIONAL',
    accessLevel: level,
    branchId: level === 'COMPANY' ? null : BRANCH,
    departmentId: level === 'DEPARTMENT' ? DEPARTMENT : null,
  }));

export const organisationOf = (seats: readonly Seat[]): Organisation => ({
  companies: [...new Set(seats.map(({ companyId }) => companyId))].map((id) => ({
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
    users: seats.filter(({ companyId }) => companyId === id).flatMap(usersOf),
  })),
});
