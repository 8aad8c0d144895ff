import { join } from 'node:path';
import { NEW_LEADS_PATH } from '@leadtap/contract';
import { issueToken, loadSigningKeys } from 'leadtap';
import { spawnLeadtap } from '../../../testing/harness/leadtap-process.ts';
import type { Ends } from './ends.ts';

/** One end of a move while `leadtap serve` runs on it. */
export interface Served {
  /** `query` is what stands behind the question mark. */
  poll(token: string, query?: string): Promise<Response>;
  stop(): Promise<void>;
}

export async function serve({ folder }: Ends, databaseUrl: string): Promise<Served> {
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
          // A connection that stays open would make the stop take 3 s.
          headers: { authorization: `Bearer ${token}`, connection: 'close' },
        }),
      stop: async () => {
        // Without the drain time of SIGTERM.
        child.kill('SIGINT');
        await ended;
      },
    };
  }
}

/** With the key that both ends find: that of the embedded database, which is where the other one looks for its own. */
export async function makeToken({ folder }: Ends, userId: string, tokenId: string): Promise<string> {
  const keys = await loadSigningKeys({ file: join(folder, 'data', 'signing.key') });
  const now = Date.now();
  return issueToken(keys, { userId, tokenId, issuedAt: now, expiresAt: now + 3_600_000 });
}

/** What the `Link` of an answer leads to. */
export function nextQuery(response: Response): string {
  const [, url = ''] = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '') ?? [];
  return new URL(url).search.slice(1);
}
