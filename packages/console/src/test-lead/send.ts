/** Sends a test lead when the visitor asks for it, and keeps what is known of it. */
import type { LeadtapError } from '@leadtap/client';
import type { Consumer } from '@leadtap/contract';
import { LEADS_PATH, leadStateOf, type WrittenLead } from '@leadtap/contract';
import { effect, signal } from '@preact/signals';
import { clock } from '../clock.ts';
import { checkNow, consumerList } from '../consumers/consumer-list.ts';
import { tokenOf } from '../consumers/expected.ts';
import { testLead as content } from '../contract-texts.json';
import { baseUrl, observedFetch, toConnectionError, toResponseError } from '../service.ts';
import { session } from '../session.ts';

export interface StoredTestLead extends WrittenLead {
  readonly kind: 'stored';
  /** When the service confirmed it, by the clock of the visitor. */
  readonly storedAt: number;
  /** From whose page it was sent: its token is waited for. Undefined: the first one that gets it. */
  readonly platform: string | undefined;
  /** The consumer that was waited for, as it was when it got the lead. */
  readonly receiver?: Consumer;
}

export type TestLead =
  | { readonly kind: 'sending' }
  | { readonly kind: 'failed'; readonly error: LeadtapError; readonly retryAt: number }
  | StoredTestLead;

export const testLead = signal<TestLead | undefined>(undefined);

const DAY_MS = 86_400_000;
const TIMEOUT_MS = 30_000;

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

export async function sendTestLead(platform?: string): Promise<void> {
  const sender = session.peek();
  const state = testLead.peek();
  if (!sender || state?.kind === 'sending' || (state?.kind === 'failed' && clock() < state.retryAt)) return;
  // `randomUUID` needs https.
  id ||= `test-${crypto.getRandomValues(new Uint32Array(4)).join('-')}`;
  testLead.value = { kind: 'sending' };
  const result = await send(sender.token, platform);
  if (session.peek() !== sender) return;
  testLead.value = result;
  if (result.kind !== 'stored') return;
  id = '';
  checkNow();
}

async function send(token: string, platform: string | undefined): Promise<TestLead> {
  const tomorrow = new Date(clock() + DAY_MS).toISOString().slice(0, 10);
  try {
    const response = await observedFetch(`${baseUrl}${LEADS_PATH}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...content, id, appointmentDateTime: `${tomorrow}T14:00:00.000Z` }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const body: { readonly leads?: readonly WrittenLead[] } | undefined = await response
      .json()
      .catch(() => undefined);
    const written = response.ok ? body?.leads?.[0] : undefined;
    if (written) return { kind: 'stored', ...written, platform, storedAt: Date.now() };
    const error = toResponseError(response, body);
    return { kind: 'failed', error, retryAt: clock() + (error.retryAfterMs ?? 0) };
  } catch (cause) {
    return { kind: 'failed', error: toConnectionError(cause), retryAt: 0 };
  }
}

/** The first one by its last poll: earlier polls are not known. */
effect(() => {
  const lead = testLead.value;
  const list = consumerList.value;
  if (lead?.kind !== 'stored' || lead.receiver || list.kind !== 'listed') return;
  const { createdAt, platform } = lead;
  const awaited = platform === undefined ? list.consumers : [tokenOf(list.consumers, platform) ?? []].flat();
  const [receiver] = awaited
    .filter((consumer) =>
      ['confirmed', 'delivered'].includes(
        leadStateOf(consumer, { createdAt, automation_created_at: createdAt }),
      ),
    )
    .sort((a, b) => ((a.lastPollAt ?? '') < (b.lastPollAt ?? '') ? -1 : 1));
  if (receiver) testLead.value = { ...lead, receiver };
});
