// A store and a check of tokens of your own: docs/embedding.md.
import {
  DEFAULT_LEAD_FIELDS,
  type LeadRecord,
  type LeadScope,
  type PollStore,
  type User,
  type VerifyToken,
} from 'leadtap';

type StoredLead = LeadRecord & {
  companyId: string;
  branchId: string | null;
  departmentId: string | null;
};

const users: User[] = [
  {
    id: 'ada',
    companyId: 'acme',
    name: 'Ada',
    email: 'ada@example.com',
    plan: 'PROFESSIONAL',
    accessLevel: 'BRANCH',
    branchId: 'north',
    departmentId: null,
  },
];
export const leads: StoredLead[] = [];

function sees(scope: LeadScope, lead: StoredLead): boolean {
  if (lead.companyId !== scope.companyId) return false;
  if (scope.level === 'BRANCH') return lead.branchId === scope.branchId;
  if (scope.level === 'DEPARTMENT') return lead.departmentId === scope.departmentId;
  return true;
}

export const store: PollStore = {
  findUser: async (userId) => users.find(({ id }) => id === userId),
  isTokenRevoked: async () => false,
  readPage: async ({ scope, since, limit }) => {
    const visible = leads.filter((lead) => sees(scope, lead));
    const page = since === undefined ? visible.reverse() : visible.filter((lead) => lead.createdAt > since);
    return { leads: page.slice(0, limit), readAt: Date.now(), locked: true };
  },
};

/** Larger than every earlier stamp and later than every earlier response: the delivery contract. */
let lastStamp = 0;
function stamp(): number {
  lastStamp = Math.max(lastStamp, Date.now()) + 1;
  return lastStamp;
}

export function addLead(id: string, fullName: string | null, branchId: string | null): StoredLead {
  const createdAt = stamp();
  const lead = {
    ...DEFAULT_LEAD_FIELDS,
    id,
    fullName,
    status: { value: 'NEW', label: 'New', color: '#2563eb', final: false },
    companyId: 'acme',
    companyName: 'Acme',
    branchId,
    branchName: branchId,
    departmentId: null,
    departmentName: null,
    createdAt,
    updatedAt: createdAt,
    automation_trigger_id: `acme/${id}`,
    automation_created_at: createdAt,
  };
  leads.push(lead);
  return lead;
}

/** The API keys of your users. */
const apiKeys = new Map([['key-of-ada', 'ada']]);
export const verifyToken: VerifyToken = async (token) => {
  const userId = apiKeys.get(token);
  if (userId === undefined) return { kind: 'invalid' };
  return { kind: 'valid', token: { userId, tokenId: undefined } };
};
