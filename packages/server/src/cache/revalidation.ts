import {
  type Account,
  type Bearer,
  type ChangeTrackingStore,
  type Revalidation,
  type RevalidationRequest,
  StoreUnavailableError,
} from '../store/store.ts';

/** What one poll is told. */
export interface RevalidationResult {
  readonly revalidation: Revalidation;
  /** Of the bearer it asked about. */
  readonly account: Account | undefined;
}

/** The polls of one turn of the event loop. */
interface RevalidationBatch {
  readonly companies: Set<string>;
  readonly bearers: Bearer[];
  readonly answer: Promise<Revalidation>;
  readonly tell: (revalidation: Revalidation) => void;
  readonly fail: (reason: unknown) => void;
  polls: number;
  /** What other turns were told while this one waited for its answer. */
  readonly concurrentResults: Revalidation[];
}

/** Takes in what a look tells, before any poll hears of it. */
export type Learn = (
  question: RevalidationRequest,
  revalidation: Revalidation,
  concurrentResults: readonly Revalidation[],
) => void;

/** So many locks are taken at once: a PostgreSQL has room for 64 a connection, unless it is told otherwise. */
const MOST_IN_A_TURN = 64;
/** While one answer is worked off, the next is on its way. More would only make smaller turns. */
const LOOKS_AT_ONCE = 2;
/** Whoever comes while so many wait already is turned away: a store that hangs must not fill the memory. */
const MOST_WAITING = 5000;

/**
 * Joins the polls that arrive in one turn of the event loop, so that the store is asked once for all of them. While it is
 * being asked, the next ones gather: the busier it is, the more polls share a question.
 */
export class RevalidationBatcher {
  readonly #store: ChangeTrackingStore;
  readonly #learn: Learn;
  readonly #gathering: RevalidationBatch[] = [];
  readonly #looking = new Set<RevalidationBatch>();
  #waiting = 0;
  #known: string | undefined;

  constructor(store: ChangeTrackingStore, learn: Learn) {
    this.#store = store;
    this.#learn = learn;
  }

  /** A look that begins after this call. */
  lookAt(companyId: string): Promise<Revalidation> {
    const turn = this.#join();
    turn.companies.add(companyId);
    return turn.answer;
  }

  /** The same, for a company that only the store knows. */
  async askAbout(bearer: Bearer): Promise<RevalidationResult> {
    const turn = this.#join();
    const index = turn.bearers.push(bearer) - 1;
    const revalidation = await turn.answer;
    return { revalidation, account: revalidation.accounts[index] };
  }

  #join(): RevalidationBatch {
    if (this.#waiting >= MOST_WAITING) throw new StoreUnavailableError('too many polls wait for the store');
    const turn = this.#gatheringTurn();
    this.#waiting += 1;
    turn.polls += 1;
    return turn;
  }

  #gatheringTurn(): RevalidationBatch {
    const last = this.#gathering.at(-1);
    if (last && last.companies.size + last.bearers.length < MOST_IN_A_TURN) return last;
    const turn = newTurn();
    this.#gathering.push(turn);
    // After the requests that have arrived by now are read.
    setImmediate(() => this.#begin());
    return turn;
  }

  #begin(): void {
    while (this.#looking.size < LOOKS_AT_ONCE) {
      const turn = this.#gathering.shift();
      if (!turn) return;
      this.#looking.add(turn);
      this.#revalidate(turn).finally(() => {
        this.#waiting -= turn.polls;
        this.#begin();
      });
    }
  }

  async #revalidate(turn: RevalidationBatch): Promise<void> {
    const question = { companies: [...turn.companies], bearers: turn.bearers };
    try {
      const revalidation = await this.#store.revalidate(question, this.#known);
      this.#looking.delete(turn);
      for (const other of this.#looking) other.concurrentResults.push(revalidation);
      this.#known = revalidation.seen;
      this.#learn(question, revalidation, turn.concurrentResults);
      turn.tell(revalidation);
    } catch (error) {
      this.#looking.delete(turn);
      turn.fail(error);
    }
  }
}

function newTurn(): RevalidationBatch {
  let tell: RevalidationBatch['tell'] = () => undefined;
  let fail: RevalidationBatch['fail'] = () => undefined;
  const answer = new Promise<Revalidation>((resolve, reject) => {
    tell = resolve;
    fail = reject;
  });
  return { companies: new Set(), bearers: [], answer, tell, fail, polls: 0, concurrentResults: [] };
}
