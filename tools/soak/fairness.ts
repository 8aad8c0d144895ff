/** `--fairness`: polls are timed while another user sends as many leads as possible. */
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Organisation, UserInput } from 'leadtap';
import type { CleanUps } from './clean-ups.ts';
import { PREPARE } from './environment.ts';
import type { SoakOptions } from './options.ts';
import type { TrialResult } from './result.ts';

const MAX_RATIO_OF_MEDIANS = 3;
/** Of processor time: by the clock, a block also contains the time in which other programs have the processor. */
const MAX_BLOCK_MS = 50;

const CONNECTIONS = 5;
const LEADS_PER_REQUEST = 1000;
const LEVELS = 80;
const POLL_EVERY_MS = 20;
/** A user may poll 100 times a minute, and `POLL_EVERY_MS` needs 3,000 polls a minute at most. */
const POLLING_USERS = 40;
const SENDER = 'sender';
/** Sends first, because the service compiles its code in the first requests. */
const WARM_UP_SENDER = 'warm-up';
const WARM_UP_REQUESTS = 10;
const PAUSE_AFTER_429_MS = 50;

const user = (id: string): UserInput => ({
  ...{ id, plan: 'PROFESSIONAL', accessLevel: 'COMPANY' },
  ...{ branchId: null, departmentId: null },
});

const POLLERS = Array.from({ length: POLLING_USERS }, (_, index) => `poller-${index + 1}`);

const ORGANISATION: Organisation = {
  companies: [
    { id: 'sending', name: 'Sending', branches: [], users: [user(SENDER), user(WARM_UP_SENDER)] },
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

/** Fails if a bar was missed. */
export async function soakFairness(
  options: SoakOptions,
  cleanUps: CleanUps,
  print: (text: string) => void,
): Promise<TrialResult> {
  const { installation } = await PREPARE[options.store](
    { ...options, instances: 1, actors: new Set() },
    ORGANISATION,
    cleanUps,
  );
  const [url = ''] = installation.urls;
  const body = makeBody();
  const seconds = options.seconds / 2;
  print(`${options.store}, ${seconds} s idle, ${seconds} s beside ${CONNECTIONS} connections of one sender`);

  const agent = new Agent({ keepAlive: true });
  cleanUps.add(async () => agent.destroy());
  const call = async (userId: string, method: 'GET' | 'POST', path: string, sent?: Buffer) => {
    const authorization = `Bearer ${await installation.token(userId)}`;
    const type = sent && { 'content-type': 'application/json', 'content-length': sent.length };
    const sending = request(new URL(path, url), { method, agent, headers: { authorization, ...type } });
    sending.end(sent);
    const [response] = (await once(sending, 'response')) as [IncomingMessage];
    await text(response);
    return response.statusCode ?? 0;
  };

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
      const status = await call(POLLERS[polls % POLLING_USERS] ?? '', 'GET', '/automation/new-leads');
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

  for (let n = 0; n < WARM_UP_REQUESTS; n += 1) await call(WARM_UP_SENDER, 'POST', '/leads', body);
  await sleep(1000);
  const idle = await timePolls();

  const statuses = new Map<number, number>();
  let isSending = true;
  const senders = Array.from({ length: CONNECTIONS }, async () => {
    while (isSending) {
      const status = await call(SENDER, 'POST', '/leads', body);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status === 429) await sleep(PAUSE_AFTER_429_MS);
    }
  });
  const beside = await timePolls();
  isSending = false;
  await Promise.all(senders);

  const describe = ({ polls, medianMs, p95Ms, maxMs, blockMs, lagMs }: typeof idle) =>
    `${polls} polls, median ${medianMs.toFixed(1)} ms, 95 % ${p95Ms.toFixed(1)} ms, max ${maxMs.toFixed(0)} ms; longest block of the event loop ${blockMs.toFixed(0)} ms of processor time, ${lagMs.toFixed(0)} ms by the clock`;
  const ratio = beside.medianMs / idle.medianMs;
  const answers = [...statuses].sort().map(([status, count]) => `${count} × ${status}`);
  print(`  idle    ${describe(idle)}`);
  print(`  beside  ${describe(beside)}`);
  print(`  answers to the sender: ${answers.join(', ')}`);
  print(
    `  ratio of the medians ${ratio.toFixed(2)}, at most ${MAX_RATIO_OF_MEDIANS}; block at most ${MAX_BLOCK_MS} ms of processor time`,
  );
  return {
    figures: { polls: idle.polls + beside.polls, ratioOfMedians: ratio, blockMs: beside.blockMs },
    faults: {},
    findings: {
      slow: ratio <= MAX_RATIO_OF_MEDIANS ? [] : [`the ratio of the medians is ${ratio.toFixed(2)}`],
      blocked:
        beside.blockMs <= MAX_BLOCK_MS
          ? []
          : [`the event loop was blocked for ${beside.blockMs.toFixed(0)} ms`],
    },
  };
}
