/**
 * Whether every lead of the last 30 days has reached a consumer. Leads are delivered in the order of `createdAt`, so the positions and gaps
 * of the consumers that may see a place decide it for all leads of the place. Only the leads outside of them are counted.
 */
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { StoredCompany } from '../accounts/store.ts';
import { type Consumer, positionOf } from '../consumers/store.ts';
import { hasEnded } from '../hooks/store.ts';
import { mayPoll, maySee, type PollingUser, scopeOf } from '../leads/access.ts';
import type { LeadRange, LeadRangeCount } from '../leads/store.ts';
import { type Clock, toIso, toIsoOrNull } from '../lib/clock.ts';
import { AFTER_ALL_MS, BEFORE_ALL_MS } from '../sql/sql.ts';
import type { Store } from '../store/store.ts';
import { toConsumerHookJson } from './consumer-hooks.ts';
import {
  type ConsumerState,
  type ListedConsumer,
  leadHookOf,
  pendingOf,
  positionOfLeadHook,
} from './consumer-states.ts';
import type { LeadCoverage, UnseenPlace } from './report.ts';
import { MAX_PENDING_LEADS, nameOf } from './sentences.ts';

const COUNTED_MS = 30 * 86_400_000;
/** In all places. */
const MAX_UNREACHED = 10 * MAX_PENDING_LEADS;
/** SQLite answers nothing else while it counts: some milliseconds. */
const RANGES_PER_QUERY = 20;
const COMPANIES_PER_PAGE = 100;
const USERS_PER_PAGE = 100;
const MAX_LISTED_PLACES = 20;
/** A slow read is repeated only after ten times as long. */
const PAUSE_FACTOR = 10;

/** A consumer, as far as it decides who has a lead. */
export interface Viewer {
  readonly name: string;
  readonly user: PollingUser;
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
}

/** Its user is undefined if it was not read with the consumer. */
export interface ViewerSource extends Omit<Viewer, 'user'> {
  readonly userId: string;
  readonly user: PollingUser | undefined;
  /** A problem names it: its leads wait for it, and are not reported once more. */
  readonly isNamed: boolean;
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
    name: nameOf({ name, tokenId, hook: toConsumerHookJson(hook) }),
    position: position ? positionOf(position) : start,
    gaps: position?.gaps ?? [{ after: null, through: start, isBeforeStart: true }],
    state: isNamed ? 'live' : isEnded ? 'ended' : state === 'inactive' ? 'silent' : 'live',
  };
}

/** The token was revoked: what it was sent before, it has. */
export const toEndedViewer = ({
  name,
  tokenId,
  userId,
  user,
  gaps,
  ...position
}: Consumer): ViewerSource => ({
  ...{ name: nameOf({ name, tokenId }), userId, user, gaps, position: positionOf(position) },
  ...{ isNamed: false, state: 'ended' },
});

/** Leads that no consumer of a place has: a range of `createdAt` that lies on one side of each position and gap. */
interface Piece {
  readonly after: number;
  readonly through: number;
  /** It gets these leads with its next poll. */
  readonly next: Viewer | undefined;
  readonly silent: Viewer | undefined;
  /** A consumer whose token has ended has the leads before them. */
  readonly isAfterEnded: boolean;
  readonly isSkipped: boolean;
  /** A consumer has started after them. */
  readonly isBeforeStart: boolean;
}

/** The part of each piece that this consumer does not have either. */
function addViewer(pieces: readonly Piece[], viewer: Viewer): Piece[] {
  const { position, gaps, state } = viewer;
  const tail = position ?? BEFORE_ALL_MS;
  return pieces.flatMap((piece) => {
    const { next, silent } = piece;
    const rest = clip(piece, tail, AFTER_ALL_MS).map((part) => ({
      ...part,
      next: next ?? (state === 'live' ? viewer : undefined),
      silent: silent ?? (state === 'silent' ? viewer : undefined),
      isAfterEnded: part.isAfterEnded || (state === 'ended' && position !== null),
    }));
    const skipped = gaps.flatMap(({ after, through, isBeforeStart }) =>
      clip(piece, after ?? BEFORE_ALL_MS, Math.min(through, tail)).map((part) => ({
        ...part,
        isSkipped: part.isSkipped || !isBeforeStart,
        isBeforeStart: part.isBeforeStart || isBeforeStart,
      })),
    );
    return [...skipped, ...rest];
  });
}

function clip(piece: Piece, after: number, through: number): Piece[] {
  const part = { ...piece, after: Math.max(piece.after, after), through: Math.min(piece.through, through) };
  return part.after < part.through ? [part] : [];
}

const piecesSince = (since: number): Piece[] => [
  {
    ...{ after: since - 1, through: AFTER_ALL_MS, next: undefined, silent: undefined },
    ...{ isAfterEnded: false, isSkipped: false, isBeforeStart: false },
  },
];

type Kind = 'waiting' | 'skipped' | 'beforeStart' | 'unseen';

function kindOf({ next, silent, isAfterEnded, isSkipped, isBeforeStart }: Piece): Kind {
  if (next) return 'waiting';
  if (isSkipped) return 'skipped';
  return isBeforeStart && !silent && !isAfterEnded ? 'beforeStart' : 'unseen';
}

type Place = Omit<UnseenPlace, 'leads' | 'since' | 'cause' | 'consumer' | 'userId'>;

/** What to count, and what it means. */
interface Task {
  readonly range: LeadRange;
  readonly piece: Piece;
  readonly place: Place;
}

const tasksOf = (pieces: readonly Piece[], place: Place): Task[] =>
  pieces.map((piece) => {
    const { companyId, branchId, departmentId, isOnlyHere } = place;
    const { after, through } = piece;
    return { range: { companyId, branchId, departmentId, isOnlyHere, after, through }, piece, place };
  });

const wholeCompany = ({ id, name }: Pick<StoredCompany, 'id' | 'name'>): Place => ({
  ...{ companyId: id, company: name, branchId: null, branch: null, departmentId: null, department: null },
  isOnlyHere: false,
});

/** Places that have the same consumers are counted as one. */
function planCompany(stored: StoredCompany, viewers: readonly Viewer[], since: number): Task[] {
  const ofLevel = (level: PollingUser['accessLevel'], id?: string) =>
    viewers.filter(({ user }) => {
      if (user.accessLevel !== level) return false;
      return level === 'COMPANY' || (level === 'BRANCH' ? user.branchId : user.departmentId) === id;
    });
  const company = wholeCompany(stored);
  const pieces = ofLevel('COMPANY').reduce(addViewer, piecesSince(since));
  if (pieces.length === 0) return [];
  if (viewers.every(({ user }) => user.accessLevel === 'COMPANY')) return tasksOf(pieces, company);
  const tasks = tasksOf(pieces, { ...company, isOnlyHere: true });
  for (const { id: branchId, name: branch, departments } of stored.branches) {
    const ofBranch = ofLevel('BRANCH', branchId).reduce(addViewer, pieces);
    const viewersOf = new Map(departments.map(({ id }) => [id, ofLevel('DEPARTMENT', id)]));
    const isDivided = [...viewersOf.values()].some(({ length }) => length > 0);
    const place = { ...company, branchId, branch };
    tasks.push(...tasksOf(ofBranch, { ...place, isOnlyHere: isDivided }));
    if (!isDivided) continue;
    for (const { id: departmentId, name: department } of departments) {
      const ofDepartment = (viewersOf.get(departmentId) ?? []).reduce(addViewer, ofBranch);
      tasks.push(...tasksOf(ofDepartment, { ...place, departmentId, department }));
    }
  }
  return tasks;
}

type RangeStore = Pick<Store, 'countLeadsInRanges'>;
type CoverageStore = RangeStore & Pick<Store, 'organisation' | 'findUser'>;

async function* countAll(
  store: RangeStore,
  tasks: readonly Task[],
  limit = MAX_PENDING_LEADS,
): AsyncGenerator<Task & LeadRangeCount> {
  for (let start = 0; start < tasks.length; start += RANGES_PER_QUERY) {
    const some = tasks.slice(start, start + RANGES_PER_QUERY);
    const counts = await store.countLeadsInRanges(
      some.map(({ range }) => range),
      limit,
    );
    for (const [index, count] of counts.entries()) {
      const task = some[index];
      if (task) yield { ...task, ...count };
    }
    // Polls are answered between two queries.
    await setImmediate();
  }
}

/** Adds up what was counted. */
class Sum {
  readonly #counts: Record<Kind, number> = { waiting: 0, skipped: 0, beforeStart: 0, unseen: 0 };
  readonly #next = new Set<string>();
  readonly #unseen = new Map<string, UnseenPlace>();
  /** Not all leads before it were read. */
  #readFrom = BEFORE_ALL_MS;
  #total = 0;
  #firstAt: number | null = null;

  get unreached(): number {
    return Object.values(this.#counts).reduce((sum, count) => sum + count);
  }

  get readFrom(): number {
    return this.#readFrom;
  }

  get isFull(): boolean {
    return this.#total >= MAX_PENDING_LEADS;
  }

  addUnreached({ piece, place, count, firstAt, readFrom }: Task & LeadRangeCount): void {
    if (readFrom !== null && count < MAX_PENDING_LEADS) this.#readFrom = Math.max(this.#readFrom, readFrom);
    if (count === 0 || firstAt === null) return;
    const kind = kindOf(piece);
    this.#counts[kind] += count;
    if (piece.next) this.#next.add(piece.next.name);
    if (kind !== 'unseen') return;
    const { silent, isBeforeStart } = piece;
    const cause = silent ? 'silent' : isBeforeStart ? 'between' : 'none';
    const key = JSON.stringify([place.companyId, place.branchId, place.departmentId, cause]);
    const known = this.#unseen.get(key);
    const from = readFrom === null ? firstAt : piece.after + 1;
    this.#unseen.set(key, {
      ...place,
      leads: count + (known?.leads ?? 0),
      since: toIso(Math.min(from, known ? Date.parse(known.since) : from)),
      ...{ cause, consumer: known?.consumer ?? silent?.name ?? null, userId: null },
    });
  }

  get isEmpty(): boolean {
    return this.#total === 0;
  }

  addTotal({ count, firstAt }: LeadRangeCount): void {
    this.#total = Math.min(this.#total + count, MAX_PENDING_LEADS);
    if (firstAt !== null) this.#firstAt = Math.min(this.#firstAt ?? firstAt, firstAt);
  }

  toCoverage(hasLeads: boolean): LeadCoverage {
    const isPart = this.#readFrom > BEFORE_ALL_MS;
    return {
      ...{ hasLeads, leads: this.#total },
      since: toIsoOrNull(isPart ? this.#readFrom : this.isFull ? null : this.#firstAt),
      ...this.#counts,
      waitingFor: [...this.#next],
      // The worst first.
      unseenPlaces: [...this.#unseen.values()]
        .sort((a, b) => b.leads - a.leads || a.since.localeCompare(b.since))
        .slice(0, MAX_LISTED_PLACES),
    };
  }
}

/** Those who may poll at all. A consumer of another user has what it was sent before. */
async function findViewers(
  store: Pick<CoverageStore, 'findUser'>,
  sources: readonly ViewerSource[],
): Promise<Map<string, Viewer[]>> {
  const users = new Map<string, PollingUser | undefined>();
  const byCompany = new Map<string, Viewer[]>();
  for (const { userId, isNamed, ...source } of sources) {
    if (!source.user && !users.has(userId)) users.set(userId, await store.findUser(userId));
    const user = source.user ?? users.get(userId);
    if (!user || !scopeOf(user)) continue;
    const viewers = byCompany.get(user.companyId) ?? [];
    byCompany.set(user.companyId, viewers);
    viewers.push({ ...source, user, state: mayPoll(user) || isNamed ? source.state : 'ended' });
  }
  return byCompany;
}

/** For the command that adds an automation. */
async function findUserOf(
  { organisation }: Pick<CoverageStore, 'organisation'>,
  place: UnseenPlace,
): Promise<string | null> {
  const users = await organisation.readUsers(place.companyId, undefined, USERS_PER_PAGE);
  return users.find((user) => mayPoll(user) && maySee(user, place))?.id ?? null;
}

/** Of all companies. */
async function readCoverage(
  store: CoverageStore,
  sources: readonly ViewerSource[],
  now: number,
): Promise<LeadCoverage> {
  const viewers = await findViewers(store, sources);
  const sum = new Sum();
  const companies: Place[] = [];
  let page: readonly StoredCompany[] = [];
  do {
    page = await store.organisation.readCompanies(page.at(-1)?.id, COMPANIES_PER_PAGE);
    companies.push(...page.map(wholeCompany));
    const since = now - COUNTED_MS;
    const tasks = page.flatMap((company) => planCompany(company, viewers.get(company.id) ?? [], since));
    for await (const counted of countAll(store, tasks)) {
      sum.addUnreached(counted);
      if (sum.unreached >= MAX_UNREACHED) break;
    }
    await setImmediate();
  } while (page.length === COMPANIES_PER_PAGE && sum.unreached < MAX_UNREACHED);
  const counted = piecesSince(Math.max(now - COUNTED_MS, sum.readFrom));
  for await (const total of countAll(
    store,
    companies.flatMap((company) => tasksOf(counted, company)),
  )) {
    sum.addTotal(total);
    if (sum.isFull) break;
  }
  const coverage = sum.toCoverage(!sum.isEmpty || (await hasLeads(store, companies)));
  const [worst, ...others] = coverage.unseenPlaces;
  if (!worst) return coverage;
  return { ...coverage, unseenPlaces: [{ ...worst, userId: await findUserOf(store, worst) }, ...others] };
}

/** The leads that the user may see, and the consumers of the user. */
export async function readUserCoverage(
  store: RangeStore,
  user: PollingUser,
  sources: readonly ViewerSource[],
  now: number,
): Promise<LeadCoverage> {
  const { companyId, accessLevel, branchId, departmentId } = user;
  const place: Place = {
    ...wholeCompany({ id: companyId, name: companyId }),
    branchId: accessLevel === 'BRANCH' ? branchId : null,
    departmentId: accessLevel === 'DEPARTMENT' ? departmentId : null,
  };
  const all = piecesSince(now - COUNTED_MS);
  const pieces = sources.map((source) => ({ ...source, user })).reduce(addViewer, all);
  const sum = new Sum();
  for await (const counted of countAll(store, tasksOf(pieces, place))) sum.addUnreached(counted);
  for await (const counted of countAll(store, tasksOf(all, place))) sum.addTotal(counted);
  return sum.toCoverage(!sum.isEmpty || (await hasLeads(store, [place])));
}

/** Also older ones, and imported history. */
async function hasLeads(store: RangeStore, places: readonly Place[]): Promise<boolean> {
  const tasks = places.flatMap((place) => tasksOf(piecesSince(BEFORE_ALL_MS), place));
  for await (const { readFrom } of countAll(store, tasks, 1)) if (readFrom !== null) return true;
  return false;
}

export interface CoverageReaderOptions {
  readonly store: CoverageStore;
  readonly clock: Clock;
  readonly slowReadMs: number;
}

/** Reads once for all calls that are made meanwhile. */
export class CoverageReader {
  readonly #options: CoverageReaderOptions;
  #running: Promise<void> | undefined;
  #last: LeadCoverage | undefined;
  #nextReadAt = 0;

  constructor(options: CoverageReaderOptions) {
    this.#options = options;
  }

  /** While a slow read is under way, the result before; undefined if there is none. */
  async read(sources: readonly ViewerSource[]): Promise<LeadCoverage | undefined> {
    if (this.#last && performance.now() < this.#nextReadAt) return this.#last;
    this.#running ??= this.#read(sources).finally(() => {
      this.#running = undefined;
    });
    await Promise.race([this.#running, setTimeout(this.#options.slowReadMs, undefined, { ref: false })]);
    return this.#last;
  }

  async #read(sources: readonly ViewerSource[]): Promise<void> {
    const { store, clock, slowReadMs } = this.#options;
    const startedAt = performance.now();
    this.#last = await readCoverage(store, sources, clock());
    const durationMs = performance.now() - startedAt;
    if (durationMs > slowReadMs) this.#nextReadAt = performance.now() + PAUSE_FACTOR * durationMs;
  }
}
