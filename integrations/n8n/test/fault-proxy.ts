import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** What happens to a request on its way to the service. */
export type Fault = 'none' | 'cut' | 'answer lost' | 'too many' | 'unavailable' | 'not ours';

const SEND: Record<Exclude<Fault, 'none' | 'answer lost'>, (answer: ServerResponse) => void> = {
  cut: (answer) => answer.destroy(),
  'too many': (answer) => answer.writeHead(429, { 'retry-after': '7' }).end(),
  unavailable: (answer) => answer.writeHead(503, { 'retry-after': '5' }).end(),
  'not ours': (answer) => answer.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Welcome</h1>'),
};

export interface FaultyRoad {
  readonly url: string;
  /** What the next requests meet, one after the other; those after them pass. */
  faults: Fault[];
  /** How many requests came, whatever became of them. */
  requests: number;
}

const PASSED_ON = ['content-type', 'link', 'ratelimit', 'preference-applied'];

const passedOn = (headers: Headers): Record<string, string> =>
  Object.fromEntries([...headers].filter(([name]) => PASSED_ON.includes(name)));

/** A road to the service on which requests and answers get lost. */
export async function layFaultyRoad(target: string): Promise<FaultyRoad> {
  const server = createServer(async (request, answer) => {
    road.requests += 1;
    const fault = road.faults.shift() ?? 'none';
    if (fault !== 'none' && fault !== 'answer lost') return SEND[fault](answer);
    const { authorization = '', prefer } = request.headers;
    const closed = new AbortController();
    answer.once('close', () => closed.abort());
    const headers = { authorization, ...(prefer !== undefined && { prefer: String(prefer) }) };
    const response = await fetch(target + request.url, { headers, signal: closed.signal }).catch(
      () => undefined,
    );
    const body = await response?.text();
    if (fault === 'answer lost' || !response) return answer.destroy();
    answer.writeHead(response.status, passedOn(response.headers)).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const road: FaultyRoad = { url: `http://127.0.0.1:${port}`, faults: [], requests: 0 };
  return road;
}
