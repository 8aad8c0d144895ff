import type { Account } from '../../accounts/store.ts';
import type { Change, ChangeTrackingStore, Revalidation } from '../../poll/store.ts';
import { storableOrNull } from '../../sql/sql.ts';
import type { Database } from './connection.ts';

/** The result of `leadtap.revalidate`. */
interface RevalidationRow {
  read_at: number;
  busy: string[];
  accounts: Account[] | null;
  seen: string;
  changed: string[] | null;
}

const REVALIDATE = 'SELECT * FROM leadtap.revalidate($1, $2, $3, $4)';

/** Old entries of the change log are deleted this often. */
const PRUNE_INTERVAL_MS = 5 * 60_000;
/** After a crash of the server, changes are reported only after a pruning; retried this often while it fails. */
const PRUNE_RETRY_MS = 1000;

/** Reads the change log for the cache, and prunes it. */
export function createRevalidate(database: Database): ChangeTrackingStore['revalidate'] {
  let prunedAt = Number.NEGATIVE_INFINITY;

  /** In the background. If it fails, a later revalidation tries again. */
  function pruneUnlessRecent(intervalMs: number): void {
    const now = performance.now();
    if (now - prunedAt < intervalMs) return;
    prunedAt = now;
    database.query('SELECT leadtap.prune_changes()').catch(() => undefined);
  }

  return async ({ companies, tokens }, known): Promise<Revalidation> => {
    pruneUnlessRecent(PRUNE_INTERVAL_MS);
    const [row] = await database.query<RevalidationRow>(REVALIDATE, [
      companies,
      tokens.map(({ userId }) => storableOrNull(userId)),
      tokens.map(({ tokenId }) => storableOrNull(tokenId)),
      known ?? null,
    ]);
    if (!row) throw new Error('leadtap.revalidate returned no row');
    if (!row.changed) pruneUnlessRecent(PRUNE_RETRY_MS);
    return {
      readAt: row.read_at,
      busy: new Set(row.busy),
      accounts: row.accounts ?? [],
      seen: row.seen,
      changes: row.changed?.map(toChange),
    };
  };
}

function toChange(entry: string): Change {
  const space = entry.indexOf(' ');
  return { kind: entry.slice(0, space) as Change['kind'], id: entry.slice(space + 1) };
}
