import type { History, Scope, Write } from './history.ts';

/** Users below the level of the company are here. */
export const BRANCH = 'north';
export const DEPARTMENT = 'sales';

export function isInScope({ companyId, level }: Scope, write: Write): boolean {
  if (write.state === undefined || write.companyId !== companyId) return false;
  if (level === 'COMPANY') return true;
  return level === 'BRANCH' ? write.state.branchId === BRANCH : write.state.departmentId === DEPARTMENT;
}

const isCertainBefore = ({ acknowledged = Infinity }: Write, position: number): boolean =>
  acknowledged < position;
const isOverBefore = ({ acknowledged, settled = Infinity }: Write, position: number): boolean =>
  (acknowledged ?? settled) < position;

/** All writes of one lead id, in the order in which their commits were sent. */
export class LeadTimeline {
  readonly companyId: string;
  readonly id: string;
  readonly writes: Write[] = [];
  /** The last answer: a page asks once for each life of a lead, and a contended lead has thousands. */
  #last = { begun: -1, ended: -1, possible: [] as (Write | undefined)[] };

  constructor(companyId: string, id: string) {
    this.companyId = companyId;
    this.id = id;
  }

  /**
   * Which writes may be the newest one for a reader that began and ended at these positions; undefined stands for a lead
   * that was not there yet. Commits that overlap, with each other or with the reader, leave more than one possibility.
   */
  possible(begun: number, ended: number): readonly (Write | undefined)[] {
    if (this.#last.begun !== begun || this.#last.ended !== ended)
      this.#last = { begun, ended, possible: this.#findPossible(begun, ended) };
    return this.#last.possible;
  }

  #findPossible(begun: number, ended: number): (Write | undefined)[] {
    let newestCertain = -1;
    for (const write of this.writes)
      if (isCertainBefore(write, begun)) newestCertain = Math.max(newestCertain, write.begun);
    const candidates: (Write | undefined)[] = this.writes.filter(
      (write) => write.begun <= ended && !isOverBefore(write, newestCertain),
    );
    if (newestCertain === -1) candidates.push(undefined);
    return candidates;
  }
}

/** One life of a lead: a lead that is deleted and inserted again has another `createdAt`. */
export interface Incarnation {
  readonly lead: LeadTimeline;
  readonly createdAt: number;
  /** Its insertion, unless `isFirstKnown` is false: then an earlier write may be it, whose stamp is unknown. */
  readonly first: Write;
  readonly isFirstKnown: boolean;
  readonly writes: readonly Write[];
}

export class Timelines {
  readonly leads = new Map<string, LeadTimeline>();
  readonly byVersion = new Map<string, Write>();
  readonly #createdAt = new Map<string, number>();
  readonly #incarnations = new Map<string, Incarnation[]>();

  constructor({ writes, pages, stored }: History) {
    for (const write of [...writes].sort((a, b) => a.begun - b.begun)) this.#add(write);
    for (const { client, leads } of pages)
      for (const { version, createdAt } of leads) this.#learn(client.scope.companyId, version, createdAt);
    for (const { companyId, version, createdAt } of stored) this.#learn(companyId, version, createdAt);
    this.#gatherIncarnations();
  }

  of(companyId: string, id: string): LeadTimeline {
    const key = `${companyId}\0${id}`;
    const found = this.leads.get(key) ?? new LeadTimeline(companyId, id);
    this.leads.set(key, found);
    return found;
  }

  /** What the writer read, or else what anybody was shown with this version. */
  createdAtOf(write: Write): number | undefined {
    return (
      write.state && (write.createdAt ?? this.#createdAt.get(`${write.companyId}\0${write.state.version}`))
    );
  }

  /** Of a company, by `createdAt`. */
  incarnations(companyId: string): readonly Incarnation[] {
    return this.#incarnations.get(companyId) ?? [];
  }

  get companyIds(): string[] {
    return [...this.#incarnations.keys()];
  }

  #learn(companyId: string, version: string, createdAt: number): void {
    const key = `${companyId}\0${version}`;
    if (!this.#createdAt.has(key)) this.#createdAt.set(key, createdAt);
  }

  #add(write: Write): void {
    this.of(write.companyId, write.id).writes.push(write);
    if (write.state) this.byVersion.set(`${write.companyId}\0${write.state.version}`, write);
  }

  #gatherIncarnations(): void {
    for (const lead of this.leads.values()) {
      const lives = new Map<number, Write[]>();
      for (const write of lead.writes) {
        const createdAt = this.createdAtOf(write);
        if (createdAt === undefined) continue;
        lives.set(createdAt, [...(lives.get(createdAt) ?? []), write]);
      }
      const ofCompany = this.#incarnations.get(lead.companyId) ?? [];
      this.#incarnations.set(lead.companyId, ofCompany);
      for (const [createdAt, writes] of lives) {
        const [first] = writes;
        if (!first) continue;
        const isUnknown = (write: Write) =>
          write.state !== undefined && this.createdAtOf(write) === undefined;
        const isFirstKnown = !lead.writes.some((write) => write.begun < first.begun && isUnknown(write));
        ofCompany.push({ lead, createdAt, first, isFirstKnown, writes });
      }
    }
    for (const list of this.#incarnations.values()) list.sort((a, b) => a.createdAt - b.createdAt);
  }
}
