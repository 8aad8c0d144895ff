import { once } from 'node:events';
import {
  Agent,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { WhenDone } from '../../../testing/harness/temp-folder.ts';
import type { Fault, NetworkStep } from './schedule.ts';

/** An answer of the service, or one that stands for it. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Decides the faults, and receives what happened. */
export interface Script {
  /** A request has come; what is to become of it? */
  arrived(): Promise<NetworkStep>;
  /** The service has answered this request, and the answer has not arrived yet. */
  read(step: NetworkStep, answer: Answer): Promise<void>;
  /** The whole of an answer goes to the client. */
  delivered(answer: Answer): void;
  /** The connection breaks before there is a whole answer. */
  lost(): void;
  /** Nothing more will come for this request, and the connection stays. */
  silent(): void;
  /** The test itself is broken. */
  failed(error: unknown): void;
  readonly targetUrl: string;
}

/** A real HTTP proxy in front of the service that treats requests as its script says. */
export class FaultyNetwork {
  readonly #server: Server;
  readonly #agent = new Agent({ keepAlive: true });
  #script: Script | undefined;
  /** What a cache that does not look at the query could give for any request. */
  #stalePage: Answer | undefined;

  private constructor() {
    this.#server = createServer((incoming, response) => {
      this.#handle(incoming, response).catch((error) => this.#script?.failed(error));
    });
  }

  static async start(whenDone: WhenDone): Promise<FaultyNetwork> {
    const network = new FaultyNetwork();
    network.#server.listen(0, '127.0.0.1');
    await once(network.#server, 'listening');
    whenDone(() => {
      network.#agent.destroy();
      network.#server.close();
      network.#server.closeAllConnections();
    });
    return network;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  follow(script: Script): void {
    this.#script = script;
    this.#stalePage = undefined;
  }

  async #handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const script = this.#script;
    if (!script) throw new Error('no poll is expected yet');
    const step = await script.arrived();
    if (step.isConsumerKilled) return void response.destroy();
    if (step.fault === 'request-cut') return hangUp(script, response);
    if (step.fault === 'silence') return script.silent();
    const madeUp = standIn(step) ?? (step.fault === 'stale-answer' ? this.#stalePage : undefined);
    const answer = madeUp ?? (await this.#forward(incoming, script.targetUrl));
    if (!madeUp) await script.read(step, answer);
    if (!madeUp && incoming.method === 'GET' && answer.status === 200 && answer.body.length > 2)
      this.#stalePage ??= answer;
    send(script, step, answer, response);
  }

  async #forward(incoming: IncomingMessage, targetUrl: string): Promise<Answer> {
    const { host: _, connection: __, ...headers } = incoming.headers;
    const { method } = incoming;
    const outgoing = request(`${targetUrl}${incoming.url}`, { method, headers, agent: this.#agent });
    incoming.pipe(outgoing);
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
    const chunks: Buffer[] = [];
    for await (const chunk of answer) chunks.push(chunk);
    const kept = Object.entries(answer.headers).filter(([name]) => !/^(connection|keep-alive)$/.test(name));
    return {
      status: answer.statusCode ?? 0,
      headers: Object.fromEntries(kept.map(([name, value]) => [name, String(value)])),
      body: Buffer.concat(chunks),
    };
  }
}

/** What somebody says in the place of the service. */
function standIn({ fault, retryAfterS }: NetworkStep): Answer | undefined {
  const later = { 'retry-after': String(retryAfterS) };
  if (fault === '429') return problem(429, 'rate-limit-exceeded', later);
  if (fault === '500') return problem(500, 'internal-error');
  if (fault === '503') return problem(503, 'unavailable', later);
  const page = { headers: { 'content-type': 'text/html' }, body: Buffer.from('<h1>Back soon</h1>') };
  if (fault === 'proxy-502') return { status: 502, ...page };
  return fault === 'proxy-page' ? { status: 200, ...page } : undefined;
}

function problem(status: number, code: string, headers: Record<string, string> = {}): Answer {
  const body = { type: 'about:blank', title: code, status, detail: 'Not now.', code, requestId: 'r-1' };
  return {
    status,
    headers: { 'content-type': 'application/problem+json', ...headers },
    body: Buffer.from(JSON.stringify(body)),
  };
}

function send(script: Script, { fault }: NetworkStep, answer: Answer, response: ServerResponse): void {
  const { status, headers, body } = answer;
  if (fault === 'answer-lost') hangUp(script, response);
  // A problem is a problem, whatever becomes of its text: only successes are cut.
  else if (status < 300 && CUT[fault]) CUT[fault](script, response, answer);
  else {
    script.delivered(answer);
    response.writeHead(status, headers);
    if (fault === 'slow-bytes') dribble(response, body);
    else response.end(body);
  }
}

type Cut = (script: Script, response: ServerResponse, answer: Answer) => void;

const halfOf = ({ body }: Answer) => body.subarray(0, body.length / 2);

const CUT: Partial<Record<Fault, Cut>> = {
  'answer-cut': (script, response, answer) =>
    response.writeHead(answer.status, answer.headers).write(halfOf(answer), () => hangUp(script, response)),
  'silence-in-answer': (script, response, answer) =>
    response.writeHead(answer.status, answer.headers).write(halfOf(answer), () => script.silent()),
  'answer-cut-unnoticed': (script, response, answer) => {
    const { 'content-length': _, ...unmeasured } = answer.headers;
    script.lost();
    response.writeHead(answer.status, unmeasured).end(halfOf(answer));
  },
};

function hangUp(script: Script, response: ServerResponse): void {
  script.lost();
  response.destroy();
}

function dribble(response: ServerResponse, body: Buffer): void {
  const size = Math.ceil(body.length / 16);
  if (size === 0) return void response.end();
  response.write(body.subarray(0, size), () => setImmediate(dribble, response, body.subarray(size)));
}
