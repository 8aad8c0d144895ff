/** How every command finds companies and users. */
import type { User } from '../../accounts/records.ts';
import type { StoredCompany } from '../../accounts/store.ts';
import type { Store } from '../../store/store.ts';
import { Failure } from '../failure.ts';

const ITEMS_PER_PAGE = 200;

/** Sorted by id, page by page, so that any number of them fits into memory. */
async function* pagesOf<Item extends { readonly id: string }>(
  signal: AbortSignal,
  read: (afterId: string | undefined, limit: number) => Promise<readonly Item[]>,
): AsyncGenerator<readonly Item[]> {
  let page: readonly Item[] = [];
  do {
    signal.throwIfAborted();
    page = await read(page.at(-1)?.id, ITEMS_PER_PAGE);
    yield page;
  } while (page.length === ITEMS_PER_PAGE);
}

/** All users, or those of a company. */
export const userPages = (
  store: Store,
  signal: AbortSignal,
  companyId?: string,
): AsyncGenerator<readonly User[]> =>
  pagesOf(signal, (afterId, limit) =>
    companyId === undefined
      ? store.listUsers(afterId, limit)
      : store.organisation.readUsers(companyId, afterId, limit),
  );

/** All companies, or the one with this id. */
export async function* companiesOf(
  store: Store,
  signal: AbortSignal,
  id?: string,
): AsyncGenerator<StoredCompany> {
  if (id !== undefined) return yield await findCompany(store, id);
  for await (const page of pagesOf(signal, (afterId, limit) =>
    store.organisation.readCompanies(afterId, limit),
  ))
    yield* page;
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
