import { Agent, request } from 'node:http';
import type { CannedAnswer } from '../baselines/messages.ts';
import { NEW_LEADS } from './requests.ts';

export interface PollAnswer extends CannedAnswer {
  /** The query of the next poll, as the `Link` of the answer has it: `?since=…&limit=…`. */
  readonly nextQuery: string;
}

const KEPT = new Agent({ keepAlive: true });

/** One poll by the usual client of Node.js, looked at closely. */
export function pollOnce(port: number, token: string, query: string): Promise<PollAnswer> {
  return new Promise((resolve, reject) => {
    const headers = { host: 'leads.example.com', authorization: `Bearer ${token}` };
    const sent = request(
      { host: '127.0.0.1', port, path: `${NEW_LEADS}${query}`, headers, agent: KEPT },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const { statusCode: status = 0, rawHeaders } = response;
          const body = Buffer.concat(chunks);
          if (status !== 200)
            return reject(new Error(`${query} was answered with ${status}: ${body.toString()}`));
          const nextQuery = /new-leads(\?[^>]*)>/.exec(String(response.headers['link']))?.[1] ?? '';
          return resolve({ status, headers: rawHeaders, body, nextQuery });
        });
        response.on('error', reject);
      },
    );
    sent.on('error', reject).end();
  });
}
