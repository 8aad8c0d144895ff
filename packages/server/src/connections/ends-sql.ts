/** Connections end with their last key, and with their user. The stores of accounts and hooks call this in their transactions. */
import type { AccountEnds } from '../accounts/sql.ts';
import { type Dialect, query, readNow, type SqlTask } from '../sql/sql.ts';
import { endConnection } from './changes-sql.ts';
import { endUnusedWebhooks, prepareWebhooks } from './webhooks-sql.ts';

interface Id {
  readonly id: string;
}

/** A token that was not issued here is known by its id alone. The value: the token, which is revoked. */
const WITH_TOKEN = `
  SELECT c.id FROM leadtap.issued_tokens AS t
    JOIN leadtap.connections AS c ON c.user_id = t.user_id AND c.kind <> 'webhook' AND c.key = 'n:' || t.name
   WHERE t.id = $1 AND c.ended_at IS NULL AND NOT EXISTS (
     SELECT 1 FROM leadtap.issued_tokens AS o WHERE o.user_id = t.user_id AND o.name = t.name
       AND NOT EXISTS (SELECT 1 FROM leadtap.revoked_tokens AS r WHERE r.token_id = o.id))
  UNION
  SELECT c.id FROM leadtap.connections AS c WHERE c.kind <> 'webhook' AND c.key = 't:' || $1 AND c.ended_at IS NULL
   ORDER BY id`;
const WEBHOOKS_WITH_TOKEN = `
  SELECT DISTINCT h.connection_id AS id FROM leadtap.hooks AS h WHERE h.token_id = $1 AND h.connection_id IS NOT NULL`;
const OF_USER = `
  SELECT c.id FROM leadtap.connections AS c WHERE c.user_id = $1 ORDER BY c.id`;

export function createAccountEnds(dialect: Dialect): AccountEnds {
  const sql = prepareWebhooks(dialect);
  return {
    *tokenRevoked(tokenId): SqlTask<void> {
      for (const { id } of yield* query<Id>(WITH_TOKEN, [tokenId]))
        yield* endConnection(sql.changes, id, 'revoked');
      const webhooks = yield* query<Id>(WEBHOOKS_WITH_TOKEN, [tokenId]);
      yield* endUnusedWebhooks(
        sql,
        webhooks.map(({ id }) => id),
        'revoked',
      );
    },

    /** What waited is owed: without its user, it could not be counted any more. */
    *userRemoved(userId): SqlTask<void> {
      const now = yield* readNow();
      for (const { id } of yield* query<Id>(OF_USER, [userId])) {
        yield* endConnection(sql.changes, id, 'user-removed');
        yield* query(sql.record.missWaiting, [id, 'passed', now, null]);
      }
    },
  };
}
