import type { Client } from 'pg';

interface LookRow {
  readonly seen: string;
  readonly changed: readonly string[] | null;
}

/** What a process sees that looks again and again, each time from where its last look ended. */
export class Watcher {
  readonly #client: Client;
  #seen: string | null;

  constructor(client: Client, seen: string | null = null) {
    this.#client = client;
    this.#seen = seen;
  }

  /** Undefined: anything may have changed. */
  async revalidate(): Promise<readonly string[] | undefined> {
    const { rows } = await this.#client.query<LookRow>(
      `SELECT seen, changed FROM leadtap.revalidate('{}', '{}', '{}', $1)`,
      [this.#seen],
    );
    const [row] = rows;
    if (!row) throw new Error('leadtap.revalidate gave no row');
    this.#seen = row.seen;
    return row.changed ? [...new Set(row.changed)].sort() : undefined;
  }

  /** Another one that has seen the same, maybe on another connection. */
  copy(client: Client = this.#client): Watcher {
    return new Watcher(client, this.#seen);
  }
}

/** One that is told of whatever changes from now on. */
export async function startWatching(client: Client): Promise<Watcher> {
  await client.query('SELECT leadtap.prune_changes()');
  const watcher = new Watcher(client);
  await watcher.revalidate();
  return watcher;
}

/** As if the log had last been tended so long ago that it is to be tended again. */
export async function tendAfterMinutes(client: Client): Promise<void> {
  await client.query(`UPDATE leadtap.change_log_state SET next_set_at = next_set_at - interval '6 minutes'`);
  await client.query('SELECT leadtap.prune_changes()');
}
