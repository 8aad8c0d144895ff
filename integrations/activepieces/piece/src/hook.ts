/** The webhook subscription of a flow: Leadtap sends an event when there are new leads. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { type Connection, request } from './request.ts';

export interface Hook {
  readonly id: string;
  readonly secret: string;
}

/** The same URL again is the same hook, enabled again. A new one announces the leads after `since`. */
export async function subscribe(connection: Connection, url: string, since: string): Promise<Hook> {
  const { host, status, body } = await request(connection, 'hooks', { method: 'POST', body: { url, since } });
  const { id, secret } = (body ?? {}) as Partial<Hook>;
  if (typeof id !== 'string' || typeof secret !== 'string')
    throw new Error(
      `${host} answered ${status}, but not with a subscription of Leadtap. Check the base address: another page or program answers there.`,
    );
  return { id, secret };
}

export async function unsubscribe(connection: Connection, { id }: Hook): Promise<void> {
  await request(connection, `hooks/${id}`, { method: 'DELETE' });
}

/**
 * Whether the event is from Leadtap: a signature as in Standard Webhooks. Its age does not matter, because Activepieces queues
 * events, and because one that is repeated causes a poll and nothing else.
 */
export function isSigned(
  { headers, rawBody }: { readonly headers: Readonly<Record<string, string>>; readonly rawBody?: unknown },
  { secret }: Hook,
): boolean {
  const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${rawBody}`;
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const expected = Buffer.from(`v1,${createHmac('sha256', key).update(content).digest('base64')}`);
  return String(headers['webhook-signature'])
    .split(' ')
    .map((signature) => Buffer.from(signature))
    .some((given) => given.length === expected.length && timingSafeEqual(given, expected));
}
