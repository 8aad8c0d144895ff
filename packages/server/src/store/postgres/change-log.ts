import type { Account, Change, Revalidation, RevalidationRequest } from '../store.ts';
import type { Database } from './connection.ts';
import { isText } from './text.ts';

/** What `leadtap.look` gives. */
interface LookRow {
  read_at: number;
  busy: string[];
  accounts: Account[] | null;
  seen: string;
  changed: string[] | null;
}

/** Entries of the log that are old are deleted this often. */
const TEND_EVERY_MS = 5 * 60_000;
/** A server that has crashed needs it to tell again what has changed; not once for each look, if it cannot be had. */
const TEND_AGAIN_MS = 1000;

/** Tells what has changed, and sees to it that the log of changes stays short. */
export class ChangeLogReader {
  readonly #database: Database;
  #tendedAt = Number.NEGATIVE_INFINITY;

  constructor(database: Database) {
    this.#database = database;
  }

  async revalidate(
    { companies, bearers }: RevalidationRequest,
    known: string | undefined,
  ): Promise<Revalidation> {
    this.#tend(TEND_EVERY_MS);
    const [row] = await this.#database.query<LookRow>('SELECT * FROM leadtap.look($1, $2, $3, $4)', [
      companies,
      bearers.map(({ userId }) => nameable(userId)),
      bearers.map(({ tokenId }) => nameable(tokenId)),
      known ?? null,
    ]);
    if (!row) throw new Error('leadtap.look gave no row');
    if (!row.changed) this.#tend(TEND_AGAIN_MS);
    return {
      readAt: row.read_at,
      busy: new Set(row.busy),
      accounts: row.accounts ?? [],
      seen: row.seen,
      changes: row.changed?.map(toChange),
    };
  }

  /** Unless that was done a while ago. Nobody waits for it, and if it fails, another look tries again. */
  #tend(everyMs: number): void {
    const now = performance.now();
    if (now - this.#tendedAt < everyMs) return;
    this.#tendedAt = now;
    this.#database.query('SELECT leadtap.tend_changes()').catch(() => undefined);
  }
}

/** PostgreSQL has no text with a NUL in it, and hence nobody of that name. */
const nameable = (id: string | undefined): string | null => (id !== undefined && isText(id) ? id : null);

function toChange(entry: string): Change {
  const space = entry.indexOf(' ');
  return { kind: entry.slice(0, space) as Change['kind'], id: entry.slice(space + 1) };
}
