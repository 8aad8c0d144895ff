/** How what is stored of a sender and its new requests become one. */
import { addHours } from '../attempts/hours.ts';
import { laterOf, MAX_CLOCK_SKEW_MS, toIso } from '../lib/clock.ts';
import { SENDER_DAYS, type Sender, type SenderDay, type SenderSummary } from './sender-store.ts';

const DAY_MS = 86_400_000;

export const dayOf = (at: number): string => toIso(at).slice(0, 10);

/** Of the last 30 days, of which today is one. */
export const firstDayOf = (now: number): string => dayOf(now - (SENDER_DAYS - 1) * DAY_MS);

/** Two instances may write in any order. */
export function mergeSender(stored: Sender | undefined, requests: SenderSummary, companyId: string): Sender {
  const {
    mustBeIssued: _,
    attempts: __,
    writtenAt,
    hours: added = [],
    source = null,
    tokenExpiresAt = null,
    ...rest
  } = requests;
  const hours = addHours(stored?.hours ?? null, added, writtenAt);
  if (!stored)
    return { ...rest, companyId, source, tokenExpiresAt, firstRequestAt: rest.lastRequestAt, hours };
  const latest = writtenAt + MAX_CLOCK_SKEW_MS;
  // Times of the future are of a clock that was set back since.
  const known = (at: number | null): number | null => (at === null || at > latest ? null : at);
  const storedRefusal = known(stored.lastRefusal?.at ?? null) === null ? null : stored.lastRefusal;
  const isLater = rest.lastRequestAt >= (known(stored.lastRequestAt) ?? Number.NEGATIVE_INFINITY);
  return {
    userId: rest.userId,
    tokenId: rest.tokenId,
    companyId,
    source: requests.source === undefined ? stored.source : requests.source,
    tokenExpiresAt: isLater && requests.tokenExpiresAt !== undefined ? tokenExpiresAt : stored.tokenExpiresAt,
    firstRequestAt: Math.min(stored.firstRequestAt, rest.lastRequestAt),
    lastRequestAt: isLater ? rest.lastRequestAt : stored.lastRequestAt,
    lastAcceptedAt: laterOf(known(stored.lastAcceptedAt), rest.lastAcceptedAt),
    lastRefusal: isRefusalLater(storedRefusal, rest.lastRefusal) ? storedRefusal : rest.lastRefusal,
    lastUnkeptAt: laterOf(known(stored.lastUnkeptAt), rest.lastUnkeptAt),
    days: mergeDays(stored.days, rest.days, writtenAt, dayOf(latest)),
    hours,
  };
}

export const toDay = (day: string, accepted: number, refused: number, unkept: number): SenderDay =>
  unkept === 0 ? [day, accepted, refused] : [day, accepted, refused, unkept];

const isRefusalLater = (a: Sender['lastRefusal'], b: Sender['lastRefusal']): boolean =>
  b === null || (a !== null && a.at > b.at);

function mergeDays(
  stored: readonly SenderDay[],
  added: readonly SenderDay[],
  now: number,
  lastDay: string,
): readonly SenderDay[] {
  const firstDay = firstDayOf(now);
  const days = new Map<string, SenderDay>();
  for (const [day, ...counts] of [...stored, ...added]) {
    if (day < firstDay || day > lastDay) continue;
    const [, ...before] = days.get(day) ?? [day, 0, 0];
    const sum = (index: 0 | 1 | 2): number => (before[index] ?? 0) + (counts[index] ?? 0);
    days.set(day, toDay(day, sum(0), sum(1), sum(2)));
  }
  return [...days.values()].sort(([a], [b]) => (a < b ? -1 : 1));
}
