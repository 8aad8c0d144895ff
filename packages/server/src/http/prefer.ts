import { MAX_WAIT_S, MIN_WAIT_S } from '@leadtap/contract';

/** A preference of RFC 7240: its name, its value (a token or a quoted string), and parameters, which are ignored. */
const PREFERENCE = /^([^\s"=;]+)(?:[ \t]*=[ \t]*("(?:[^"\\]|\\.)*"|[^"=;\s]*))?[ \t]*(?:;.*)?$/s;
/** Separated by commas outside quoted strings. */
const SEPARATED = /(?:"(?:[^"\\]|\\.)*"|[^",])+/gs;

/**
 * The seconds of `Prefer: wait=N`, at most 50. Undefined if the request has no such preference, or one that cannot be honoured:
 * RFC 7240 lets a server ignore it. Of several, the first one counts.
 */
export function parseWait(prefer: string | string[] | undefined): number | undefined {
  const text = Array.isArray(prefer) ? prefer.join(', ') : (prefer ?? '');
  for (const preference of text.match(SEPARATED) ?? []) {
    const [, name = '', value = ''] = PREFERENCE.exec(preference.trim()) ?? [];
    if (name.toLowerCase() !== 'wait') continue;
    const digits = value.startsWith('"') ? value.slice(1, -1) : value;
    const seconds = /^\d+$/.test(digits) ? Number(digits) : 0;
    return seconds < MIN_WAIT_S ? undefined : Math.min(seconds, MAX_WAIT_S);
  }
  return undefined;
}
