import type { IssuedToken, User } from '../../accounts/records.ts';
import type {
  Account,
  AddUserOutcome,
  Bearer,
  ListedToken,
  UpdateUserOutcome,
} from '../../accounts/store.ts';
import { placeUser } from '../../leads/placement.ts';
import type { Store } from '../store.ts';
import { type Database, isStorable, queryInChunks, type Session } from './connection.ts';

export const USER_COLUMNS = `id, company_id AS "companyId", email, name, plan, access_level AS "accessLevel",
  branch_id AS "branchId", department_id AS "departmentId"`;

/** Each takes a JSON array of users. */
const INSERT_USERS = `
  INSERT INTO leadtap.users (id, company_id, email, name, plan, access_level, branch_id, department_id)
  SELECT * FROM json_to_recordset($1) AS u (id text, "companyId" text, email text, name text, plan text,
    "accessLevel" text, "branchId" text, "departmentId" text)`;
const ADD_USERS = `${INSERT_USERS} ON CONFLICT (id) DO NOTHING RETURNING id`;
export const PUT_USERS = `${INSERT_USERS}
  ON CONFLICT (id) DO UPDATE SET email = excluded.email, name = excluded.name, plan = excluded.plan,
    access_level = excluded.access_level, branch_id = excluded.branch_id, department_id = excluded.department_id`;

const FIND_USER = `SELECT ${USER_COLUMNS} FROM leadtap.users WHERE id = $1`;
const LIST_USERS = `SELECT ${USER_COLUMNS} FROM leadtap.users
  WHERE id > $1 ORDER BY id LIMIT $2`;

const FIND_PLACES = `SELECT
  EXISTS (SELECT FROM leadtap.companies WHERE id = $1) AS "hasCompany",
  EXISTS (SELECT FROM leadtap.branches WHERE company_id = $1 AND id = $2) AS "hasBranch",
  (SELECT branch_id FROM leadtap.departments WHERE company_id = $1 AND id = $3) AS "branchOfDepartment"`;

const RECORD_TOKENS = `
  INSERT INTO leadtap.issued_tokens (id, user_id, name, issued_at, expires_at, scope, key_id)
  SELECT t.id, t."userId", t.name, leadtap.from_ms(t."issuedAt"), leadtap.from_ms(t."expiresAt"),
         array_to_string(t.scopes, ' '), t."keyId"
    FROM json_to_recordset($1) AS t (id text, "userId" text, name text, "issuedAt" bigint, "expiresAt" bigint,
                                     scopes text[], "keyId" text)`;

const TOKEN_COLUMNS = `t.id, t.user_id AS "userId", t.name, leadtap.to_ms(t.issued_at) AS "issuedAt",
  leadtap.to_ms(t.expires_at) AS "expiresAt", string_to_array(t.scope, ' ') AS scopes, t.key_id AS "keyId"`;

const LIST_TOKEN_IDS = 'SELECT id FROM leadtap.issued_tokens WHERE id > $1 ORDER BY id LIMIT $2';
const FIND_TOKEN = `SELECT ${TOKEN_COLUMNS} FROM leadtap.issued_tokens AS t WHERE t.id = $1`;

const LIST_TOKENS = `
  SELECT ${TOKEN_COLUMNS}, leadtap.to_ms(r.revoked_at) AS "revokedAt"
    FROM leadtap.issued_tokens AS t LEFT JOIN leadtap.revoked_tokens AS r ON r.token_id = t.id
   WHERE t.user_id = $1 ORDER BY t.issued_at, t.id COLLATE "C"`;

const REVOKE_TOKEN = `
  INSERT INTO leadtap.revoked_tokens (token_id, revoked_at) VALUES ($1, leadtap.from_ms(leadtap.clock_ms()))
  ON CONFLICT DO NOTHING RETURNING token_id`;

/** A statement of its own, so that the statement after it sees the change for which it has waited. */
const LOCK_SENDER = 'SELECT leadtap.lock_sender($1, $2)';

const FIND_REVOCATION = 'SELECT FROM leadtap.revoked_tokens WHERE token_id = $1';

type TokenRow<T> = Omit<T, 'keyId'> & { readonly keyId: string | null };

const toToken = <T>({ keyId, ...row }: TokenRow<T>) => ({ ...row, ...(keyId !== null && { keyId }) });

type AccountMethods = Pick<
  Store,
  | ('findUser' | 'listUsers' | 'addUser' | 'updateUser' | 'removeUser')
  | ('isTokenRevoked' | 'recordTokens' | 'listTokens' | 'listTokenIds' | 'findToken' | 'revokeToken')
>;

export const accountMethods = (database: Database): AccountMethods => ({
  findUser: (userId) => findUser(database, FIND_USER, userId),

  /** Every id sorts after the empty string. */
  listUsers: (afterId, limit) => database.query<User>(LIST_USERS, [afterId ?? '', limit]),

  addUser: (user) =>
    database.transaction(async (session): Promise<AddUserOutcome> => {
      const known = await findUser(session, FIND_USER, user.id);
      if (known) return { kind: 'exists', user: known };
      const places = await findPlaces(session, user);
      if (!places.hasCompany()) return { kind: 'no-such-company' };
      const placed = placeUser(user, places);
      if ('kind' in placed) return placed;
      // Another transaction may add the same user at this moment.
      const added = await session.query(ADD_USERS, [JSON.stringify([placed])]);
      const existing = added.length > 0 ? undefined : await findUser(session, FIND_USER, user.id);
      return existing ? { kind: 'exists', user: existing } : { kind: 'added', user: placed };
    }),

  updateUser: (userId, changes) =>
    database.transaction(async (session): Promise<UpdateUserOutcome> => {
      const existing = await findUser(session, `${FIND_USER} FOR UPDATE`, userId);
      if (!existing) return { kind: 'no-such-user' };
      const changed = { ...existing, ...changes };
      const placed = placeUser(changed, await findPlaces(session, changed));
      if ('kind' in placed) return placed;
      await session.query(PUT_USERS, [JSON.stringify([placed])]);
      return { kind: 'updated', user: placed };
    }),

  /** In a transaction, for its longer timeouts: an organisation file that is being applied locks users for seconds. */
  async removeUser(userId) {
    if (!isStorable(userId)) return false;
    const removed = await database.transaction((session) =>
      session.query('DELETE FROM leadtap.users WHERE id = $1 RETURNING id', [userId]),
    );
    return removed.length > 0;
  },

  isTokenRevoked: (tokenId) => isTokenRevoked(database, tokenId),

  async recordTokens(tokens) {
    if (tokens.length > 0)
      await database.transaction((session) => queryInChunks(session, RECORD_TOKENS, tokens));
  },

  async listTokens(userId) {
    if (!isStorable(userId)) return [];
    return (await database.query<TokenRow<ListedToken>>(LIST_TOKENS, [userId])).map(toToken);
  },

  async findToken(tokenId) {
    if (!isStorable(tokenId)) return undefined;
    const [row] = await database.query<TokenRow<IssuedToken>>(FIND_TOKEN, [tokenId]);
    return row && toToken(row);
  },

  async listTokenIds(after, limit) {
    const rows = await database.query<{ id: string }>(LIST_TOKEN_IDS, [after, limit]);
    return rows.map(({ id }) => id);
  },

  /** In a transaction, for its longer timeouts: leads that are being written with the token are committed first. */
  async revokeToken(tokenId) {
    const revoked = await database.transaction((session) => session.query(REVOKE_TOKEN, [tokenId]));
    return revoked.length > 0;
  },
});

/** The account, which no other transaction can change until this one ends. */
export async function lockAccount(session: Session, { userId, tokenId }: Bearer): Promise<Account> {
  const storableTokenId = tokenId !== undefined && isStorable(tokenId) ? tokenId : null;
  if (isStorable(userId)) await session.query(LOCK_SENDER, [userId, storableTokenId]);
  return {
    isRevoked: tokenId !== undefined && (await isTokenRevoked(session, tokenId)),
    user: await findUser(session, FIND_USER, userId),
  };
}

const isTokenRevoked = async (session: Session, tokenId: string): Promise<boolean> =>
  isStorable(tokenId) && (await session.query(FIND_REVOCATION, [tokenId])).length > 0;

async function findUser(session: Session, text: string, userId: string): Promise<User | undefined> {
  if (!isStorable(userId)) return undefined;
  const [user] = await session.query<User>(text, [userId]);
  // The driver replaces a lone surrogate by U+FFFD, which may be the id of another user.
  return user?.id === userId ? user : undefined;
}

async function findPlaces(session: Session, { companyId, branchId, departmentId }: User) {
  const values = [companyId, branchId, departmentId];
  const [found] = await session.query<{
    hasCompany: boolean;
    hasBranch: boolean;
    branchOfDepartment: string | null;
  }>(FIND_PLACES, values);
  return {
    hasCompany: () => found?.hasCompany ?? false,
    hasBranch: () => found?.hasBranch ?? false,
    branchOfDepartment: () => found?.branchOfDepartment ?? undefined,
  };
}
