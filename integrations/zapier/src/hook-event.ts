import { createHmac, timingSafeEqual } from 'node:crypto';
import type { HookEvent } from '@leadtap/contract';
import { type Bundle, errors } from 'zapier-platform-core';

export interface SignedEvent extends Pick<HookEvent, 'data'> {
  /** By the clock of the service, in seconds. */
  readonly sentAtS: number;
}

const refused = (reason: string) => new errors.Error(`An event was refused: ${reason}`, 'event-refused');

/** Zapier writes `Http-Webhook-Id` for `webhook-id`. */
function headerOf({ rawRequest }: Bundle, name: string): string {
  const isNamed = ([key]: [string, string]) => key.toLowerCase().replace(/^http-/, '') === name;
  return Object.entries(rawRequest?.headers ?? {}).find(isNamed)?.[1] ?? '';
}

/** The key in `whsec_…`. An empty one would accept what anyone can sign. */
function signingKeyOf({ subscribeData }: Bundle): Buffer {
  const secret: unknown = Reflect.get(subscribeData ?? {}, 'secret');
  const key = Buffer.from(typeof secret === 'string' ? secret.replace(/^whsec_/, '') : '', 'base64');
  if (key.length === 0) throw refused('the Zap has no secret to verify it. Turn the Zap off and on again.');
  return key;
}

/** Each signature is `v1,` and base64; there is one for each signing key of the service. */
const includes = (signatures: string, expected: Buffer): boolean =>
  signatures.split(' ').some((signature) => {
    const given = Buffer.from(signature.startsWith('v1,') ? signature.slice(3) : '', 'base64');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });

/** The event that Zapier received, if Leadtap has signed it for this Zap (standardwebhooks.com). */
export function readSignedEvent(bundle: Bundle): SignedEvent {
  const body = bundle.rawRequest?.content ?? '';
  const sentAtS = headerOf(bundle, 'webhook-timestamp');
  const signed = `${headerOf(bundle, 'webhook-id')}.${sentAtS}.${body}`;
  const expected = createHmac('sha256', signingKeyOf(bundle)).update(signed).digest();
  if (!includes(headerOf(bundle, 'webhook-signature'), expected))
    throw refused(
      'Leadtap has not signed it for this Zap. If no new lead starts the Zap, turn the Zap off and on again.',
    );
  const { data }: HookEvent = JSON.parse(body);
  return { data, sentAtS: Number(sentAtS) };
}

const TOLERANCE_S = 5 * 60;

/** Why an event is too old, or undefined: it may be a copy that somebody has recorded. */
export function explainStale({ sentAtS }: SignedEvent, nowMs: number): Error | undefined {
  const ageS = Math.floor(nowMs / 1000) - sentAtS;
  if (Math.abs(ageS) <= TOLERANCE_S) return undefined;
  return refused(
    `by its time it was sent ${ageS < 0 ? `in ${-ageS} s` : `${ageS} s ago`}; at most ${TOLERANCE_S} s are allowed. Its leads come with the next event. If this repeats, ask the operator of Leadtap to check the clock of the server.`,
  );
}
