// A store of Leadtap, and a check of tokens of your own: docs/embedding.md.
import { type IntakeObserver, openSqliteStore, type PollObserver, type VerifyToken } from 'leadtap';

const store = await openSqliteStore({ file: process.env.LEADS_FILE ?? 'leads.db' });

await store.applyOrganisation({
  companies: [
    {
      id: 'acme',
      name: 'Acme',
      branches: [
        { id: 'north', name: 'North', departments: [] },
        { id: 'south', name: 'South', departments: [] },
      ],
      users: [
        {
          id: 'ada',
          name: 'Ada',
          email: 'ada@example.com',
          plan: 'PROFESSIONAL',
          accessLevel: 'BRANCH',
          branchId: 'north',
          departmentId: null,
        },
      ],
    },
  ],
});

/** Leads that your application gets by itself. */
export const addLead = (id: string, branchId: string) =>
  store.writeLeads([{ companyId: 'acme', id, branchId, fields: { fullName: `Lead ${id}` } }]);

/** The API keys of your users. A key that a form sends may send leads, and not read them. */
const verifyToken: VerifyToken = async (token) => {
  if (token === 'key-of-ada') return { kind: 'valid', token: { userId: 'ada' } };
  if (token === 'key-of-the-form')
    return { kind: 'valid', token: { userId: 'ada', tokenId: 'form', scopes: ['leads:write'] } };
  return { kind: 'invalid' };
};

const observer: PollObserver & IntakeObserver = {
  observe: ({ status, leads }) => console.log(`poll: ${status}, ${leads} leads`),
  observeIntake: ({ status, added, updated }) =>
    console.log(`intake: ${status}, ${added} added, ${updated} updated`),
};

export const options = { basePath: '/api', store, verifyToken, observer };
