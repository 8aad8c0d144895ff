/** One event of a webhook subscription: there are leads after `since`, up to `through`. Signed as in Standard Webhooks. */
import { createHash, createHmac } from 'node:crypto';
import { type HookEvent, MAX_LEADS_PER_PAGE, NEW_LEADS_PATH } from '@leadtap/contract';
import { toIso } from '../clock.ts';
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

export async function sendEvent(
  delivery: Delivery,
  { hook, claimedAt, companyId }: Pick<DueHook, 'hook' | 'claimedAt'> & Partial<DueHook>,
  window: EventWindow,
  options: EventOptions,
): Promise<Outcome | 'aborted'> {
  // The list may have become shorter since the subscription.
  const checked = checkHookUrl(hook.url, options.hosts);
  if (checked.kind !== 'allowed') return { kind: 'not-allowed' };
  return delivery.post(checked.url, ...createEvent(hook, claimedAt, window, options), companyId);
}

/** The headers and the body of one attempt. `now` is the time of the database, like all times of a hook. */
function createEvent(
  hook: Hook,
  now: number,
  { since, through }: EventWindow,
  { publicUrl, signingSecrets, version }: EventOptions,
): [headers: Record<string, string>, body: string] {
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
  const body = JSON.stringify(event);
  const id = eventId(hook.id, since, through);
  const timestampS = Math.floor(now / 1000);
  const headers = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    'user-agent': `Leadtap/${version}`,
    'webhook-id': id,
    'webhook-timestamp': String(timestampS),
    'webhook-signature': signatureOf(signingSecrets, hook.id, { id, timestampS, body }),
  };
  return [headers, body];
}

const hmac = (key: Uint8Array, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** Derived from the signing key of the instance, so that a copy of the database alone cannot sign events. */
const keyOf = (signingSecret: Uint8Array, hookId: string): Buffer =>
  hmac(hmac(signingSecret, 'leadtap hooks'), hookId);

/** What the subscriber gets. */
export const secretOf = (signingSecret: Uint8Array, hookId: string): string =>
  `whsec_${keyOf(signingSecret, hookId).toString('base64')}`;

/** The same for repetitions of one event, so that a receiver can drop them. */
const eventId = (hookId: string, since: number, through: number): string =>
  `msg_${createHash('sha256').update(`${hookId} ${since} ${through}`).digest('base64url').slice(0, 22)}`;

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
    .map((secret) => `v1,${hmac(keyOf(secret, hookId), `${id}.${timestampS}.${body}`).toString('base64')}`)
    .join(' ');
