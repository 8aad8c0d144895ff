import { uuidV7 } from '../../uuid.ts';
import type { LeadInput } from '../records.ts';
import type { LeadResult, WriteOptions, WriteOutcome } from '../store.ts';
import type { Session } from './connection.ts';
import { type BatchResult, writeBatch } from './lead-batch.ts';
import { type AddedRow, addNewLeads, type IdentifiedLead } from './new-leads.ts';

const KEEP_TIMES = `SELECT set_config('leadtap.historical', 'on', true)`;
const NOTHING: BatchResult = { results: [], aheadMs: 0 };

/**
 * Writes a batch of leads in the transaction of the session: those that are new and in their place at once, which is nearly
 * all, and then the others, with what is there already in hand.
 */
export async function writeLeads(
  session: Session,
  leads: readonly LeadInput[],
  { historical = false }: WriteOptions,
): Promise<WriteOutcome> {
  if (leads.length === 0) return { kind: 'written', results: [] };
  if (historical) await session.query(KEEP_TIMES);
  const batch = identified(leads);
  const added = await addNewLeads(session, batch, historical);
  const left = batch.filter((_lead, index) => added[index] === undefined);
  const others = left.length === 0 ? NOTHING : await writeBatch(session, left, historical);
  return { kind: 'written', results: inOrder(added, others.results) };
}

/** Whatever clock: an identifier only has to sort well. */
function identified(leads: readonly LeadInput[]): IdentifiedLead[] {
  const madeAt = Date.now();
  return leads.map((lead) => (hasId(lead) ? lead : { ...lead, id: uuidV7(madeAt) }));
}

const hasId = (lead: LeadInput): lead is IdentifiedLead => lead.id !== undefined;

/** The results of the others belong where nothing was added at once. */
function inOrder(added: readonly (AddedRow | undefined)[], others: readonly LeadResult[]): LeadResult[] {
  const remaining = others.values();
  return added.map((row) => {
    if (row) return { kind: 'added', id: row.id, createdAt: row.created_at };
    const { value } = remaining.next();
    if (value === undefined) throw new Error('a lead was neither added nor left');
    return value;
  });
}
