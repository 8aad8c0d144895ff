/** The requests to a webhook, for the log and the failures of its connection. */
import type { ConnectionKey, PushRun } from '../connections/store.ts';
import type { ClaimResult, SentLead, SentLeads } from './rules.ts';
import type { DueHook, Hook, HookProgress } from './store.ts';

/** A webhook that sends events belongs to the connection that polls with its token. */
export const connectionKeyOf = ({ userId, send, tokenId, connectionId }: Hook): ConnectionKey =>
  send === 'event'
    ? { userId, kind: 'poll', keyId: tokenId }
    : { userId, kind: 'webhook', keyId: connectionId };

interface EndedRequests {
  readonly due: DueHook;
  readonly result: ClaimResult | SentLeads;
  /** The leads that were accepted. */
  readonly sent: readonly SentLead[];
  readonly durationMs: number | undefined;
}

export function pushesOf(
  { due, result, sent, durationMs }: EndedRequests,
  { checkAt }: HookProgress,
  now: number,
): readonly PushRun[] {
  const isEvent = due.hook.send === 'event';
  const end = 'end' in result ? result.end : result;
  const run: PushRun = {
    ...{ firstAt: now, lastAt: now, times: 1, createdAt: [], status: null, failure: null, reason: null },
    ...{ nextTryAt: null, isEvent, isBeside: false },
    durationMs: durationMs === undefined ? null : Math.round(durationMs),
  };
  const status = 'end' in result ? (result.accepted?.status ?? null) : null;
  const runsOf = (leads: readonly SentLead[], isBeside: boolean): readonly PushRun[] => {
    const last = leads.at(-1);
    if (!last) return [];
    const createdAt = leads.map((lead) => lead.createdAt);
    return [{ ...run, times: leads.length, createdAt, status, reason: last.reason ?? null, isBeside }];
  };
  const accepted = [
    ...runsOf(
      sent.filter(({ pending }) => pending),
      true,
    ),
    ...runsOf(
      sent.filter(({ pending }) => !pending),
      false,
    ),
  ];
  switch (end.kind) {
    case 'accepted':
      return isEvent ? [{ ...run, status: end.status, reason: end.reason ?? null }] : accepted;
    case 'refused':
    case 'gone': {
      const nextTryAt = end.kind === 'gone' ? null : checkAt;
      return [
        ...accepted,
        { ...run, status: end.status, failure: end.kind, reason: end.reason ?? null, nextTryAt },
      ];
    }
    case 'timeout':
    case 'unreachable':
      return [...accepted, { ...run, failure: end.kind, nextTryAt: checkAt }];
    case 'not-allowed':
      return [...accepted, { ...run, failure: end.kind, durationMs: null }];
    default:
      return accepted;
  }
}
