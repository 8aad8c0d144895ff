import type { User } from '../accounts/records.ts';
import type { ListedToken, OrganisationReader, StoredCompany } from '../accounts/store.ts';
import { nearestName } from '../nearest-name.ts';
import type { Store } from '../store/store.ts';
import { Failure } from './failure.ts';

const COMPANIES_PER_PAGE = 100;
/** More ids are not compared with a mistyped one. */
const MAX_COMPARED = 10_000;

/** The stores of `open-store.ts` have every optional part; a store of another program may not. */
export function requirePart<Part>(part: Part | undefined): Part {
  if (part === undefined) throw new Failure('unavailable', 'the store of this database cannot do that');
  return part;
}

export const organisationOf = (store: Store): OrganisationReader => requirePart(store.organisation);

/** All companies sorted by id, page by page. */
export async function* companyPages(
  store: Store,
  signal: AbortSignal,
): AsyncGenerator<readonly StoredCompany[]> {
  let page: readonly StoredCompany[] = [];
  do {
    signal.throwIfAborted();
    page = await organisationOf(store).readCompanies(page.at(-1)?.id, COMPANIES_PER_PAGE);
    yield page;
  } while (page.length === COMPANIES_PER_PAGE);
}

/** The company with this id. */
export async function findCompany(store: Store, id: string, signal: AbortSignal): Promise<StoredCompany> {
  return (
    (await organisationOf(store).readCompany(id)) ?? Promise.reject(await noSuchCompany(store, id, signal))
  );
}

/** The given company, or the only one. Undefined if there are none or several. */
export async function findCompanyOrOnlyOne(
  store: Store,
  id: string | undefined,
  signal: AbortSignal,
): Promise<StoredCompany | undefined> {
  if (id !== undefined) return findCompany(store, id, signal);
  const [first, second] = await organisationOf(store).readCompanies(undefined, 2);
  return second === undefined ? first : undefined;
}

export async function noSuchCompany(store: Store, id: string, signal: AbortSignal): Promise<Failure> {
  const ids: string[] = [];
  for await (const page of companyPages(store, signal)) {
    ids.push(...page.map((company) => company.id));
    if (ids.length >= MAX_COMPARED) break;
  }
  return new Failure('not-found', `there is no company ${id}`, ...suggest(id, ids, 'company'));
}

/** The branch or department that a company does not have, with the one that was probably meant. */
export async function noSuchPlace(
  store: Store,
  companyId: string,
  kind: 'branch' | 'department',
  given: string,
  signal: AbortSignal,
): Promise<Failure> {
  const { branches } = await findCompany(store, companyId, signal);
  const places = kind === 'branch' ? branches : branches.flatMap(({ departments }) => departments);
  const ids = places.map(({ id }) => id);
  return new Failure(
    'not-found',
    `company ${companyId} has no ${kind} ${given}`,
    ...suggest(given, ids, kind),
  );
}

export async function findUser(store: Store, id: string): Promise<User> {
  return (await store.findUser(id)) ?? Promise.reject(await noSuchUser(store, id));
}

export async function noSuchUser(store: Store, id: string, ...fix: string[]): Promise<Failure> {
  const users = await store.listUsers(undefined, MAX_COMPARED);
  const ids = users.map((user) => user.id);
  const list = ids.length > MAX_SHOWN ? ['`leadtap user list` shows all users.'] : [];
  return new Failure('not-found', `there is no user ${id}`, ...suggest(id, ids, 'user'), ...list, ...fix);
}

/** Names the id that was probably meant, or else a few of those that exist. */
function suggest(given: string, known: readonly string[], kind: string): string[] {
  const near = nearestName(given, known);
  if (near !== undefined) return [`Did you mean ${near}?`];
  if (known.length === 0) return [`There is no ${kind} yet. \`leadtap org apply\` creates them.`];
  const shown = known.slice(0, MAX_SHOWN).join(', ');
  return [`Known: ${shown}${known.length > MAX_SHOWN ? ', …' : ''}`];
}

const MAX_SHOWN = 10;

/** Returns the number of tokens that were not revoked before. */
export async function revokeAll(store: Store, tokens: readonly ListedToken[]): Promise<number> {
  let count = 0;
  for (const { id } of tokens) if (await store.revokeToken(id)) count += 1;
  return count;
}

/** `1 token was`, `2 tokens were`. */
export const describeCount = (count: number): string =>
  count === 1 ? '1 token was' : `${count} tokens were`;
