import { exploreNewest, type NewestLeads } from '../../load/newest-leads.ts';
import { companyId, type Size, userId } from '../../made-up/organisation.ts';

export interface Account {
  readonly companyId: string;
  readonly token: string;
  /** Counts the users of a company. */
  readonly number: number;
  /** What the users of the same place see. */
  readonly feed: NewestLeads;
}

/** Asks for every feed once, as a new client does, and gives each user the feed of the own place. */
export async function exploreFeeds(
  port: number,
  tokens: ReadonlyMap<string, string>,
  { companies, usersPerCompany, places }: Size,
): Promise<Account[]> {
  const accounts: Account[] = [];
  for (let company = 0; company < companies; company += 1) {
    const tokenOf = (n: number) => tokens.get(userId(company, n)) ?? '';
    const feeds = await Promise.all(places.map((_, n) => exploreNewest(port, tokenOf(n))));
    for (let n = 0; n < usersPerCompany; n += 1) {
      const feed = feeds[n % places.length];
      if (feed) accounts.push({ companyId: companyId(company), token: tokenOf(n), number: n, feed });
    }
  }
  return accounts;
}
