/** One event of a webhook subscription: there are leads after `since`, up to `through`. */
import { type HookEvent, MAX_LEADS_PER_PAGE, NEW_LEADS_PATH } from '@leadtap/contract';
import { toIso } from '../clock.ts';
import type { Delivery } from './deliver.ts';
import type { Outcome } from './rules.ts';
import { eventId, signatureOf } from './signature.ts';
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
