/** How every command finds companies and users. */
import type { User } from '../../accounts/records.ts';
import type { StoredCompany } from '../../accounts/store.ts';
import { pagesOf } from '../../lib/pages.ts';
import type { Store } from '../../store/store.ts';
import { Failure } from '../exit.ts';

const ITEMS_PER_PAGE = 200;

/** All users, or those of a company, sorted by id. */
export const userPages = (
  store: Store,
  signal: AbortSignal,
  companyId?: string,
): AsyncGenerator<readonly User[]> =>
  pagesOf(ITEMS_PER_PAGE, (last, limit) => {
    signal.throwIfAborted();
    return companyId === undefined
      ? store.listUsers(last?.id, limit)
      : store.organisation.readUsers(companyId, last?.id, limit);
  });

/** All companies, or the one with this id. */
export async function* companiesOf(
  store: Store,
  signal: AbortSignal,
  id?: string,
): AsyncGenerator<StoredCompany> {
  if (id !== undefined) return yield await findCompany(store, id);
  const pages = pagesOf<StoredCompany>(ITEMS_PER_PAGE, (last, limit) =>
    store.organisation.readCompanies(last?.id, limit),
  );
  for await (const page of pages) {
    signal.throwIfAborted();
    yield* page;
  }
}

export async function findCompany(store: Store, id: string): Promise<StoredCompany> {
  const company = await store.organisation.readCompany(id);
  if (company) return company;
  throw new Failure('not-found', `there is no company ${id}`, '`leadtap org export` shows all companies.');
}

/** The given company, or the only one. Undefined if there are none or several. */
export async function findCompanyOrOnlyOne(
  store: Store,
  id: string | undefined,
): Promise<StoredCompany | undefined> {
  if (id !== undefined) return findCompany(store, id);
  const [first, second] = await store.organisation.readCompanies(undefined, 2);
  return second === undefined ? first : undefined;
}

/** The branch or department that a company does not have. */
export const noSuchPlace = (companyId: string, kind: 'branch' | 'department', id: string): Failure =>
  new Failure(
    'not-found',
    `company ${companyId} has no ${kind} ${id}`,
    `\`leadtap org export --company ${companyId}\` shows what it has.`,
  );

export async function findUser(store: Store, id: string): Promise<User> {
  const user = await store.findUser(id);
  if (user) return user;
  throw noSuchUser(id);
}

export const noSuchUser = (id: string, ...fix: string[]): Failure =>
  new Failure('not-found', `there is no user ${id}`, '`leadtap user list` shows all users.', ...fix);
