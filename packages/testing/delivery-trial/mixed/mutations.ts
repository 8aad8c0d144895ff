/** Deliberate defects of the service that only faults of the network show. */
import type { Replacement } from '../changed-modules.ts';

export const MIXED_MUTATIONS = {
  /** A file stays open for each connection of a client. */
  'leaked-handle': [
    {
      module: 'http/connections.js',
      part: "socket.once('close', () => this.#open.delete(socket));",
      by: "socket.once('close', () => { this.#open.delete(socket); process.getBuiltinModule('fs').openSync('/dev/null'); });",
    },
  ],
  /** While the database is unreachable, polls are answered from the cache. */
  'stale-on-error': [
    {
      module: 'poll/cache/revalidator.js',
      part: 'this.#seen = revalidation.seen;',
      by: 'this.#seen = revalidation.seen; this.last = revalidation;',
    },
    {
      module: 'poll/cache/revalidator.js',
      part: 'batch.reject(error);',
      by: 'this.last && batch.tokens.length === 0 ? batch.resolve(this.last) : batch.reject(error);',
    },
  ],
  /** A broken connection to the database is an internal error. */
  'unmapped-error': [
    {
      module: 'store/postgres/errors.js',
      part: 'if (!isDriverError(error))',
      by: 'if (!isQueryTimeout(error))',
    },
  ],
} satisfies Record<string, readonly Replacement[]>;

export type MixedMutation = keyof typeof MIXED_MUTATIONS;
