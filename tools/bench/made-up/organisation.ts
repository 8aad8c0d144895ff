/** Companies and users in any number, the same ones every time. */

export interface Size {
  readonly companies: number;
  readonly usersPerCompany: number;
  /** Where users are, by turns. */
  readonly places: readonly Place[];
}

export type AccessLevel = 'COMPANY' | 'BRANCH' | 'DEPARTMENT';

export interface Place {
  readonly accessLevel: AccessLevel;
  readonly branchId?: string;
  readonly departmentId?: string;
}

export const WHOLE_COMPANY: readonly Place[] = [{ accessLevel: 'COMPANY' }];

/** One third of the users of every level, half of them in the north. */
export const EVERY_PLACE: readonly Place[] = [
  { accessLevel: 'COMPANY' },
  { accessLevel: 'BRANCH', branchId: 'north' },
  { accessLevel: 'DEPARTMENT', branchId: 'north', departmentId: 'repairs' },
  { accessLevel: 'COMPANY' },
  { accessLevel: 'BRANCH', branchId: 'south' },
  { accessLevel: 'DEPARTMENT', branchId: 'south', departmentId: 'sales' },
];

const pad = (n: number) => String(n).padStart(5, '0');

export const companyId = (n: number): string => `company-${pad(n)}`;
export const userId = (company: number, n: number): string => `user-${pad(company)}-${pad(n)}`;

/** An organisation file. */
export const organisation = ({ companies, usersPerCompany, places }: Size): object => ({
  companies: Array.from({ length: companies }, (_, company) => ({
    id: companyId(company),
    name: `Company ${company}`,
    branches: [
      { id: 'north', name: 'North', departments: [{ id: 'repairs', name: 'Repairs' }] },
      { id: 'south', name: 'South', departments: [{ id: 'sales', name: 'Sales' }] },
    ],
    users: Array.from({ length: usersPerCompany }, (_, n) => ({
      id: userId(company, n),
      email: `${userId(company, n)}@example.com`,
      name: `User ${n}`,
      plan: 'PROFESSIONAL',
      ...places[n % places.length],
    })),
  })),
});
