/** The senders in the diagnosis: all are judged and counted, the most urgent are listed. */
import { PROBLEMS } from '@leadtap/contract';
import type { AccountStore } from '../accounts/store.ts';
import { tokenKeyText } from '../accounts/token-key.ts';
import { senderIdOf } from '../attempts/store.ts';
import type { ConsumerStore, Downtime } from '../consumers/store.ts';
import { dayOf, firstDayOf } from '../intake/merge-senders.ts';
import {
  type ListedSender,
  SENDER_DAYS,
  type SenderQuery,
  type SenderStore,
  UNKEPT_MS,
} from '../intake/sender-store.ts';
import type { RefusedLeadStore, RefusedSummary, SenderKey } from '../intake/store.ts';
import { shownNames, shownQuestions } from '../leads/shown-names.ts';
import { type Clock, toIso, toIsoOrNull } from '../lib/clock.ts';
import { takeTurn } from '../lib/event-loop.ts';
import { pagesOf } from '../lib/pages.ts';
import { isInLastDays } from './consumers.ts';
import { last24hOf } from './last-hours.ts';
import {
  NO_SENDERS,
  SENDER_PROBLEMS,
  type SenderProblem,
  type SenderRefused,
  type SenderStatus,
  type SendersStatus,
} from './report.ts';

const DAY_MS = 86_400_000;
const IN_USE_MS = SENDER_DAYS * DAY_MS;
export const MAX_LISTED_SENDERS = 200;
/** SQLite answers no poll while it reads a page: some milliseconds. */
const SENDERS_PER_PAGE = 50;

export interface SenderSources {
  readonly consumers: Pick<ConsumerStore, 'listDowntimes'>;
  readonly senders: Pick<SenderStore, 'list'>;
  readonly refusedLeads: Pick<RefusedLeadStore, 'summarize'>;
  readonly findToken: AccountStore['findToken'];
}

export interface SenderSelection extends Pick<SenderQuery, 'companyId' | 'userId'> {
  /** With `userId`: the company of the user. */
  readonly ownCompanyId?: string | undefined;
  /** `LEADTAP_INTAKE=off`. Default: false. */
  readonly isIntakeOff?: boolean | undefined;
}

/** All senders, or those of a company or a user, page by page: each with its problems. */
export async function* senderPages(
  { consumers, senders, refusedLeads, findToken }: SenderSources,
  { companyId, userId, ownCompanyId, isIntakeOff = false }: SenderSelection,
  now: number,
): AsyncGenerator<readonly SenderStatus[]> {
  await takeTurn(companyId ?? userId);
  const summaries = await refusedLeads.summarize(companyId ?? ownCompanyId);
  const moment = { now, isIntakeOff, downtimes: await consumers.listDowntimes() };
  const kept = new Map(
    summaries.flatMap((one) =>
      userId === undefined || one.userId === userId ? [[senderText(one), one] as const] : [],
    ),
  );
  const listed = pagesOf<ListedSender>(
    SENDERS_PER_PAGE,
    (after, limit) => senders.list({ companyId, userId, after, limit, now }),
    companyId ?? userId,
  );
  for await (const page of listed)
    yield page.map((sender) => {
      const key = senderText(sender);
      const status = toStatus(sender, kept.get(key), moment);
      kept.delete(key);
      return status;
    });
  for (const one of kept.values()) {
    const name = (one.tokenId !== null && (await findToken(one.tokenId))?.name) || null;
    yield [toStatus(unrecordedSender(one, name), one, moment)];
  }
}

/** Its requests are kept, but it is not recorded: an instance was killed before, or its user has too many tokens. */
const unrecordedSender = (
  { companyId, userId, tokenId, code, requests, firstAt, lastAt, fields }: RefusedSummary,
  name: string | null,
): ListedSender => ({
  ...{ companyId, userId, tokenId, name, source: null, tokenExpiresAt: null, tokenIssuedAt: null },
  ...{ firstRequestAt: firstAt, lastRequestAt: lastAt, lastAcceptedAt: null, lastUnkeptAt: null },
  lastRefusal: { at: lastAt, status: PROBLEMS[code].status, code, fields: shownNames(fields) },
  ...{ days: [[dayOf(lastAt), 0, requests]], hours: null },
  ...{ isRevoked: false, isReplaced: false },
});

const senderText = (sender: SenderKey): string => `${sender.companyId}\0${tokenKeyText(sender)}`;

/** Counts all senders, and lists the most urgent. */
export async function readSenders(
  sources: SenderSources,
  clock: Clock,
  selection: SenderSelection = {},
): Promise<SendersStatus> {
  const problems = { ...NO_SENDERS.problems };
  let total = 0;
  let listed: SenderStatus[] = [];
  for await (const page of senderPages(sources, selection, clock())) {
    total += page.length;
    for (const problem of page.flatMap((sender) => sender.problems)) problems[problem] += 1;
    listed = [...listed, ...page].sort(compare).slice(0, MAX_LISTED_SENDERS);
  }
  return { recorded: !selection.isIntakeOff, total, problems, listed };
}

interface Moment {
  readonly now: number;
  readonly isIntakeOff: boolean;
  readonly downtimes: readonly Downtime[];
}

function toStatus(sender: ListedSender, kept: RefusedSummary | undefined, moment: Moment): SenderStatus {
  const { now, downtimes } = moment;
  const { name, tokenId, userId, companyId, source, lastRefusal, isRevoked, isReplaced } = sender;
  const firstDay = firstDayOf(now);
  const days = sender.days.filter(([day]) => day >= firstDay);
  const refused = refusedOf(sender, kept, now);
  return {
    id: senderIdOf(sender),
    ...{ name, tokenId, userId, companyId, source },
    tokenExpiresAt: toIsoOrNull(sender.tokenExpiresAt),
    lastRequestAt: toIso(sender.lastRequestAt),
    lastAcceptedAt: toIsoOrNull(sender.lastAcceptedAt),
    lastRefusal: lastRefusal && {
      ...{ at: toIso(lastRefusal.at), code: lastRefusal.code, fields: shownNames(lastRefusal.fields) },
    },
    accepted30d: days.reduce((sum, [, accepted]) => sum + accepted, 0),
    refused30d: days.reduce((sum, [, , count]) => sum + count, 0),
    last24h: last24hOf([{ hours: sender.hours, lastAt: sender.lastRequestAt }], now, downtimes),
    ...{ refused, isRevoked, isReplaced },
    isInUse: now - sender.lastRequestAt <= IN_USE_MS,
    problems: problemsOf(sender, refused, moment),
  };
}

/** Of the last 7 days. Leads that were accepted later prove nothing: they may be of other people. */
export function unkeptOf({ lastUnkeptAt, days }: Pick<ListedSender, 'lastUnkeptAt' | 'days'>, now: number) {
  if (lastUnkeptAt === null || now - lastUnkeptAt > UNKEPT_MS)
    return { unkept: 0, unkeptSince: null, unkeptAt: null };
  const firstDay = dayOf(now - UNKEPT_MS);
  const counted = days.filter(([day, , , unkept = 0]) => day >= firstDay && unkept > 0);
  // An earlier version counted none.
  const unkept = Math.max(
    1,
    counted.reduce((sum, [, , , count = 0]) => sum + count, 0),
  );
  return { unkept, unkeptSince: counted[0]?.[0] ?? dayOf(lastUnkeptAt), unkeptAt: toIso(lastUnkeptAt) };
}

/** Until they are repeated with success, accepted or deleted. */
function refusedOf(
  sender: ListedSender,
  kept: RefusedSummary | undefined,
  now: number,
): SenderRefused | null {
  const { lastRefusal, lastUnkeptAt, source } = sender;
  const { unkept, unkeptSince, unkeptAt } = unkeptOf(sender, now);
  if (kept) {
    const { requests, firstAt, lastAt, code, fields } = kept;
    const questions = code === 'no-contact' && source !== null ? shownQuestions(fields) : [];
    const times = { firstAt: toIso(firstAt), lastAt: toIso(lastAt), unkept, unkeptSince, unkeptAt };
    return { kept: kept.held, requests, ...times, code, fields: shownNames(fields), questions };
  }
  const none = { kept: 0, requests: 0, firstAt: null, questions: [] };
  if (unkeptAt === null) return null;
  // A later one may have been kept, and accepted by the operator.
  const cause =
    lastRefusal?.at === lastUnkeptAt
      ? { code: lastRefusal.code, fields: shownNames(lastRefusal.fields) }
      : { code: null, fields: [] };
  // It was deleted later than it was refused.
  const isDeleted = lastRefusal !== null && lastUnkeptAt !== null && lastRefusal.at < lastUnkeptAt;
  const lastAt = isDeleted ? toIso(lastRefusal.at) : unkeptAt;
  return { ...none, ...cause, lastAt, unkept, unkeptSince, unkeptAt };
}

function problemsOf(
  sender: ListedSender,
  refused: SenderRefused | null,
  { now, isIntakeOff }: Moment,
): SenderProblem[] {
  const { tokenIssuedAt, tokenExpiresAt, lastRequestAt, isRevoked, isReplaced } = sender;
  const problems: SenderProblem[] = [];
  if (refused) problems.push('leads-refused');
  const isInUse = now - lastRequestAt <= IN_USE_MS && !isRevoked && !isReplaced;
  if (isIntakeOff) return isInUse ? [...problems, 'intake-off'] : problems;
  // An identity provider replaces its tokens by itself.
  if (!isInUse || tokenIssuedAt === null || tokenExpiresAt === null) return problems;
  if (tokenExpiresAt <= now) problems.push('senders-expired');
  else if (isInLastDays({ issuedAt: tokenIssuedAt, expiresAt: tokenExpiresAt }, now))
    problems.push('senders-expiring');
  return problems;
}

/** Those with a problem first, then those that sent last. */
const rankOf = ({ problems: [first] }: SenderStatus): number =>
  first === undefined ? SENDER_PROBLEMS.length : SENDER_PROBLEMS.indexOf(first);

const compare = (a: SenderStatus, b: SenderStatus): number =>
  rankOf(a) - rankOf(b) ||
  Number(a.lastRequestAt < b.lastRequestAt) - Number(a.lastRequestAt > b.lastRequestAt) ||
  Number(a.id > b.id) - Number(a.id < b.id);
