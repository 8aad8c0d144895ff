import type { Company, Store, UserInput } from 'leadtap';
import type { Instance } from './instances.ts';
import type { LeadSql } from './lead-sql.ts';

export interface Real {
  /** With a cache. */
  readonly instances: readonly Instance[];
  /** Without a cache. */
  readonly reference: Instance;
  readonly writer: Store;
  readonly sql: LeadSql;
}

export const USERS = ['boss', 'north-lead', 'seller'] as const;
export type UserName = (typeof USERS)[number];

/** The company that the commands change. Its ids are different in each run, so that runs can share a database. */
export class Model {
  readonly companyId: string;
  readonly leads: { readonly id: string; readonly createdAt: number }[] = [];
  company: Company;

  constructor(run: number) {
    this.companyId = `company-${run}`;
    this.company = {
      id: this.companyId,
      name: 'Acme',
      statuses: [
        { value: 'NEW', label: 'New', color: '#000000', final: false },
        { value: 'WON', label: 'Won', color: '#000000', final: true },
      ],
      branches: [
        { id: 'north', name: 'North', departments: [{ id: 'sales', name: 'Sales' }] },
        { id: 'south', name: 'South', departments: [] },
      ],
      users: USERS.map((name) => this.user(name)),
    };
  }

  userId(name: UserName): string {
    return `${name}-of-${this.companyId}`;
  }

  user(name: UserName): UserInput {
    const accessLevel = name === 'boss' ? 'COMPANY' : name === 'seller' ? 'DEPARTMENT' : 'BRANCH';
    const place = { branchId: 'north', departmentId: 'sales' };
    return { id: this.userId(name), plan: 'PROFESSIONAL', accessLevel, ...place };
  }

  /** One of the leads; undefined when there is none. */
  lead(index: number) {
    return this.leads[index % Math.max(1, this.leads.length)];
  }
}
