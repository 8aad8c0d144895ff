/** Each page, judged by what was committed when it was served. */
import type { Page, SeenLead, Write } from './history.ts';
import { type Incarnation, isInScope, type Timelines } from './timeline.ts';

export interface Findings {
  /** A lead that was visible before the poll began is not in the page. */
  readonly missing: string[];
  /** A page shows a deleted lead, an old version, or a lead that was never committed. */
  readonly stale: string[];
  /** D1 to D5. */
  readonly broken: string[];
}

interface CompanyIndex {
  readonly incarnations: readonly Incarnation[];
  /** The earliest commit among this incarnation and all later ones: where it is after a page, no later one is in it. */
  readonly earliestBegun: readonly number[];
}

export class PageJudge {
  readonly #timelines: Timelines;
  readonly #clockSetBackAt: number;
  readonly #indexes = new Map<string, CompanyIndex>();
  readonly #findings: Findings;

  constructor(timelines: Timelines, clockSetBackAt: number | undefined, findings: Findings) {
    this.#timelines = timelines;
    this.#clockSetBackAt = clockSetBackAt ?? Number.POSITIVE_INFINITY;
    this.#findings = findings;
  }

  judge(page: Page): void {
    const shown = new Set(page.leads.map(({ createdAt }) => createdAt));
    for (const lead of page.leads) this.#judgeShown(page, lead);
    this.#judgeOrder(page);
    this.#judgeMissing(page, shown);
    if (page.leads.length < page.limit) this.#judgeDate(page, shown);
  }

  #judgeShown(page: Page, seen: SeenLead): void {
    const { scope, name } = page.client;
    const write = this.#timelines.byVersion.get(`${scope.companyId}\0${seen.version}`);
    const what = `${scope.companyId}/${seen.id} (${seen.version}, ${iso(seen.createdAt)})`;
    if (write?.id !== seen.id) {
      this.#findings.stale.push(`${name} was shown ${what}, which was never committed`);
      return;
    }
    const possible = this.#timelines.of(scope.companyId, seen.id).possible(page.begun, page.ended);
    if (!possible.includes(write))
      this.#findings.stale.push(`${name} was shown ${what}, but it was ${describe(possible)} by then`);
    else if (!isInScope(scope, write))
      this.#findings.stale.push(`${name} was shown ${what}, which it may not see`);
  }

  #judgeOrder({ client, since, leads, limit }: Page): void {
    const times = leads.map(({ createdAt }) => createdAt);
    const rising = since === undefined ? times.toReversed() : times;
    const isSorted = rising.every((time, index) => time > (rising[index - 1] ?? since ?? -Infinity));
    if (!isSorted || leads.length > limit)
      this.#findings.broken.push(
        `${client.name} got a page out of order, too long, or with leads before since`,
      );
  }

  /** Completeness: what every possible state puts into the page must be there. */
  #judgeMissing(page: Page, shown: ReadonlySet<number>): void {
    const { incarnations, earliestBegun } = this.#index(page.client.scope.companyId);
    const [after, upTo] = rangeOf(page);
    for (let i = firstAfter(incarnations, after); i < incarnations.length; i += 1) {
      const incarnation = incarnations[i];
      if (!incarnation || incarnation.createdAt > upTo || (earliestBegun[i] ?? 0) > page.ended) return;
      if (this.#mustShow(page, incarnation, [after, upTo], shown))
        this.#findings.missing.push(
          `${page.client.name} asked ${asked(page)}, and ${nameOf(incarnation)} was missing`,
        );
    }
  }

  /** Whichever of the possible states it is, the page must hold it, and it holds none of them. */
  #mustShow(
    page: Page,
    { lead, createdAt }: Incarnation,
    [after, upTo]: [after: number, upTo: number],
    shown: ReadonlySet<number>,
  ): boolean {
    if (shown.has(createdAt)) return false;
    const possible = lead.possible(page.begun, page.ended).map((write) => {
      const isSeen = write !== undefined && isInScope(page.client.scope, write);
      return isSeen ? this.#timelines.createdAtOf(write) : undefined;
    });
    const isRequired = possible.every((time) => time !== undefined && time > after && time <= upTo);
    // A lead that was deleted and inserted again has several incarnations; it is missing once.
    return isRequired && possible[0] === createdAt && !possible.some((time) => shown.has(time ?? -1));
  }

  /** D3: a lead that comes later is stamped after the `Date` of a page that was not full. */
  #judgeDate(page: Page, shown: ReadonlySet<number>): void {
    const { incarnations } = this.#index(page.client.scope.companyId);
    for (let i = firstAfter(incarnations, page.since ?? -Infinity); i < incarnations.length; i += 1) {
      const incarnation = incarnations[i];
      if (!incarnation || incarnation.createdAt > page.date) return;
      const { acknowledged = Infinity } = incarnation.first;
      // A clock that is set back voids the promise for what comes afterwards.
      if (acknowledged >= this.#clockSetBackAt || shown.has(incarnation.createdAt)) continue;
      if (isStampedTooEarly(page, incarnation))
        this.#findings.broken.push(
          `D3: ${page.client.name} asked ${asked(page)}, was answered with Date ${iso(page.date)}, and ${nameOf(incarnation)} came later`,
        );
    }
  }

  #index(companyId: string): CompanyIndex {
    const known = this.#indexes.get(companyId);
    if (known) return known;
    const incarnations = this.#timelines.incarnations(companyId);
    const earliestBegun = new Array<number>(incarnations.length);
    let earliest = Number.POSITIVE_INFINITY;
    for (let i = incarnations.length - 1; i >= 0; i -= 1) {
      earliest = Math.min(earliest, incarnations[i]?.first.begun ?? earliest);
      earliestBegun[i] = earliest;
    }
    const index = { incarnations, earliestBegun };
    this.#indexes.set(companyId, index);
    return index;
  }
}

/** It became visible after the page, and nothing but its insertion explains why it is not in it. */
function isStampedTooEarly(page: Page, { lead, first, isFirstKnown, writes }: Incarnation): boolean {
  if (
    !isFirstKnown ||
    first.isHistorical ||
    first.acknowledged === undefined ||
    first.acknowledged < page.begun
  )
    return false;
  const isAlwaysInScope = writes.every((write) => isInScope(page.client.scope, write));
  const isDeletedMeanwhile = lead.writes.some((write) => {
    const { state, isReinserted, begun, acknowledged = Number.POSITIVE_INFINITY } = write;
    // A transaction that deletes it may also insert it again, with another stamp.
    const isDelete = state === undefined || (isReinserted === true && write !== first);
    return isDelete && begun <= page.ended && acknowledged >= first.begun;
  });
  return isAlwaysInScope && !isDeletedMeanwhile;
}

/** The part of the feed that a page must hold: after the first time, up to the second. */
function rangeOf({ since, limit, leads }: Page): [after: number, upTo: number] {
  const isFull = leads.length >= limit;
  if (since !== undefined) return [since, isFull ? (leads.at(-1)?.createdAt ?? since) : Infinity];
  return [isFull ? (leads.at(-1)?.createdAt ?? Infinity) - 1 : -Infinity, Infinity];
}

function firstAfter(incarnations: readonly Incarnation[], time: number): number {
  let low = 0;
  let high = incarnations.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((incarnations[middle]?.createdAt ?? 0) > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

const iso = (ms: number): string => new Date(ms).toISOString();
const nameOf = ({ lead, createdAt }: Incarnation): string =>
  `${lead.companyId}/${lead.id} (${iso(createdAt)})`;
const asked = ({ since, limit }: Page): string =>
  `${since === undefined ? 'for the newest' : `since ${iso(since)}`}, limit ${limit}`;
const describe = (possible: readonly (Write | undefined)[]): string =>
  possible.map((write) => write?.state?.version ?? 'deleted').join(' or ') || 'not there';
