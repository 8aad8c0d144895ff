import type { IssuedToken, Organisation, User } from 'leadtap';

const user = (id: string, rest: Partial<User> = {}): Omit<User, 'companyId'> => ({
  id,
  email: `${id}@example.com`,
  name: id,
  plan: 'PROFESSIONAL',
  accessLevel: 'COMPANY',
  branchId: null,
  departmentId: null,
  ...rest,
});

/** Two companies that use the same ids below them, and a user for each thing a test may ask about. */
export const ORGANISATION: Organisation = {
  companies: [
    {
      id: 'acme',
      name: 'Acme',
      branches: [
        {
          id: 'north',
          name: 'North',
          departments: [
            { id: 'sales', name: 'Sales' },
            { id: 'service', name: 'Service' },
          ],
        },
        { id: 'south', name: 'South', departments: [{ id: 'south-sales', name: 'Sales' }] },
      ],
      users: [
        user('boss'),
        user('north-lead', { accessLevel: 'BRANCH', branchId: 'north' }),
        user('seller', { accessLevel: 'DEPARTMENT', branchId: 'north', departmentId: 'sales' }),
        user('starter', { plan: 'STARTER' }),
      ],
    },
    {
      id: 'globex',
      name: 'Globex',
      branches: [{ id: 'north', name: 'North', departments: [{ id: 'sales', name: 'Sales' }] }],
      users: [
        user('rival'),
        user('rival-north', { accessLevel: 'BRANCH', branchId: 'north' }),
        user('rival-seller', { accessLevel: 'DEPARTMENT', branchId: 'north', departmentId: 'sales' }),
      ],
    },
  ],
};

/** A token as `leadtap token issue` records it. */
export const issuedToken = (userId: string, id: string): IssuedToken => ({
  ...{ id, userId, name: null, issuedAt: 0, scopes: ['leads:read'] },
  expiresAt: Date.UTC(9999, 0),
});
