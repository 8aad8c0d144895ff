import {
  type Account,
  type Bearer,
  type Look,
  type Question,
  StoreUnavailableError,
  type WatchedStore,
} from '../store/store.ts';

/** What one poll is told. */
export interface Told {
  readonly look: Look;
  /** Of the bearer it asked about. */
  readonly account: Account | undefined;
}

/** The polls of one turn of the event loop. */
interface Turn {
  readonly companies: Set<string>;
  readonly bearers: Bearer[];
  readonly answer: Promise<Look>;
  readonly tell: (look: Look) => void;
  readonly fail: (reason: unknown) => void;
  polls: number;
  /** What other turns were told while this one waited for its answer. */
  readonly overtakenBy: Look[];
}

/** Takes in what a look tells, before any poll hears of it. */
export type Learn = (question: Question, look: Look, overtakenBy: readonly Look[]) => void;

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
export class Turns {
  readonly #store: WatchedStore;
  readonly #learn: Learn;
  readonly #gathering: Turn[] = [];
  readonly #looking = new Set<Turn>();
  #waiting = 0;
  #known: string | undefined;

  constructor(store: WatchedStore, learn: Learn) {
    this.#store = store;
    this.#learn = learn;
  }

  /** A look that begins after this call. */
  lookAt(companyId: string): Promise<Look> {
    const turn = this.#join();
    turn.companies.add(companyId);
    return turn.answer;
  }

  /** The same, for a company that only the store knows. */
  async askAbout(bearer: Bearer): Promise<Told> {
    const turn = this.#join();
    const index = turn.bearers.push(bearer) - 1;
    const look = await turn.answer;
    return { look, account: look.accounts[index] };
  }

  #join(): Turn {
    if (this.#waiting >= MOST_WAITING) throw new StoreUnavailableError('too many polls wait for the store');
    const turn = this.#gatheringTurn();
    this.#waiting += 1;
    turn.polls += 1;
    return turn;
  }

  #gatheringTurn(): Turn {
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
      this.#look(turn).finally(() => {
        this.#waiting -= turn.polls;
        this.#begin();
      });
    }
  }

  async #look(turn: Turn): Promise<void> {
    const question = { companies: [...turn.companies], bearers: turn.bearers };
    try {
      const look = await this.#store.look(question, this.#known);
      this.#looking.delete(turn);
      for (const other of this.#looking) other.overtakenBy.push(look);
      this.#known = look.seen;
      this.#learn(question, look, turn.overtakenBy);
      turn.tell(look);
    } catch (error) {
      this.#looking.delete(turn);
      turn.fail(error);
    }
  }
}

function newTurn(): Turn {
  let tell: Turn['tell'] = () => undefined;
  let fail: Turn['fail'] = () => undefined;
  const answer = new Promise<Look>((resolve, reject) => {
    tell = resolve;
    fail = reject;
  });
  return { companies: new Set(), bearers: [], answer, tell, fail, polls: 0, overtakenBy: [] };
}
