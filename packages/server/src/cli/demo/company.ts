import type { Organisation, User } from '../../store/records.ts';

const person = (
  id: string,
  name: string,
  plan: string,
  place: Pick<User, 'accessLevel'> & Partial<Pick<User, 'branchId' | 'departmentId'>>,
): Omit<User, 'companyId'> => ({
  id,
  name,
  email: `${id}@soleil-roofing.example`,
  plan,
  branchId: null,
  departmentId: null,
  ...place,
});

/** A made-up company with users of every access level and of two plans. */
export const DEMO_ORGANISATION: Organisation = {
  companies: [
    {
      id: 'soleil',
      name: 'Soleil Roofing',
      branches: [
        {
          id: 'lyon',
          name: 'Lyon',
          departments: [
            { id: 'lyon-repairs', name: 'Repairs' },
            { id: 'lyon-new', name: 'New roofs' },
          ],
        },
        { id: 'lille', name: 'Lille', departments: [{ id: 'lille-solar', name: 'Solar' }] },
      ],
      users: [
        person('ada', 'Ada', 'PROFESSIONAL', { accessLevel: 'COMPANY' }),
        person('ben', 'Ben', 'PROFESSIONAL', { accessLevel: 'BRANCH', branchId: 'lyon' }),
        person('cleo', 'Cleo', 'PROFESSIONAL', {
          accessLevel: 'DEPARTMENT',
          branchId: 'lyon',
          departmentId: 'lyon-repairs',
        }),
        person('dan', 'Dan', 'STARTER', { accessLevel: 'COMPANY' }),
      ],
    },
  ],
};

/** Whom the demo prints a token for, and what that token shows. Zoe left: her token is valid, she is not there. */
export const DEMO_CALLERS = [
  { userId: 'ada', shows: 'Ada sees the whole company' },
  { userId: 'ben', shows: 'Ben sees the branch Lyon' },
  { userId: 'cleo', shows: 'Cleo sees the department Repairs in Lyon' },
  { userId: 'dan', shows: 'Dan is not on the Professional plan: 403' },
  { userId: 'zoe', shows: 'Zoe left the company: 404' },
] as const;
