import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { WhenDone } from '../harness/temp-folder.ts';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/**
 * The fate of an answer: it arrives; the connection ends before it, or in the middle of its body; the client has disconnected; or
 * another answer takes its place.
 */
export type Fate = 'arrives' | 'is lost' | 'is cut' | 'client disconnected' | Answer;

const replacement = (status: number, body: string, headers: Answer['headers'] = {}): Answer => ({
  status,
  headers: { 'content-type': 'text/html', ...headers },
  body: Buffer.from(body),
});

/** What every program of the documents recovers from. */
export const FAULTS: readonly Fate[] = [
  'is lost',
  'is cut',
  replacement(429, '{"title":"Too many requests"}', { 'retry-after': '1' }),
  replacement(503, '{"title":"Unavailable"}', { 'retry-after': '1' }),
  replacement(502, '<h1>Bad Gateway</h1>'),
  replacement(200, '<!doctype html><title>Back soon</title>'),
  replacement(200, ''),
  replacement(200, '{}', { 'content-type': 'application/json' }),
];

/** The way from a poller to the service: an address that stays, whatever is restarted, and a place to interfere. */
export interface Road {
  readonly url: string;
  /** Where the service is; undefined while it is away. */
  target: string | undefined;
  /** Called before each request goes on to the service. */
  beforeRequest: () => Promise<void>;
  /** Called before each answer goes back. */
  fateOf: (answer: Answer) => Fate;
  /** The `since` of the last request that asks the service to wait, while there is no answer. */
  heldSince: string | undefined;
  /** Answers to requests that wait go back while a poll is under way, so that faults meet them as they meet others. */
  untilPoll: () => Promise<void>;
}

export async function layRoad(whenDone: WhenDone): Promise<Road> {
  const agent = new Agent({ keepAlive: true });
  const server = createServer((asked, answered) => {
    travel(road, agent, asked, answered).catch(() => answered.destroy());
  });
  // An idle connection must not be closed at the moment when a poller sends its next request over it.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  whenDone(() => {
    agent.destroy();
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const road: Road = {
    url: `http://127.0.0.1:${port}`,
    target: undefined,
    beforeRequest: async () => undefined,
    fateOf: () => 'arrives',
    heldSince: undefined,
    untilPoll: async () => undefined,
  };
  return road;
}

async function travel(
  road: Road,
  agent: Agent,
  asked: IncomingMessage,
  answered: ServerResponse,
): Promise<void> {
  await road.beforeRequest();
  if (road.target === undefined) return void answered.destroy();
  const isHeld = asked.headers['prefer'] !== undefined;
  const since = new URL(asked.url ?? '', road.url).searchParams.get('since') ?? undefined;
  if (isHeld) road.heldSince = since;
  const answer = await forward(road.target, agent, asked, answered);
  if (isHeld && road.heldSince === since) road.heldSince = undefined;
  if (isHeld) await road.untilPoll();
  const fate = road.fateOf(answer);
  if (fate === 'arrives') respond(answered, answer);
  else if (fate === 'is lost') answered.destroy();
  else if (fate === 'is cut') cut(answered, answer);
  else if (fate !== 'client disconnected') respond(answered, fate);
}

function respond(answered: ServerResponse, { status, headers, body }: Answer): void {
  answered.writeHead(status, headers).end(body);
}

/** All headers and half of the body arrive. */
function cut(answered: ServerResponse, { status, headers, body }: Answer): void {
  answered.writeHead(status, { ...headers, 'content-length': Math.max(2, body.length) });
  answered.write(body.subarray(0, Math.ceil(body.length / 2)), () => answered.destroy());
}

/** The headers go along as they are, `Host` among them: the service gives the address of the road as the next one. */
function forward(
  target: string,
  agent: Agent,
  asked: IncomingMessage,
  answered: ServerResponse,
): Promise<Answer> {
  const { url, method = 'GET', headers } = asked;
  return new Promise((resolve, reject) => {
    const sent = request(`${target}${url}`, { agent, method, headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk) => chunks.push(chunk));
      answer.on('error', reject);
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(chunks) }),
      );
    });
    // A poller that is killed leaves no request behind at the service.
    answered.once('close', () => {
      if (!answered.writableEnded) sent.destroy();
    });
    asked.pipe(sent.on('error', reject));
  });
}
