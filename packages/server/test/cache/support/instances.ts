import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NEW_LEADS_PATH } from '@leadtap/contract';
import { createPollHandler, type Store, type VerifyToken } from 'leadtap';
import { noLimit } from '../../../../testing/harness/endpoint.ts';
import type { WhenDone } from '../../../../testing/harness/temp-folder.ts';

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

/** The endpoint with a cache of its own, over real HTTP, without rate limits. */
export async function serve(store: Store, whenDone: WhenDone): Promise<Instance> {
  const publicUrl = 'http://leadtap.example';
  const handle = createPollHandler({
    store,
    verifyToken,
    limiter: noLimit,
    failedTokens: noLimit,
    publicUrl,
  });
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  whenDone(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    poll: async (token, query) => {
      const headers = { authorization: `Bearer ${token}` };
      const response = await fetch(`${url}${NEW_LEADS_PATH}?${query}`, { headers });
      const body = (await response.text()).replace(/"requestId":"[^"]*"/, '');
      return { status: response.status, etag: response.headers.get('etag'), body };
    },
  };
}
