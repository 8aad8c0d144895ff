import { NEW_LEADS_PATH } from '@leadtap/contract';
import { type Store, systemClock, type VerifyToken } from 'leadtap';
import { noLimit } from '../../../../testing/harness/endpoint.ts';
import type { WhenDone } from '../../../../testing/harness/temp-folder.ts';
import { buildApp } from '../../../src/build-app.ts';
import { makeLogger } from '../../../src/ops/logging.ts';

export interface Answer {
  readonly status: number;
  readonly etag: string | null;
  /** Without the id of the request, which a problem shows. */
  readonly body: string;
}

export interface Instance {
  poll(token: string, query: string): Promise<Answer>;
}

/** A token that contains its user id and token id. */
export const tokenOf = (userId: string, tokenId: string): string => JSON.stringify({ userId, tokenId });

const verifyToken: VerifyToken = (token) => ({ kind: 'valid', token: JSON.parse(token) });

/** One instance of the service, over real HTTP, without rate limits. */
export async function serve(store: Store, whenDone: WhenDone): Promise<Instance> {
  const app = buildApp(
    {
      store,
      verifyToken,
      limiter: noLimit,
      failedTokens: noLimit,
      observer: { observe: () => undefined },
      logger: makeLogger('fatal', { write: () => undefined }),
      clock: systemClock,
      version: '0.0.0',
    },
    { basePath: '', publicUrl: 'http://leadtap.example', trustProxy: false },
  );
  whenDone(() => app.close());
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return {
    poll: async (token, query) => {
      const headers = { authorization: `Bearer ${token}` };
      const response = await fetch(`${url}${NEW_LEADS_PATH}?${query}`, { headers });
      const body = (await response.text()).replace(/"requestId":"[^"]*"/, '');
      return { status: response.status, etag: response.headers.get('etag'), body };
    },
  };
}
