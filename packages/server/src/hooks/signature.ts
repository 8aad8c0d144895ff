/** Secrets and signatures of events, as in Standard Webhooks. */
import { createHash, createHmac } from 'node:crypto';

const hmac = (key: Uint8Array, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** Derived from the signing key of the instance, so that a copy of the database alone cannot sign events. */
const keyOf = (signingSecret: Uint8Array, hookId: string): Buffer =>
  hmac(hmac(signingSecret, 'leadtap hooks'), hookId);

/** What the subscriber gets. */
export const secretOf = (signingSecret: Uint8Array, hookId: string): string =>
  `whsec_${keyOf(signingSecret, hookId).toString('base64')}`;

/** The same for repetitions of one event, so that a receiver can drop them. */
export const eventId = (hookId: string, since: number, through: number): string =>
  `msg_${createHash('sha256').update(`${hookId} ${since} ${through}`).digest('base64url').slice(0, 22)}`;

/**
 * One signature for each signing key: after a key rotation, receivers verify with the secret that they have as long as the old key
 * is listed.
 */
export const signatureOf = (
  signingSecrets: readonly Uint8Array[],
  hookId: string,
  { id, timestampS, body }: { readonly id: string; readonly timestampS: number; readonly body: string },
): string =>
  signingSecrets
    .map((secret) => `v1,${hmac(keyOf(secret, hookId), `${id}.${timestampS}.${body}`).toString('base64')}`)
    .join(' ');
