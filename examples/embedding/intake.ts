// Leads over HTTP into a store of your own: docs/embedding.md.
import type {
  IntakeObserver,
  IntakeStore,
  LeadInput,
  LeadScope,
  PlacementProblem,
  PollObserver,
  VerifyToken,
  WrittenLead,
} from 'leadtap';
import { addLead, leads, store as pollStore, verifyToken as verifyApiKey } from './leads.js';

const findLead = ({ id }: LeadInput) => leads.find((lead) => lead.id === id);

/** The sender may write to the scope only: neither take a lead out of another branch, nor put one there. */
function problemsOf(input: LeadInput, scope: LeadScope): PlacementProblem[] {
  const existing = findLead(input);
  const isWithin = (branchId: string | null) => scope.level === 'BRANCH' && branchId === scope.branchId;
  if (existing && !isWithin(existing.branchId))
    return [{ field: 'id', reason: 'outside-scope', value: existing.id }];
  const { branchId = existing?.branchId ?? null } = input;
  return isWithin(branchId) ? [] : [{ field: 'branchId', reason: 'outside-scope', value: branchId }];
}

let lastId = 0;
function write(input: LeadInput): WrittenLead {
  const { id = `new-${++lastId}`, branchId = null, fields } = input;
  const existing = findLead(input);
  const lead = existing ?? addLead(id, null, branchId);
  Object.assign(lead, fields, existing && { updatedAt: Date.now() });
  return { kind: existing ? 'updated' : 'added', id, createdAt: lead.createdAt };
}

export const store: IntakeStore = {
  ...pollStore,
  // In your database this is one transaction, which also checks the sender and the Idempotency-Key (docs/embedding.md).
  writeAllLeads: async (inputs, scope) => {
    const problems = inputs.map((input) => problemsOf(input, scope));
    if (problems.some((list) => list.length > 0)) return { kind: 'rejected', problems };
    return { kind: 'written', results: inputs.map(write) };
  },
};

export const verifyToken: VerifyToken = async (token) =>
  token === 'key-of-the-form'
    ? { kind: 'valid', token: { userId: 'ada', tokenId: 'form', scopes: ['leads:write'] } }
    : verifyApiKey(token);

export const observer: PollObserver & IntakeObserver = {
  observe: ({ status, leads }) => console.log(`poll: ${status}, ${leads} leads`),
  observeIntake: ({ status, added, updated }) =>
    console.log(`intake: ${status}, ${added} added, ${updated} updated`),
};
