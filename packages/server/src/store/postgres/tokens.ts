import type { IssuedToken } from '../records.ts';
import type { ListedToken } from '../store.ts';
import { queryInChunks } from './chunks.ts';
import type { Database } from './connection.ts';
import { isText } from './text.ts';

const RECORD = `
  INSERT INTO leadtap.issued_tokens (id, user_id, name, issued_at, expires_at)
  SELECT t.id, t."userId", t.name, leadtap.from_ms(t."issuedAt"), leadtap.from_ms(t."expiresAt")
    FROM json_to_recordset($1) AS t (id text, "userId" text, name text, "issuedAt" bigint, "expiresAt" bigint)`;

const COLUMNS = `t.id, t.user_id AS "userId", t.name, leadtap.to_ms(t.issued_at) AS "issuedAt",
  leadtap.to_ms(t.expires_at) AS "expiresAt"`;

const FIND = `SELECT ${COLUMNS} FROM leadtap.issued_tokens AS t WHERE t.id = $1`;

const LIST = `
  SELECT ${COLUMNS}, leadtap.to_ms(r.revoked_at) AS "revokedAt"
    FROM leadtap.issued_tokens AS t LEFT JOIN leadtap.revoked_tokens AS r ON r.token_id = t.id
   WHERE t.user_id = $1 ORDER BY t.issued_at, t.id COLLATE "C"`;

const REVOKE = `
  INSERT INTO leadtap.revoked_tokens (token_id, revoked_at) VALUES ($1, leadtap.from_ms(leadtap.clock_ms()))
  ON CONFLICT DO NOTHING RETURNING token_id`;

export class Tokens {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async record(tokens: readonly IssuedToken[]): Promise<void> {
    if (tokens.length > 0)
      await this.#database.transaction((session) => queryInChunks(session, RECORD, tokens));
  }

  async find(tokenId: string): Promise<IssuedToken | undefined> {
    if (!isText(tokenId)) return undefined;
    const [token] = await this.#database.query<IssuedToken>(FIND, [tokenId]);
    return token;
  }

  async list(userId: string): Promise<ListedToken[]> {
    return isText(userId) ? this.#database.query<ListedToken>(LIST, [userId]) : [];
  }

  async revoke(tokenId: string): Promise<boolean> {
    return (await this.#database.query(REVOKE, [tokenId])).length > 0;
  }

  async isRevoked(tokenId: string): Promise<boolean> {
    if (!isText(tokenId)) return false;
    const found = await this.#database.query('SELECT FROM leadtap.revoked_tokens WHERE token_id = $1', [
      tokenId,
    ]);
    return found.length > 0;
  }
}
