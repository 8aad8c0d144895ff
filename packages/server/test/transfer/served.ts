import { join } from 'node:path';
import { NEW_LEADS_PATH } from '@leadtap/contract';
import { issueToken, loadSigningKeys } from 'leadtap';
import { spawnLeadtap } from '../../../testing/harness/leadtap-process.ts';
import type { Endpoints } from './endpoints.ts';

/** A running `leadtap serve` on one database of a move. */
export interface Served {
  /** `query` is the part after the question mark. */
  poll(token: string, query?: string): Promise<Response>;
  stop(): Promise<void>;
}

export async function serve({ folder }: Endpoints, databaseUrl: string): Promise<Served> {
  const env = { LEADTAP_DATABASE_URL: databaseUrl, LEADTAP_PORT: '0', LEADTAP_METRICS_ADDRESS: 'off' };
  const { child, lines, ended } = spawnLeadtap(['serve'], env, folder);
  for (;;) {
    const { value, done } = await lines.next();
    if (done) throw new Error(`it ended: ${(await ended).stderr}`);
    const { msg, url }: { msg: string; url: string } = JSON.parse(value);
    if (msg !== 'serving new leads') continue;
    return {
      poll: (token, query = '') =>
        fetch(`${url}${NEW_LEADS_PATH}${query && `?${query}`}`, {
          // A connection that stays open would delay the shutdown by 3 s.
          headers: { authorization: `Bearer ${token}`, connection: 'close' },
        }),
      stop: async () => {
        // SIGTERM would wait for the drain time.
        child.kill('SIGINT');
        await ended;
      },
    };
  }
}

/** Signed with the key of the SQLite installation, which is also the default of the other service. */
export async function makeToken({ folder }: Endpoints, userId: string, tokenId: string): Promise<string> {
  const keys = await loadSigningKeys({ file: join(folder, 'data', 'signing.key') });
  const now = Date.now();
  return issueToken(keys, { userId, tokenId, issuedAt: now, expiresAt: now + 3_600_000 });
}

/** The query of the `Link` of an answer. */
export function queryOfLink(response: Response): string {
  const [, url = ''] = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '') ?? [];
  return new URL(url).search.slice(1);
}
