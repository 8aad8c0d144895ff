/** The account of a token, which polls and writes of leads read. */

import type { User, VerifiedToken } from '../../accounts/records.ts';
import type { Account } from '../../accounts/store.ts';
import type { PollQueries } from '../../poll/store.ts';
import { isStorable } from '../sql.ts';
import type { Database, Session } from './connection.ts';

const FIND_USER = `
  SELECT id, company_id AS "companyId", email, name, plan, access_level AS "accessLevel", branch_id AS "branchId",
         department_id AS "departmentId" FROM leadtap.users WHERE id = $1`;
const FIND_REVOCATION = 'SELECT FROM leadtap.revoked_tokens WHERE token_id = $1';

/** A statement of its own, so that the statement after it sees the change for which it has waited. */
const LOCK_SENDER = 'SELECT leadtap.lock_sender($1, $2)';

export const accountMethods = (database: Database): Pick<PollQueries, 'findUser' | 'isTokenRevoked'> => ({
  findUser: (userId) => findUser(database, userId),
  isTokenRevoked: (tokenId) => isTokenRevoked(database, tokenId),
});

/** The account, which no other transaction can change until this one ends. */
export async function lockAccount(session: Session, { userId, tokenId }: VerifiedToken): Promise<Account> {
  const storableTokenId = tokenId !== undefined && isStorable(tokenId) ? tokenId : null;
  if (isStorable(userId)) await session.query(LOCK_SENDER, [userId, storableTokenId]);
  return {
    isRevoked: tokenId !== undefined && (await isTokenRevoked(session, tokenId)),
    user: await findUser(session, userId),
  };
}

const isTokenRevoked = async (session: Session, tokenId: string): Promise<boolean> =>
  isStorable(tokenId) && (await session.query(FIND_REVOCATION, [tokenId])).length > 0;

async function findUser(session: Session, userId: string): Promise<User | undefined> {
  if (!isStorable(userId)) return undefined;
  const [user] = await session.query<User>(FIND_USER, [userId]);
  return user;
}
