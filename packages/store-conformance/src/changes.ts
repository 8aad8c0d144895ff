/** All changes that a revalidation must report. */
import type { Change, Store } from 'leadtap';
import { ACME, apply, lead, stamp, user } from './sample.ts';

const LONG_AGO = Date.UTC(2019, 6, 1);

const inAcme = { kind: 'company', id: 'acme' } as const;
export const ofUser = (id: string) => ({ kind: 'user', id }) as const;
const [north, ...otherBranches] = ACME.branches;
const STATUS = { value: 'NEW', label: 'New', color: '#000000', final: false };

/** A description, the expected entry of the change log, and the action. Before it, Acme has one lead, x, in sales. */
export const CHANGES: readonly [string, Change, (store: Store) => Promise<unknown>][] = [
  ['a new lead', { kind: 'leads-appended', id: 'acme' }, (store) => stamp(store, [lead('y')])],
  [
    'a lead imported as history',
    inAcme,
    (store) => stamp(store, [lead('y', { createdAt: LONG_AGO })], { historical: true }),
  ],
  [
    'a lead before 1970',
    inAcme,
    (store) => stamp(store, [lead('y', { createdAt: -LONG_AGO })], { historical: true }),
  ],
  [
    'a lead imported as history beside a new one',
    inAcme,
    (store) => stamp(store, [lead('y'), lead('z', { createdAt: LONG_AGO })], { historical: true }),
  ],
  [
    'a lead with another name',
    inAcme,
    (store) => stamp(store, [lead('x', { fields: { firstName: 'Ada' } })]),
  ],
  ['a lead in another branch', inAcme, (store) => stamp(store, [lead('x', { branchId: 'south' })])],
  ['a lead with another status', inAcme, (store) => stamp(store, [lead('x', { statusValue: 'CONTACTED' })])],
  ['another name of the company', inAcme, (store) => apply(store, { ...ACME, name: 'Acme & Co' })],
  [
    'another name of a branch',
    inAcme,
    (store) =>
      apply(store, {
        ...ACME,
        branches: [{ id: 'north', name: 'Up north', departments: [] }, ...otherBranches],
      }),
  ],
  [
    'another name of a department',
    inAcme,
    (store) => {
      const departments = [{ id: 'sales', name: 'Selling' }];
      return apply(store, { ...ACME, branches: north ? [{ ...north, departments }] : [] });
    },
  ],
  [
    'another label of a status',
    inAcme,
    (store) => apply(store, { ...ACME, statuses: [{ ...STATUS, label: 'Fresh' }] }),
  ],
  ['another plan', ofUser('boss'), (store) => store.updateUser('boss', { plan: 'STARTER' })],
  [
    'another access level',
    ofUser('boss'),
    (store) => store.updateUser('boss', { accessLevel: 'BRANCH', branchId: 'south' }),
  ],
  ['another place', ofUser('north-lead'), (store) => store.updateUser('north-lead', { branchId: 'south' })],
  ['a removed user', ofUser('boss'), (store) => store.removeUser('boss')],
  [
    'a user changed by an organisation file',
    ofUser('boss'),
    (store) => apply(store, { ...ACME, users: [user('boss', { plan: 'STARTER' })] }),
  ],
  ['a revoked token', { kind: 'token', id: 'token' }, (store) => store.revokeToken('token')],
];
