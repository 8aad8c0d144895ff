/** The account of a token, which polls read. */

import type { User } from '../../accounts/records.ts';
import type { PollQueries } from '../../poll/store.ts';
import { isStorable } from '../sql.ts';
import type { Database, Session } from './connection.ts';

const FIND_USER = `
  SELECT id, company_id AS "companyId", email, name, plan, access_level AS "accessLevel", branch_id AS "branchId",
         department_id AS "departmentId" FROM leadtap.users WHERE id = $1`;
const FIND_REVOCATION = 'SELECT FROM leadtap.revoked_tokens WHERE token_id = $1';

export const accountMethods = (database: Database): Pick<PollQueries, 'findUser' | 'isTokenRevoked'> => ({
  findUser: (userId) => findUser(database, userId),
  isTokenRevoked: (tokenId) => isTokenRevoked(database, tokenId),
});

const isTokenRevoked = async (session: Session, tokenId: string): Promise<boolean> =>
  isStorable(tokenId) && (await session.query(FIND_REVOCATION, [tokenId])).length > 0;

async function findUser(session: Session, userId: string): Promise<User | undefined> {
  if (!isStorable(userId)) return undefined;
  const [user] = await session.query<User>(FIND_USER, [userId]);
  return user;
}
