/** What others notice of a load on the same instance. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { Bench } from './bench.ts';
import { leadOf } from './data.ts';
import { median, percentile } from './report.ts';
import { type Home, type Instance, serve } from './service.ts';

export interface Answer {
  readonly status: number;
  readonly ms: number;
  readonly link: string | undefined;
}

const agent = new Agent({ keepAlive: true });

/** One request; a body is JSON. */
export function send({ port }: Instance, token: string, path: string, body?: string): Promise<Answer> {
  const begunAt = performance.now();
  const authorization = `Bearer ${token}`;
  const options = {
    ...{ agent, host: '127.0.0.1', port, path, method: body === undefined ? 'GET' : 'POST' },
    headers: { authorization, ...(body !== undefined && { 'content-type': 'application/json' }) },
  };
  return new Promise((resolve, reject) => {
    const sent = request(options, (response) => {
      const link = /<https?:\/\/[^/]+([^>]+)>/.exec(String(response.headers['link']))?.[1];
      const end = () => resolve({ status: response.statusCode ?? 0, ms: performance.now() - begunAt, link });
      response.resume().on('end', end).on('error', reject);
    });
    sent.on('error', reject).end(body);
  });
}

export interface MeasuredInstance {
  readonly instance: Instance;
  /** The longest slice of processor time between two turns of its event loop since the last call. */
  readSliceMs(): Promise<number>;
}

export async function serveWithSlices(
  bench: Bench,
  home: Home,
  settings: Readonly<Record<string, string>>,
): Promise<MeasuredInstance> {
  const file = `${home.folder}/longest-slice`;
  const slices = new URL('servers/slices.js', import.meta.url).href;
  const all = { ...home.settings, ...settings, SLICES_FILE: file, NODE_OPTIONS: `--import=${slices}` };
  const instance = bench.cleanup.own(await serve({ ...home, settings: all }));
  const readSliceMs = async () => {
    rmSync(file, { force: true });
    process.kill(instance.pid, 'SIGUSR2');
    while (!existsSync(file)) await pause(5);
    return Number(readFileSync(file, 'utf8'));
  };
  return { instance, readSliceMs };
}

/** Polls of some users in turn: each follows its own `Link`. */
export class Polls {
  readonly #instance: Instance;
  readonly #tokens: readonly string[];
  readonly #links = new Map<string, string>();
  #count = 0;

  constructor(instance: Instance, tokens: readonly string[]) {
    this.#instance = instance;
    this.#tokens = tokens;
  }

  async next(): Promise<Answer> {
    const token = this.#tokens[this.#count % this.#tokens.length] ?? '';
    this.#count += 1;
    const path = this.#links.get(token) ?? '/automation/new-leads?limit=1';
    const answer = await send(this.#instance, token, path);
    if (answer.link !== undefined) this.#links.set(token, answer.link);
    return answer;
  }
}

/** Each is of another client, and waits for none before it: a stall delays all that fall into it. */
const POLL_INTERVAL_MS = 10;
const POLLS_PER_POST = 4;

async function summarize(sent: readonly Promise<Answer>[]) {
  const answers = await Promise.all(sent);
  const ms = answers.map((answer) => answer.ms);
  const failed = answers.filter(({ status }) => status >= 300).length;
  return { p50Ms: median(ms), p99Ms: percentile(ms, 0.99), failed };
}

/** Some users poll, others send a lead each time. */
export class Others {
  readonly #measured: MeasuredInstance;
  readonly #polls: Polls;
  readonly #senders: readonly string[];
  #posts = 0;

  constructor(measured: MeasuredInstance, pollers: readonly string[], senders: readonly string[]) {
    this.#measured = measured;
    this.#polls = new Polls(measured.instance, pollers);
    this.#senders = senders;
  }

  /** What they notice until this has ended. */
  async observe(load: Promise<unknown>) {
    await this.#measured.readSliceMs();
    const polls: Promise<Answer>[] = [];
    const posts: Promise<Answer>[] = [];
    let isRunning = true;
    const ended = load.finally(() => {
      isRunning = false;
    });
    for (let n = 0; isRunning; n += 1) {
      polls.push(this.#polls.next());
      if (n % POLLS_PER_POST === 0) posts.push(this.#post());
      await pause(POLL_INTERVAL_MS);
    }
    await ended;
    const [polled, posted] = [await summarize(polls), await summarize(posts)];
    return { polls: polled, posts: posted, sliceMs: await this.#measured.readSliceMs() };
  }

  #post(): Promise<Answer> {
    this.#posts += 1;
    const token = this.#senders[this.#posts % this.#senders.length] ?? '';
    return send(this.#measured.instance, token, '/leads', JSON.stringify(leadOf(this.#posts)));
  }
}
