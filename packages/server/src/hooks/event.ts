/** What a webhook subscription sends: an event or a lead. Signed as in Standard Webhooks. */
import { createHash, createHmac, randomUUID } from 'node:crypto';
import {
  type HookEvent,
  type Lead,
  MAX_LEADS_PER_PAGE,
  NEW_LEADS_PATH,
  sampleLead,
  testLeadFrom,
} from '@leadtap/contract';
import { type PageLead, renderLead } from '../leads/render.ts';
import { toIso } from '../lib/clock.ts';
import type { Delivery } from './deliver.ts';
import type { Outcome } from './rules.ts';
import type { DueHook, Hook } from './store.ts';
import { checkHookUrl } from './url.ts';

export interface EventOptions {
  /** Those that events may be sent to. */
  readonly hosts: readonly string[];
  /** Of the signing keys. Each signs. */
  readonly signingSecrets: readonly Uint8Array[];
  /** The `{base_url}` in events. Default: the one that the subscription was sent to. */
  readonly publicUrl: string | undefined;
  readonly version: string;
}

export interface EventWindow {
  readonly since: number;
  readonly through: number;
}

export interface HookMessage {
  /** The same for repetitions, so that a receiver can drop them. */
  readonly id: string;
  /** JSON. */
  readonly body: string;
}

/** One attempt. `claimedAt` is a time of the database, like all times of a hook. */
export async function postMessage(
  delivery: Delivery,
  { hook, claimedAt, companyId }: Pick<DueHook, 'hook' | 'claimedAt'> & Partial<DueHook>,
  { id, body }: HookMessage,
  { hosts, signingSecrets, version }: EventOptions,
): Promise<Outcome | 'aborted'> {
  // The list may have become shorter since the subscription.
  const checked = checkHookUrl(hook.url, hosts);
  if (checked.kind !== 'allowed') return { kind: 'not-allowed' };
  const timestampS = Math.floor(claimedAt / 1000);
  const headers = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    'user-agent': `Leadtap/${version}`,
    'webhook-id': id,
    'webhook-timestamp': String(timestampS),
    'webhook-signature': signatureOf(signingSecrets, hook.id, { id, timestampS, body }),
  };
  return delivery.post(checked.url, headers, body, companyId);
}

/** There are leads after `since`, up to `through`. */
export function eventMessage(
  hook: Hook,
  { since, through }: EventWindow,
  now: number,
  publicUrl: string | undefined,
): HookMessage {
  const event: HookEvent = {
    type: 'leads.available',
    timestamp: toIso(now),
    data: {
      hookId: hook.id,
      since: toIso(since),
      through: toIso(through),
      poll: `${publicUrl ?? hook.baseUrl}${NEW_LEADS_PATH}?since=${toIso(since)}&limit=${MAX_LEADS_PER_PAGE}`,
    },
  };
  return { id: messageId(hook.id, since, through), body: JSON.stringify(event) };
}

/**
 * A lead that was deleted and added again has another `createdAt`: it is another lead. `message`: it is sent again, and receivers drop a
 * message that they know.
 */
export const leadMessage = (hook: Hook, lead: PageLead, message = 'lead'): HookMessage => ({
  id: messageId(hook.id, lead.createdAt, message),
  body: renderLead(lead),
});

/** Not of a real lead: the ids of triggers are of another version of UUID. */
export function testLeadMessage(now: number): HookMessage {
  const id = randomUUID();
  const at = toIso(now);
  const lead: Lead = {
    ...sampleLead,
    ...testLeadFrom('`leadtap hooks send-test`'),
    ...{
      id: `test-${id}`,
      automation_trigger_id: id,
      createdAt: at,
      updatedAt: at,
      automation_created_at: at,
    },
  };
  return { id: `msg_test_${id}`, body: JSON.stringify(lead) };
}

const hmac = (key: Uint8Array, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** Derived from the signing key of the instance, so that a copy of the database alone cannot sign events. */
const deriveSigningKey = (signingSecret: Uint8Array, hookId: string): Buffer =>
  hmac(hmac(signingSecret, 'leadtap hooks'), hookId);

/** What the subscriber gets. */
export const secretOf = (signingSecret: Uint8Array, hookId: string): string =>
  `whsec_${deriveSigningKey(signingSecret, hookId).toString('base64')}`;

const messageId = (hookId: string, since: number, end: number | string): string =>
  `msg_${createHash('sha256').update(`${hookId} ${since} ${end}`).digest('base64url').slice(0, 22)}`;

/**
 * One signature for each signing key: after a key rotation, receivers verify with the secret that they have as long as the old key
 * is listed.
 */
const signatureOf = (
  signingSecrets: readonly Uint8Array[],
  hookId: string,
  { id, timestampS, body }: { readonly id: string; readonly timestampS: number; readonly body: string },
): string =>
  signingSecrets
    .map(
      (secret) =>
        `v1,${hmac(deriveSigningKey(secret, hookId), `${id}.${timestampS}.${body}`).toString('base64')}`,
    )
    .join(' ');
