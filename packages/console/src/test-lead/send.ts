/** Sends a test lead when the visitor asks for it, and keeps what is known of it. */
import type { LeadtapError } from '@leadtap/client';
import { LEADS_PATH, type WrittenLead, type WrittenLeads } from '@leadtap/contract';
import { effect, signal } from '@preact/signals';
import { write } from '../ask.ts';
import { clock } from '../clock.ts';
import { checkNow, createLeadList } from '../connections/list.ts';
import { testLead as content } from '../contract-texts.json';
import { toLeadtapError } from '../service.ts';
import { session } from '../session.ts';

export interface StoredTestLead extends WrittenLead {
  readonly kind: 'stored';
  /** When the service confirmed it, by the clock of the visitor. */
  readonly storedAt: number;
}

export type TestLead =
  | { readonly kind: 'sending' }
  | { readonly kind: 'failed'; readonly error: LeadtapError; readonly retryAt: number }
  | StoredTestLead;

export const testLead = signal<TestLead | undefined>(undefined);

/** What became of it. */
export const fatesOfTestLead = createLeadList(() =>
  testLead.value?.kind === 'stored' ? testLead.value.id : undefined,
);

const DAY_MS = 86_400_000;

/** Kept until the lead is stored: a request that is sent again adds no second one. */
let id = '';

// A test lead belongs to the token.
effect(() => {
  session.value;
  closeTestLead();
});

export function closeTestLead(): void {
  testLead.value = undefined;
  id = '';
}

export async function sendTestLead(): Promise<void> {
  const owner = session.peek();
  const state = testLead.peek();
  if (!owner || state?.kind === 'sending' || (state?.kind === 'failed' && clock() < state.retryAt)) return;
  // `randomUUID` needs https.
  id ||= `test-${crypto.getRandomValues(new Uint32Array(4)).join('-')}`;
  testLead.value = { kind: 'sending' };
  const result = await send();
  if (session.peek() !== owner) return;
  testLead.value = result;
  if (result.kind !== 'stored') return;
  id = '';
  checkNow();
}

async function send(): Promise<TestLead> {
  const tomorrow = new Date(clock() + DAY_MS).toISOString().slice(0, 10);
  const lead = { ...content, id, appointmentDateTime: `${tomorrow}T14:00:00.000Z` };
  try {
    const { body } = await write<WrittenLeads>('POST', LEADS_PATH, lead, 'leads');
    const [written = { id, createdAt: '', result: 'added' as const }] = body?.leads ?? [];
    return { kind: 'stored', ...written, storedAt: Date.now() };
  } catch (thrown) {
    const error = toLeadtapError(thrown);
    return { kind: 'failed', error, retryAt: clock() + (error.retryAfterMs ?? 0) };
  }
}
