import { MAX_WAIT_S, MIN_WAIT_S } from '@leadtap/contract';
import { parseParameter, splitUnquoted } from '../http/header-values.ts';

/**
 * The seconds of `Prefer: wait=N`, at most 50. Undefined if the request has no such preference, or one that cannot be honoured:
 * RFC 7240 lets a server ignore it. Of several, the first one counts. Parameters of a preference are ignored.
 */
export function parseWait(prefer: string | string[] | undefined): number | undefined {
  const text = Array.isArray(prefer) ? prefer.join(', ') : (prefer ?? '');
  for (const preference of splitUnquoted(text, ',')) {
    // Thousands of empty preferences fit into a header.
    if (!/^\s*wait\b/i.test(preference)) continue;
    const [first = ''] = splitUnquoted(preference, ';');
    const { name, value } = parseParameter(first);
    if (name !== 'wait') continue;
    const seconds = /^\d+$/.test(value) ? Number(value) : 0;
    return seconds < MIN_WAIT_S ? undefined : Math.min(seconds, MAX_WAIT_S);
  }
  return undefined;
}
