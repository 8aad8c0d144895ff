import type { Cleanup } from '../../cleanup.ts';
import type { Load } from '../../load/messages.ts';
import { exploreNewest, type NewestLeads } from '../../load/newest-leads.ts';
import type { GrowthDatabase } from '../../made-up/growth/databases.ts';
import { MEASURED_COMPANIES, MEASURED_USERS } from '../../made-up/growth/shape.ts';
import { tokenSigner } from '../../made-up/growth/tokens.ts';
import { type AccessLevel, EVERY_PLACE, userId } from '../../made-up/organisation.ts';
import { signingKeyFile } from '../../service/leadtap.ts';
import { type RunningService, serve } from '../../service/serve.ts';

export interface MeasuredUser {
  readonly token: string;
  readonly level: AccessLevel;
  readonly newest: NewestLeads;
}

/** A database of the growth section with an instance over it. */
export interface Served {
  readonly database: GrowthDatabase;
  readonly service: RunningService;
  readonly tokenOf: (userId: string) => string;
  /** Those of the companies that are measured. */
  readonly users: readonly MeasuredUser[];
}

export async function serveDatabase(database: GrowthDatabase, cleanup: Cleanup): Promise<Served> {
  const service = cleanup.own(await serve(database.home));
  const tokenOf = tokenSigner(signingKeyFile(database.home.folder));
  const users: MeasuredUser[] = [];
  for (let company = 0; company < MEASURED_COMPANIES; company += 1) {
    const places = EVERY_PLACE.map((_, n) => exploreNewest(service.port, tokenOf(userId(company, n))));
    const newest = await Promise.all(places);
    for (let n = 0; n < MEASURED_USERS; n += 1) {
      const ofPlace = newest[n % EVERY_PLACE.length];
      const level = EVERY_PLACE[n % EVERY_PLACE.length]?.accessLevel;
      if (ofPlace && level) users.push({ token: tokenOf(userId(company, n)), level, newest: ofPlace });
    }
  }
  return { database, service, tokenOf, users };
}

export const loadOn = (
  { service, database }: { service: RunningService; database: GrowthDatabase },
  requests: string,
  connections = 64,
): Load => ({
  requests,
  connections,
  ports: [service.port],
  processes: { server: [service.pid], ...database.servers },
});
