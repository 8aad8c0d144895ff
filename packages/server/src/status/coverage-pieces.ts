/** Which leads no consumer has: what is left of the last 30 days without the positions of the consumers that may see a place. */
import { includesScope, parseScopes, scopesOf } from '../consumers/scopes.ts';
import { type Consumer, type EndedConsumer, positionOf } from '../consumers/store.ts';
import { hasEnded } from '../hooks/store.ts';
import { isInScope, mayPoll, type Place, type PollingUser, scopeOf } from '../leads/access.ts';
import type { LeadScope } from '../leads/record.ts';
import { AFTER_ALL_MS, BEFORE_ALL_MS } from '../sql/sql.ts';
import { toConsumerHookJson } from './consumer-hooks.ts';
import {
  type ConsumerState,
  type ListedConsumer,
  leadHookOf,
  missedLeadsOf,
  pendingOf,
  positionOfLeadHook,
} from './consumer-states.ts';
import { nameOf } from './sentences.ts';

/** A consumer, as far as it decides who has a lead. */
export interface Viewer {
  readonly name: string;
  readonly scope: LeadScope;
  /** What it was sent in this scope came after it. Null: from the first lead. */
  readonly after: number | null;
  /** The leads after it wait. Null: all do. */
  readonly position: number | null;
  /** Up to the position. */
  readonly gaps: readonly {
    readonly after: number | null;
    readonly through: number;
    readonly isBeforeStart: boolean;
  }[];
  /** `silent`: it has not polled for so long that it no longer counts. `ended`: its token has. */
  readonly state: 'live' | 'silent' | 'ended';
  /** If it does not exist any more: the leads until then waited for it. */
  readonly endedAt?: number;
}

export interface ViewerSource extends Omit<Viewer, 'scope' | 'after'> {
  readonly userId: string;
  /** Undefined: it was not read with the consumer. */
  readonly user: PollingUser | undefined;
  /** As in `ConsumerPosition`. */
  readonly scopes: string | null;
  /** Leads until then that it could not see are no loss. Null: it is not known. */
  readonly firstPollAt: number | null;
  /** A problem names it: its leads wait for it, and are not reported once more. */
  readonly isNamed: boolean;
}

export interface RemovedViewer extends ViewerSource {
  /** Of the token, or of the webhook that sent leads. */
  readonly tokenId: string | null;
}

/** As the diagnosis has judged it. */
interface JudgedConsumer {
  readonly listed: ListedConsumer;
  readonly state: ConsumerState;
  readonly problems: readonly unknown[];
}

export function toViewerSource({ listed, state, problems }: JudgedConsumer, now: number): ViewerSource {
  const isNamed = problems.length > 0;
  const { consumer, hook, name, tokenId, userId } = listed;
  const position = consumer ?? positionOfLeadHook(leadHookOf(listed));
  // An identity provider replaces its tokens by itself.
  const expiresAt = consumer?.tokenIssuedAt == null ? null : consumer.tokenExpiresAt;
  const isEnded = consumer
    ? consumer.tokenEnded !== null || (expiresAt !== null && expiresAt <= now)
    : hasEnded(hook?.state);
  // A token that has never polled gets the leads since its subscription.
  const start = hook?.createdAt ?? now;
  return {
    ...{ userId, user: pendingOf(listed)?.user, isNamed },
    scopes: (consumer ?? leadHookOf(listed))?.scopes ?? null,
    firstPollAt: consumer?.firstPollAt ?? null,
    name: nameOf({ name, tokenId, hook: toConsumerHookJson(hook) }),
    position: position ? positionOf(position) : start,
    gaps: [
      ...(position?.gaps ?? [{ after: null, through: start, isBeforeStart: true }]),
      ...missedLeadsOf(listed).map(toGap),
    ],
    state: isNamed ? 'live' : isEnded ? 'ended' : state === 'inactive' ? 'silent' : 'live',
  };
}

/** The token was revoked: what it was sent before, it has. */
export function toEndedViewer(consumer: Consumer): RemovedViewer {
  const { name, tokenId, userId, user, scopes, firstPollAt, gaps, missedLeads } = consumer;
  return {
    ...{
      userId,
      tokenId,
      user,
      scopes,
      firstPollAt,
      name: nameOf({ name, tokenId }),
      position: positionOf(consumer),
    },
    ...{ gaps: [...gaps, ...missedLeads.map(toGap)], isNamed: false, state: 'ended' },
  };
}

/** It does not exist any more. */
export function toDeletedViewer({ userId, tokenId, user, through, ...ended }: EndedConsumer): RemovedViewer {
  const { scopes, gaps, missedLeads, endedAt } = ended;
  return {
    // Without a plan: it gets no lead any more.
    ...{ userId, tokenId, user: { ...user, plan: '' }, scopes, firstPollAt: null, endedAt },
    ...{ name: nameOf({ name: null, tokenId }), position: through },
    ...{ gaps: [...gaps, ...missedLeads.map(toGap)], isNamed: false, state: 'ended' },
  };
}

/** As one viewer for what its user may see now, and one for each other scope in which it was sent leads before. */
export function viewersOf({ user, scopes, isNamed, firstPollAt, ...source }: ViewerSource): Viewer[] {
  const { name, gaps, position } = source;
  const now = user && scopeOf(user);
  const state = user && (mayPoll(user) || isNamed) ? source.state : 'ended';
  const recorded = position === null ? [] : parseScopes(scopes);
  const viewers: Viewer[] = [];
  const unseen: Viewer['gaps'][number][] = [];
  for (const [index, part] of recorded.entries()) {
    const { after } = part;
    const through = Math.min(position ?? BEFORE_ALL_MS, recorded[index + 1]?.after ?? AFTER_ALL_MS);
    const sent = scopesOf(part);
    const hadAll = now !== undefined && sent.some((scope) => includesScope(scope, now));
    for (const scope of sent.filter((one) => !hadAll || !includesScope(now, one)))
      viewers.push({ name, gaps, scope, after, position: through, state: 'ended' });
    if (hadAll) continue;
    const start = Math.min(through, firstPollAt ?? BEFORE_ALL_MS);
    unseen.push({ after, through: start, isBeforeStart: true }, { after, through, isBeforeStart: false });
  }
  if (!now) return viewers;
  return [{ ...source, gaps: toDisjoint([...gaps, ...unseen]), scope: now, after: null, state }, ...viewers];
}

/** A time in several gaps is in the first of them alone. */
function toDisjoint(gaps: Viewer['gaps']): Viewer['gaps'] {
  let last = BEFORE_ALL_MS;
  return gaps
    .map((gap) => ({ ...gap, after: gap.after ?? BEFORE_ALL_MS }))
    .sort((a, b) => a.after - b.after)
    .flatMap((gap) => {
      const after = Math.max(gap.after, last);
      last = Math.max(last, gap.through);
      return after < gap.through ? [{ ...gap, after }] : [];
    });
}

/** A lead that was moved to where the consumer sees it, and was not sent to it since. */
const toGap = (createdAt: number) => ({ after: createdAt - 1, through: createdAt, isBeforeStart: false });

/** Leads that no consumer of a place has: a range of `createdAt` that lies on one side of each position and gap. */
export interface Piece {
  readonly after: number;
  readonly through: number;
  /** It gets these leads with its next poll. */
  readonly next: Viewer | undefined;
  readonly silent: Viewer | undefined;
  /** A consumer whose token has ended has the leads before them. */
  readonly isAfterEnded: boolean;
  /** They waited for a consumer that does not exist any more. */
  readonly hasLostViewer: boolean;
  readonly isSkipped: boolean;
  /** A consumer has started after them. */
  readonly isBeforeStart: boolean;
}

/** The part of each piece that this consumer does not have either. */
export function addViewer(pieces: readonly Piece[], viewer: Viewer): Piece[] {
  const { position, gaps, state, endedAt } = viewer;
  const start = viewer.after ?? BEFORE_ALL_MS;
  const tail = position ?? BEFORE_ALL_MS;
  return pieces.flatMap((piece) => {
    const { next, silent } = piece;
    // A lead of the same millisecond came after it.
    const waitEnd = Math.max(tail, (endedAt ?? tail + 1) - 1);
    const rest = [
      ...clip(piece, tail, waitEnd).map((part) => ({ ...part, hasLostViewer: true })),
      ...clip(piece, waitEnd, AFTER_ALL_MS),
    ].map((part) => ({
      ...part,
      next: next ?? (state === 'live' ? viewer : undefined),
      silent: silent ?? (state === 'silent' ? viewer : undefined),
      isAfterEnded: part.isAfterEnded || (state === 'ended' && position !== null),
    }));
    const skipped = gaps.flatMap(({ after, through, isBeforeStart }) =>
      clip(piece, Math.max(start, after ?? start), Math.min(through, tail)).map((part) => ({
        ...part,
        isSkipped: part.isSkipped || !isBeforeStart,
        isBeforeStart: part.isBeforeStart || isBeforeStart,
      })),
    );
    return [...clip(piece, BEFORE_ALL_MS, start), ...skipped, ...rest];
  });
}

/** Whether it had received the lead, as far as is known. Not for imported history. */
export function hasReceived(source: ViewerSource, createdAt: number, place: Place): boolean {
  const pieces = piecesSince(createdAt).flatMap((piece) => clip(piece, BEFORE_ALL_MS, createdAt));
  return viewersOf(source).some(
    (viewer) => isInScope(viewer.scope, place) && addViewer(pieces, viewer).length === 0,
  );
}

function clip(piece: Piece, after: number, through: number): Piece[] {
  const part = { ...piece, after: Math.max(piece.after, after), through: Math.min(piece.through, through) };
  return part.after < part.through ? [part] : [];
}

export const piecesSince = (since: number): Piece[] => [
  {
    ...{ after: since - 1, through: AFTER_ALL_MS, next: undefined, silent: undefined },
    ...{ isAfterEnded: false, hasLostViewer: false, isSkipped: false, isBeforeStart: false },
  },
];

export type UnreachedKind = 'waiting' | 'skipped' | 'beforeStart' | 'unseen';

export function kindOf({ next, silent, isAfterEnded, isSkipped, isBeforeStart }: Piece): UnreachedKind {
  if (next) return 'waiting';
  if (isSkipped) return 'skipped';
  return isBeforeStart && !silent && !isAfterEnded ? 'beforeStart' : 'unseen';
}
