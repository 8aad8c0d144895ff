/**
 * Whether every lead of the last 30 days has reached a consumer. Leads are delivered in the order of `createdAt`, so the positions and gaps
 * of the consumers that may see a place decide it for all leads of the place. Only the leads outside of them are counted.
 */
import { setTimeout } from 'node:timers/promises';
import type { StoredCompany } from '../accounts/store.ts';
import { includesScope } from '../consumers/scopes.ts';
import { isInScope, mayPoll, maySee, type PollingUser, scopeOf } from '../leads/access.ts';
import type { LeadScope } from '../leads/record.ts';
import type { LeadRange, LeadRangeCount } from '../leads/store.ts';
import { type Clock, toIso, toIsoOrNull } from '../lib/clock.ts';
import { takeTurn } from '../lib/event-loop.ts';
import { pagesOf } from '../lib/pages.ts';
import { BEFORE_ALL_MS } from '../sql/sql.ts';
import type { Store } from '../store/store.ts';
import {
  addViewer,
  kindOf,
  type Piece,
  piecesSince,
  type UnreachedKind,
  type Viewer,
  type ViewerSource,
  viewersOf,
} from './coverage-pieces.ts';
import type { LeadCoverage, UnseenPlace } from './report.ts';
import { MAX_PENDING_LEADS, MAX_PLACES } from './sentences.ts';

const COUNTED_MS = 30 * 86_400_000;
/** In all places. */
const MAX_UNREACHED = 10 * MAX_PENDING_LEADS;
/** SQLite answers nothing else while it counts: some milliseconds. */
const RANGES_PER_QUERY = 10;
const COMPANIES_PER_PAGE = 100;
const USERS_PER_PAGE = 100;
const MAX_LISTED_PLACES = 20;
/** A slow read is repeated only after ten times as long. */
const PAUSE_FACTOR = 10;

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

const placeOf = (scope: LeadScope): Place => ({
  ...wholeCompany({ id: scope.companyId, name: scope.companyId }),
  branchId: scope.level === 'BRANCH' ? scope.branchId : null,
  departmentId: scope.level === 'DEPARTMENT' ? scope.departmentId : null,
});

function scopeOfPlace({ companyId, branchId, departmentId }: Place): LeadScope {
  if (departmentId !== null) return { level: 'DEPARTMENT', companyId, departmentId };
  return branchId === null ? { level: 'COMPANY', companyId } : { level: 'BRANCH', companyId, branchId };
}

/** Places that have the same consumers are counted as one. `pieces` are without what consumers of all in `within` have. */
function planPlaces(
  stored: StoredCompany,
  within: LeadScope,
  viewers: readonly Viewer[],
  pieces: readonly Piece[],
): Task[] {
  const company = wholeCompany(stored);
  const tasks = tasksOf(pieces, { ...company, isOnlyHere: true });
  for (const { id: branchId, name: branch, departments } of stored.branches) {
    const ofBranch = viewers
      .filter(({ scope }) => scope.level === 'BRANCH' && scope.branchId === branchId)
      .reduce(addViewer, pieces);
    const below = viewers.filter(
      ({ scope }) => scope.level === 'DEPARTMENT' && departments.some(({ id }) => id === scope.departmentId),
    );
    const place = { ...company, branchId, branch };
    tasks.push(...tasksOf(ofBranch, { ...place, isOnlyHere: below.length > 0 }));
    if (below.length === 0 && within.level !== 'DEPARTMENT') continue;
    for (const { id: departmentId, name: department } of departments) {
      const ofDepartment = below
        .filter(({ scope }) => scope.level === 'DEPARTMENT' && scope.departmentId === departmentId)
        .reduce(addViewer, ofBranch);
      tasks.push(...tasksOf(ofDepartment, { ...place, departmentId, department }));
    }
  }
  return tasks.filter(({ place }) => isInScope(within, place));
}

type RangeStore = Pick<Store, 'countLeadsInRanges'>;
type PlaceStore = RangeStore & { readonly organisation: Pick<Store['organisation'], 'readCompany'> };
type CoverageStore = PlaceStore & Pick<Store, 'organisation' | 'findUser' | 'status'>;

async function* countAll(store: RangeStore, tasks: readonly Task[]): AsyncGenerator<Task & LeadRangeCount> {
  for (let start = 0; start < tasks.length; start += RANGES_PER_QUERY) {
    const some = tasks.slice(start, start + RANGES_PER_QUERY);
    const counts = await store.countLeadsInRanges(
      some.map(({ range }) => range),
      MAX_PENDING_LEADS,
    );
    for (const [index, count] of counts.entries()) {
      const task = some[index];
      if (task) yield { ...task, ...count };
    }
    // Polls are answered between two queries.
    await takeTurn(some[0]?.range.companyId);
  }
}

/** Adds up what was counted. */
class Sum {
  readonly #counts: Record<UnreachedKind, number> = { waiting: 0, skipped: 0, beforeStart: 0, unseen: 0 };
  readonly #next = new Set<string>();
  readonly #unseen = new Map<string, UnseenPlace>();
  /** Not all leads before it were read. */
  #readFrom = BEFORE_ALL_MS;
  #total = 0;
  #firstAt: number | null = null;

  get unreached(): number {
    return Object.values(this.#counts).reduce((sum, count) => sum + count);
  }

  /** Too many leads to count more of them. */
  get isCut(): boolean {
    return this.unreached >= MAX_UNREACHED;
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
    const { silent, hasLostViewer, isBeforeStart } = piece;
    const cause = silent ? 'silent' : hasLostViewer ? 'ended' : isBeforeStart ? 'between' : 'none';
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

  addTotal({ count, firstAt, readFrom }: LeadRangeCount): void {
    if (readFrom !== null && count < MAX_PENDING_LEADS) this.#readFrom = Math.max(this.#readFrom, readFrom);
    this.#total = Math.min(this.#total + count, MAX_PENDING_LEADS);
    if (firstAt !== null) this.#firstAt = Math.min(this.#firstAt ?? firstAt, firstAt);
  }

  toCoverage(hasLeads: boolean): LeadCoverage {
    const isPart = this.#readFrom > BEFORE_ALL_MS;
    return {
      ...{ hasLeads, leads: this.#total, isPart },
      since: toIsoOrNull(isPart ? this.#readFrom : this.isFull ? null : this.#firstAt),
      ...this.#counts,
      waitingFor: [...this.#next],
      // The worst first.
      unseenPlaces: [...this.#unseen.values()]
        .sort((a, b) => b.leads - a.leads || a.since.localeCompare(b.since))
        .slice(0, MAX_LISTED_PLACES),
      hasMorePlaces: this.#unseen.size > MAX_LISTED_PLACES || this.isCut,
    };
  }
}

/** Of each company. */
async function findViewers(
  store: { findUser(id: string): Promise<PollingUser | undefined> },
  sources: readonly ViewerSource[],
): Promise<Map<string, Viewer[]>> {
  const users = new Map<string, PollingUser | undefined>();
  const byCompany = new Map<string, Viewer[]>();
  for (const source of sources) {
    const { userId } = source;
    if (!source.user && !users.has(userId)) users.set(userId, await store.findUser(userId));
    for (const viewer of viewersOf({ ...source, user: source.user ?? users.get(userId) })) {
      const viewers = byCompany.get(viewer.scope.companyId) ?? [];
      byCompany.set(viewer.scope.companyId, viewers);
      viewers.push(viewer);
    }
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

/** The leads of these places that no consumer of all of it has, by place where other consumers may have them. */
async function* countUnreached(
  store: PlaceStore,
  places: readonly Place[],
  viewersByCompany: ReadonlyMap<string, readonly Viewer[]>,
  since: number,
): AsyncGenerator<Task & LeadRangeCount> {
  const divided = new Map<Place, Piece[]>();
  const tasks = places.flatMap((place) => {
    const within = scopeOfPlace(place);
    const viewers = viewersByCompany.get(place.companyId) ?? [];
    const ofAll = viewers.filter(({ scope }) => includesScope(scope, within));
    if (ofAll.length < viewers.length) divided.set(place, []);
    return tasksOf(ofAll.reduce(addViewer, piecesSince(since)), place);
  });
  for await (const counted of countAll(store, tasks)) {
    const { piece, place, count, readFrom } = counted;
    if (count === 0 && readFrom === null) continue;
    const pieces = divided.get(place);
    if (pieces) pieces.push(piece);
    else yield counted;
  }
  for (const [place, pieces] of divided) {
    const company = pieces.length === 0 ? undefined : await store.organisation.readCompany(place.companyId);
    const viewers = viewersByCompany.get(place.companyId) ?? [];
    if (company) yield* countAll(store, planPlaces(company, scopeOfPlace(place), viewers, pieces));
  }
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
  const pages = pagesOf<Pick<StoredCompany, 'id' | 'name'>>(COMPANIES_PER_PAGE, (last, limit) =>
    store.organisation.readCompanyNames(last?.id, limit),
  );
  for await (const page of pages) {
    const places = page.map(wholeCompany);
    companies.push(...places);
    for await (const counted of countUnreached(store, places, viewers, now - COUNTED_MS)) {
      sum.addUnreached(counted);
      if (sum.isCut) break;
    }
    if (sum.isCut) break;
  }
  const counted = piecesSince(Math.max(now - COUNTED_MS, sum.readFrom));
  for await (const total of countAll(
    store,
    companies.flatMap((company) => tasksOf(counted, company)),
  )) {
    sum.addTotal(total);
    if (sum.isFull) break;
  }
  const coverage = sum.toCoverage(!sum.isEmpty || (await store.status()).latestStamp > 0);
  const unseenPlaces: UnseenPlace[] = [];
  for (const [index, place] of coverage.unseenPlaces.entries())
    unseenPlaces.push(index < MAX_PLACES ? { ...place, userId: await findUserOf(store, place) } : place);
  return { ...coverage, unseenPlaces };
}

/** The leads that the user may see, and the consumers of the user. */
export async function readUserCoverage(
  store: PlaceStore & Pick<Store, 'readPage'>,
  user: PollingUser,
  sources: readonly ViewerSource[],
  now: number,
): Promise<LeadCoverage> {
  const scope = scopeOf(user);
  const places = scope ? [placeOf(scope)] : [];
  const viewers = await findViewers({ findUser: async () => user }, sources);
  const sum = new Sum();
  for await (const counted of countUnreached(store, places, viewers, now - COUNTED_MS))
    sum.addUnreached(counted);
  const all = places.flatMap((place) => tasksOf(piecesSince(now - COUNTED_MS), place));
  for await (const counted of countAll(store, all)) sum.addTotal(counted);
  return sum.toCoverage(!sum.isEmpty || (await hasHadLeads(store, user)));
}

/** Also some that were removed. */
async function hasHadLeads(
  { readPage }: Pick<Store, 'readPage'>,
  { companyId }: PollingUser,
): Promise<boolean> {
  const { lastStamp } = await readPage({ scope: { level: 'COMPANY', companyId }, limit: 1 });
  return lastStamp !== undefined;
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
