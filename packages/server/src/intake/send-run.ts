/** A request that sends leads, as it is recorded. */
import type { SendRun } from '../connections/store.ts';
import { CLIENT_CLOSED_REQUEST, type Exchange } from '../http/exchange.ts';
import { shownNames } from '../leads/shown-names.ts';

/** Names of fields, never their values. */
export function sendRunOf(
  { status, problem, durationMs }: Pick<Exchange, 'status' | 'problem' | 'durationMs'>,
  at: number,
  { added, updated }: { readonly added: number; readonly updated: number },
): SendRun {
  const errors = (problem?.parts.errors ?? []).flatMap((error) => ('field' in error ? [error.field] : []));
  const code = problem?.code ?? (status === CLIENT_CLOSED_REQUEST ? 'client-closed-request' : null);
  return {
    ...{ firstAt: at, lastAt: at, times: 1, status, code, added, updated },
    isHeld: problem?.parts.held === true,
    fields: shownNames(errors),
    durationMs: Math.round(durationMs),
  };
}
