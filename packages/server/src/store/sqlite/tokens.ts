import type { IssuedToken } from '../records.ts';
import type { ListedToken } from '../store.ts';
import type { Connection } from './connection.ts';

interface TokenRow {
  id: string;
  user_id: string;
  name: string | null;
  issued_at: number;
  expires_at: number;
  revoked_at: number | null;
}

const toIssuedToken = (row: TokenRow): IssuedToken => ({
  id: row.id,
  userId: row.user_id,
  name: row.name,
  issuedAt: row.issued_at,
  expiresAt: row.expires_at,
});

const SELECT = `SELECT t.id, t.user_id, t.name, t.issued_at, t.expires_at, r.revoked_at
  FROM issued_tokens AS t LEFT JOIN revoked_tokens AS r ON r.token_id = t.id`;

export class Tokens {
  readonly #record;
  readonly #find;
  readonly #list;
  readonly #revoke;
  readonly #revoked;

  constructor(connection: Connection) {
    this.#record = connection.prepare(
      'INSERT INTO issued_tokens (id, user_id, name, issued_at, expires_at) VALUES (?, ?, ?, ?, ?)',
    );
    this.#find = connection.prepare<TokenRow>(`${SELECT} WHERE t.id = ?`);
    this.#list = connection.prepare<TokenRow>(`${SELECT} WHERE t.user_id = ? ORDER BY t.issued_at, t.id`);
    this.#revoke = connection.prepare(
      'INSERT INTO revoked_tokens (token_id, revoked_at) VALUES (?, ?) ON CONFLICT DO NOTHING',
    );
    this.#revoked = connection.prepare('SELECT 1 FROM revoked_tokens WHERE token_id = ?');
  }

  record(tokens: readonly IssuedToken[]): void {
    for (const { id, userId, name, issuedAt, expiresAt } of tokens)
      this.#record.run(id, userId, name, issuedAt, expiresAt);
  }

  find(tokenId: string): IssuedToken | undefined {
    const row = this.#find.get(tokenId);
    return row && toIssuedToken(row);
  }

  list(userId: string): ListedToken[] {
    return this.#list.all(userId).map((row) => ({ ...toIssuedToken(row), revokedAt: row.revoked_at }));
  }

  revoke(tokenId: string, now: number): boolean {
    return this.#revoke.run(tokenId, now) > 0;
  }

  isRevoked(tokenId: string): boolean {
    return this.#revoked.get(tokenId) !== undefined;
  }
}
