/** All connections and what is said of them: the same for the API, the status page, the commands and the alerts. */
import {
  type ConnectionHour,
  type Connections,
  DOOR_ID,
  type InConnection,
  MAX_COUNTED_LEADS,
  type OutConnection,
  PHRASES,
  UNASSIGNED_ID,
} from '@leadtap/contract';
import type { LeadScope } from '../leads/record.ts';
import { type Clock, toIso, toIsoOrNull } from '../lib/clock.ts';
import { pagesOf } from '../lib/pages.ts';
import { newConnection } from './polls.ts';
import { type Judgement, judge, lostOf, type Moment } from './rules.ts';
import { type JudgedRow, levelOf, sentenceOf, sortRows } from './sentence.ts';
import type { Connection, ConnectionFacts, ConnectionStore, MissedReason, TimeSpan } from './store.ts';

export interface ReportSources {
  readonly connections: ConnectionStore;
  readonly clock: Clock;
  readonly timeZone: string;
  readonly silentAfterMs: number;
  /** Of tokens: others are not accepted any more. */
  readonly acceptedKeys: readonly string[];
  /** The setting that keeps leads from being sent there. */
  readonly stoppedBy: (origin: string) => ConnectionFacts['stoppedBy'];
}

export interface ReportQuery {
  readonly companyId?: string | undefined;
  readonly userId?: string | undefined;
  /** What the reader may see: the leads that are counted. Undefined: of all companies. */
  readonly scope?: LeadScope | undefined;
  /** With what is of no company: requests with unknown tokens, and those of removed users. */
  readonly hasDoor: boolean;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Figures are of so long at most. */
const COUNTED_MS = 30 * DAY_MS;
const BAR_HOURS = 24;
const PAGE = 100;
const MISSED_REASONS: readonly MissedReason[] = ['passed', 'moved', 'narrowed', 'not-recorded'];

export const DEFAULT_SILENT_AFTER_MS = 15 * 60_000;

export async function readMoment({
  connections,
  clock,
  timeZone,
  silentAfterMs,
}: ReportSources): Promise<Moment> {
  const now = clock();
  const deadTimes = await connections.listDeadTimes(now - COUNTED_MS);
  const since = now - COUNTED_MS;
  return { now, timeZone, silentAfterMs, deadTimes, lastStamp: 0, since, sharedNames: new Set() };
}

export interface Report extends Connections {
  readonly rows: readonly JudgedRow[];
}

export async function readReport(sources: ReportSources, query: ReportQuery): Promise<Report> {
  const { connections } = sources;
  const moment = await readMoment(sources);
  const { leads, firstAt } = await connections.countLeads(query.scope, moment.since, MAX_COUNTED_LEADS);
  const since = firstAt === null ? moment.since : Math.max(moment.since, firstAt - 1);
  const facts: ConnectionFacts[] = [];
  for await (const one of allFacts(sources, query, { ...moment, since })) facts.push(one);
  const counted = { ...moment, since, sharedNames: sharedNamesOf(facts) };
  facts.push(...(await readUnassigned(connections, query)));
  const judged = facts.flatMap((one): JudgedRow[] => {
    const judgement = judge(one, { ...counted, lastStamp: one.lastStamp });
    return judgement ? [{ facts: one, judgement }] : [];
  });
  const rows = sortRows(judged);
  return {
    since: toIso(since),
    level: levelOf(rows),
    message: sentenceOf(rows, leads, counted),
    leads,
    in: rows.filter(isIn).map((row) => toIn(row, counted)),
    out: rows.filter((row) => !isIn(row)).map((row) => toOut(row, counted)),
    rows,
  };
}

function sharedNamesOf(facts: readonly ConnectionFacts[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const names = facts.map(({ connection }) => connection.name);
  return new Set(names.filter((name) => seen.size === seen.add(name).size));
}

const isIn = ({ facts }: JudgedRow): boolean => facts.connection.kind === 'send';

const listPage = async (
  { connections, acceptedKeys, stoppedBy }: ReportSources,
  query: {
    companyId?: string | undefined;
    userId?: string | undefined;
    after?: string | undefined;
    limit: number;
  },
  { now, since }: Moment,
): Promise<readonly ConnectionFacts[]> => {
  const facts = await connections.list({ ...query, now, since, acceptedKeys });
  return facts.map((one) => (one.origin === null ? one : { ...one, stoppedBy: stoppedBy(one.origin) }));
};

async function* allFacts(
  sources: ReportSources,
  { companyId, userId, hasDoor }: ReportQuery,
  moment: Moment,
): AsyncGenerator<ConnectionFacts> {
  const pages = (of: string | undefined) =>
    pagesOf(
      PAGE,
      (last: ConnectionFacts | undefined, limit) =>
        listPage(sources, { companyId: of, userId, after: last?.connection.id, limit }, moment),
      of ?? userId,
    );
  for await (const page of pages(companyId)) yield* page;
  if (companyId !== undefined && hasDoor) for await (const page of pages('')) yield* page;
}

async function readUnassigned(
  connections: ConnectionStore,
  { companyId, userId }: ReportQuery,
): Promise<ConnectionFacts[]> {
  // Those of a user alone may be of places that it does not see.
  if (userId !== undefined) return [];
  const listed = await connections.listUnassigned(companyId);
  const nameOf = (id: string) => (listed.length > 1 ? `${PHRASES.unassigned} (${id})` : PHRASES.unassigned);
  return listed.map((one) => ({
    connection: newConnection({
      ...{ id: UNASSIGNED_ID, companyId: one.companyId, userId: '', kind: 'poll' },
      ...{ name: nameOf(one.companyId), source: 'token', firstAt: one.since },
    }),
    ...{
      user: undefined,
      lastStamp: 0,
      isKeyAccepted: true,
      hasKeys: false,
      oldKeyUsedAt: null,
      keysUntil: null,
      host: null,
      origin: null,
      stoppedBy: null,
      nextTryAt: null,
    },
    ...{
      leads: 0,
      updated: 0,
      waiting: one.leads,
      waitingSince: one.since,
      olderOwed: 0,
      held: 0,
      heldWhy: [],
    },
    missed: { passed: 0, moved: 0, narrowed: 0, 'not-recorded': 0 },
    ...{ lost: [], longestPauseMs: null, hours: [] },
  }));
}

/** Unknown senders have one row. */
export const shownName = ({ id, name }: Pick<Connection, 'id' | 'name'>): string =>
  id === DOOR_ID ? PHRASES.door : name;

function toShared({ facts, judgement }: JudgedRow, moment: Moment) {
  const { connection } = facts;
  const { level, message, fix, action, state, stateSince }: Judgement = judgement;
  return {
    id: connection.id,
    name: shownName(connection),
    userId: connection.userId,
    ...{ level, message, fix, action, state },
    stateSince: toIsoOrNull(stateSince),
    lastAt: toIsoOrNull(connection.lastAt),
    tokenExpiresAt: toIsoOrNull(connection.tokenExpiresAt),
    hours: hoursOf(facts, moment),
  };
}

function toIn(row: JudgedRow, moment: Moment): InConnection {
  const { connection, leads, updated, held } = row.facts;
  return {
    ...toShared(row, moment),
    source: connection.source,
    lastLeadAt: toIsoOrNull(connection.lastLeadAt),
    ...{ added: leads, updated, held },
    lost: lostOf(row.facts),
  };
}

function toOut(row: JudgedRow, moment: Moment): OutConnection {
  const { connection, host, leads, waiting, waitingSince, missed } = row.facts;
  return {
    ...toShared(row, moment),
    kind: connection.kind === 'webhook' ? 'webhook' : 'poll',
    ...{ host, sent: leads, waiting },
    waitingSince: toIsoOrNull(waitingSince),
    missed: MISSED_REASONS.reduce((sum, why) => sum + missed[why], 0),
    endedAt: toIsoOrNull(connection.endedAt),
  };
}

/** The service ran in a part of it, and the connection was there. */
const isKnown = (from: number, firstAt: number, deadTimes: readonly TimeSpan[]): boolean =>
  from + HOUR_MS > firstAt && !deadTimes.some((dead) => dead.from <= from && from + HOUR_MS <= dead.until);

interface BarHour {
  readonly hour: number;
  readonly at: string;
}

/** The same for all rows of a report: to write a time takes longer than all else of an hour. */
let bar: readonly BarHour[] = [];
function barOf(now: number): readonly BarHour[] {
  const current = Math.floor(now / HOUR_MS);
  if (bar.at(-1)?.hour !== current)
    bar = Array.from({ length: BAR_HOURS }, (_, index) => {
      const hour = current - BAR_HOURS + 1 + index;
      return { hour, at: toIso(hour * HOUR_MS) };
    });
  return bar;
}

function hoursOf({ connection, hours }: ConnectionFacts, { now, deadTimes }: Moment): ConnectionHour[] {
  const known = new Map(hours.map((one) => [one.hour, one]));
  return barOf(now).map(({ hour, at }) => {
    const { leads = 0, failed = 0 } = known.get(hour) ?? {};
    return { at, leads, failed, known: isKnown(hour * HOUR_MS, connection.firstAt, deadTimes) };
  });
}
