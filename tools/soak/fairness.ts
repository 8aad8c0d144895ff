/** `--fairness`: polls are timed beside another company that does the most expensive things that it may do. */
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { HOOKS_PATH, LEADS_PATH, MAX_HOOKS_PER_USER, NEW_LEADS_PATH } from '@leadtap/contract';
import type { Organisation, UserInput } from 'leadtap';
import { changedModules } from '../../packages/testing/delivery-trial/changed-modules.ts';
import { startNameServer } from '../../packages/testing/servers/name-server.ts';
import type { CleanUps } from './clean-ups.ts';
import { PREPARE } from './environment.ts';
import type { SoakOptions } from './options.ts';
import type { TrialResult } from './result.ts';

/** Of processor time: by the clock, a block also contains the time in which other programs have the processor. */
const MAX_BLOCK_MS = 50;

const CONNECTIONS = 5;
const LEADS_PER_REQUEST = 1000;
const LEVELS = 80;
const POLL_EVERY_MS = 20;
/** A user may poll 100 times a minute, and `POLL_EVERY_MS` needs 3,000 polls a minute at most. */
const POLLING_USERS = 40;
/** Sends first, because the service compiles its code in the first requests. */
const WARM_UP_SENDER = 'warm-up';
const WARM_UP_REQUESTS = 10;
const PAUSE_AFTER_429_MS = 50;
/** The limit is 600 a minute. */
const FORM_EVERY_MS = 100;
/** Hooks get an event a second. */
const LEAD_EVERY_MS = 1000;

const user = (id: string): UserInput => ({
  ...{ id, plan: 'PROFESSIONAL', accessLevel: 'COMPANY' },
  ...{ branchId: null, departmentId: null },
});

const POLLERS = Array.from({ length: POLLING_USERS }, (_, index) => `poller-${index + 1}`);
/** One for each case, so that none has used up its limits. */
const SENDERS = ['leads', 'form', 'names', 'drip'];

const ORGANISATION: Organisation = {
  companies: [
    { id: 'sending', name: 'Sending', branches: [], users: [...SENDERS, WARM_UP_SENDER].map(user) },
    { id: 'polling', name: 'Polling', branches: [], users: POLLERS.map(user) },
  ],
};

/** Just under 1 MiB: 1,000 leads with deep custom fields. */
function makeBody(): Buffer {
  let nested: object = { value: 1 };
  for (let level = 1; level < LEVELS; level += 1) nested = { a: nested };
  const lead = { firstName: 'Ada', customFields: { nested, note: 'x'.repeat(480) } };
  return Buffer.from(JSON.stringify(Array(LEADS_PER_REQUEST).fill(lead)));
}

const FORM = Buffer.from(`note=${'+'.repeat(1_000_000)}`);

/** Answers half of the events with chunks of one byte for ever, and half of them with endless 103. */
async function startDrippingReceiver(cleanUps: CleanUps): Promise<string> {
  let events = 0;
  const open = new Set<Socket>();
  const repeat = (socket: Socket, chunk: string) => {
    if (!socket.destroyed) socket.write(chunk, () => setImmediate(repeat, socket, chunk));
  };
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => undefined).on('close', () => open.delete(socket));
    socket.once('data', () => {
      events += 1;
      if (events % 2 === 0) return repeat(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(100));
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
      repeat(socket, '1\r\nx\r\n'.repeat(100));
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  cleanUps.add(async () => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface Case {
  readonly title: string;
  /** Of the medians beside it and without it. */
  readonly maxRatio: number;
  /** Does it once: it is repeated until the polls were timed. */
  readonly load: (isFirst: boolean) => Promise<void>;
  readonly connections: number;
}

/** Fails if a bar was missed. */
export async function soakFairness(
  options: SoakOptions,
  cleanUps: CleanUps,
  print: (text: string) => void,
): Promise<TrialResult> {
  const names = await startNameServer(() => undefined);
  cleanUps.add(() => names.close());
  const dripping = await startDrippingReceiver(cleanUps);
  const { installation } = await PREPARE[options.store](
    { ...options, instances: 1, actors: new Set() },
    ORGANISATION,
    cleanUps,
    {
      env: {
        LEADTAP_HOOK_HOSTS: `*.example.test,${dripping}`,
        ...changedModules([
          {
            module: 'hooks/resolve.js',
            part: 'this.#servers = servers;',
            by: `this.#servers = [${JSON.stringify(names.address)}];`,
          },
        ]),
      },
    },
  );
  const [url = ''] = installation.urls;
  const body = makeBody();

  const agent = new Agent({ keepAlive: true });
  cleanUps.add(async () => agent.destroy());
  const call = async (userId: string, path: string, sent?: Buffer, contentType = 'application/json') => {
    const authorization = `Bearer ${await installation.token(userId)}`;
    const type = sent && { 'content-type': contentType, 'content-length': sent.length };
    const method = sent ? 'POST' : 'GET';
    const sending = request(new URL(path, url), { method, agent, headers: { authorization, ...type } });
    sending.end(sent);
    const [response] = (await once(sending, 'response')) as [IncomingMessage];
    await text(response);
    return response.statusCode ?? 0;
  };

  const statuses = new Map<number, number>();
  const send = async (userId: string, path: string, sent: Buffer, contentType?: string) => {
    const status = await call(userId, path, sent, contentType);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    if (status === 429) await sleep(PAUSE_AFTER_429_MS);
  };
  /** Subscribes as many hooks as a user may have, then adds a lead a second. */
  const sendEvents = async (userId: string, urlOf: (hook: number) => string, isFirst: boolean) => {
    for (let hook = 1; isFirst && hook <= MAX_HOOKS_PER_USER; hook += 1)
      await send(userId, HOOKS_PATH, Buffer.from(JSON.stringify({ url: urlOf(hook) })));
    await send(userId, LEADS_PATH, Buffer.from('{"firstName":"Ada"}'));
    await sleep(LEAD_EVERY_MS);
  };
  const cases: readonly Case[] = [
    {
      title: `${CONNECTIONS} connections that send arrays of leads`,
      maxRatio: 3,
      connections: CONNECTIONS,
      load: () => send('leads', LEADS_PATH, body),
    },
    {
      title: 'a form of 1 MB of +',
      maxRatio: 2,
      connections: 1,
      load: async () => {
        await send('form', LEADS_PATH, FORM, 'application/x-www-form-urlencoded');
        await sleep(FORM_EVERY_MS);
      },
    },
    {
      title: 'webhooks to names whose server never answers',
      maxRatio: 2,
      connections: 1,
      load: (isFirst) => sendEvents('names', (hook) => `https://n${hook}.example.test/`, isFirst),
    },
    {
      title: 'webhooks to a receiver that drips',
      maxRatio: 2,
      connections: 1,
      load: (isFirst) => sendEvents('drip', (hook) => `${dripping}/${hook}`, isFirst),
    },
  ];
  const seconds = options.seconds / cases.length / 2;
  print(`${options.store}, ${seconds} s idle and ${seconds} s beside each of ${cases.length} cases`);

  /** Both are reset by each reading. */
  const takeBlocks = async () => ({
    lagMs: (await installation.metric('nodejs_eventloop_lag_max_seconds')) * 1000,
    blockMs: await installation.takeLongestBlockMs(),
  });

  const timePolls = async () => {
    await takeBlocks();
    const durationsMs: number[] = [];
    const end = performance.now() + seconds * 1000;
    for (let polls = 0; performance.now() < end; polls += 1) {
      const begun = performance.now();
      const status = await call(POLLERS[polls % POLLING_USERS] ?? '', NEW_LEADS_PATH);
      if (status !== 200) throw new Error(`a poll got ${status}`);
      durationsMs.push(performance.now() - begun);
      await sleep(POLL_EVERY_MS);
    }
    durationsMs.sort((a, b) => a - b);
    const quantile = (share: number) => durationsMs[Math.floor(durationsMs.length * share)] ?? Number.NaN;
    return {
      polls: durationsMs.length,
      medianMs: quantile(0.5),
      p95Ms: quantile(0.95),
      maxMs: durationsMs.at(-1) ?? Number.NaN,
      ...(await takeBlocks()),
    };
  };

  for (let n = 0; n < WARM_UP_REQUESTS; n += 1) await call(WARM_UP_SENDER, LEADS_PATH, body);
  await sleep(1000);
  const describe = (timed: Awaited<ReturnType<typeof timePolls>>) =>
    `${timed.polls} polls, median ${timed.medianMs.toFixed(1)} ms, 95 % ${timed.p95Ms.toFixed(1)} ms, max ${timed.maxMs.toFixed(0)} ms; longest block of the event loop ${timed.blockMs.toFixed(0)} ms of processor time, ${timed.lagMs.toFixed(0)} ms by the clock`;
  let polls = 0;
  const ratios: number[] = [];
  const blocks: number[] = [];
  const slow: string[] = [];
  const blocked: string[] = [];
  for (const { title, maxRatio, connections, load } of cases) {
    statuses.clear();
    const idle = await timePolls();
    let isLoading = true;
    const loads = Array.from({ length: connections }, async () => {
      for (let isFirst = true; isLoading; isFirst = false) await load(isFirst);
    });
    const beside = await timePolls();
    isLoading = false;
    await Promise.all(loads);
    const ratio = beside.medianMs / idle.medianMs;
    const answers = [...statuses].sort().map(([status, count]) => `${count} × ${status}`);
    print(`  ${title}`);
    print(`    idle    ${describe(idle)}`);
    print(`    beside  ${describe(beside)}`);
    print(`    ratio of the medians ${ratio.toFixed(2)}, at most ${maxRatio}; answers ${answers.join(', ')}`);
    polls += idle.polls + beside.polls;
    ratios.push(ratio);
    blocks.push(beside.blockMs);
    if (ratio > maxRatio) slow.push(`${title}: the ratio of the medians is ${ratio.toFixed(2)}`);
    if (beside.blockMs > MAX_BLOCK_MS)
      blocked.push(`${title}: the event loop was blocked for ${beside.blockMs.toFixed(0)} ms`);
  }
  print(
    `  a block may take ${MAX_BLOCK_MS} ms of processor time; ${names.questions.length} questions to the name server`,
  );
  if (names.questions.length === 0) slow.push('no name was looked up');
  return {
    figures: { polls, ratioOfMedians: Math.max(...ratios), blockMs: Math.max(...blocks) },
    faults: {},
    findings: { slow, blocked },
  };
}
