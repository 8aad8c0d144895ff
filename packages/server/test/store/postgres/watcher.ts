import type { Client } from 'pg';

interface RevalidationRow {
  readonly seen: string;
  readonly changed: readonly string[] | null;
}

/** Reads the change log as an instance does: each time from the end of its last revalidation. */
export class Watcher {
  readonly #client: Client;
  #seen: string | null;

  constructor(client: Client, seen: string | null = null) {
    this.#client = client;
    this.#seen = seen;
  }

  /** Undefined: anything may have changed. */
  async revalidate(): Promise<readonly string[] | undefined> {
    const { rows } = await this.#client.query<RevalidationRow>(
      `SELECT seen, changed FROM leadtap.revalidate('{}', '{}', '{}', $1)`,
      [this.#seen],
    );
    const [row] = rows;
    if (!row) throw new Error('leadtap.revalidate returned no row');
    this.#seen = row.seen;
    return row.changed ? [...new Set(row.changed)].sort() : undefined;
  }

  /** A copy that continues from the same point, maybe on another connection. */
  copy(client: Client = this.#client): Watcher {
    return new Watcher(client, this.#seen);
  }
}

/** A watcher that gets all changes from now on. */
export async function startWatching(client: Client): Promise<Watcher> {
  await client.query('SELECT leadtap.prune_changes()');
  const watcher = new Watcher(client);
  await watcher.revalidate();
  return watcher;
}

/** As if five minutes had passed since the log was pruned last. */
export async function pruneAfterMinutes(client: Client): Promise<void> {
  await client.query(`UPDATE leadtap.change_log_state SET next_set_at = next_set_at - interval '6 minutes'`);
  await client.query('SELECT leadtap.prune_changes()');
}
