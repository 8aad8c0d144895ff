import { expect, vi } from 'vitest';
import type { PollObservation } from '../../src/http/observe-polls.ts';
import { manualClock } from '../harness/manual-clock.ts';
import { type RawAnswer, requestText, sendRaw } from '../harness/raw-http.ts';
import { type ServiceOptions, startService, type TestService } from '../harness/service.ts';

type LogLine = Readonly<Record<string, unknown>>;

/** A service, and what it tells of its requests. */
interface Watched extends TestService {
  readonly lines: LogLine[];
  readonly observations: Omit<PollObservation, 'durationMs'>[];
  /** How many requests Fastify has had. */
  readonly routed: { count: number };
}

export const clock = manualClock();

async function startWatched(options: ServiceOptions): Promise<Watched> {
  const lines: LogLine[] = [];
  const observations: Omit<PollObservation, 'durationMs'>[] = [];
  const routed = { count: 0 };
  const service = await startService({
    ...options,
    clock,
    logTo: { write: (line) => void lines.push(JSON.parse(line)) },
    prepare: ({ app, metrics }) => {
      app.addHook('onRequest', async () => {
        routed.count += 1;
      });
      const { observe } = metrics;
      metrics.observe = ({ durationMs, ...observation }) => {
        observations.push(observation);
        observe.call(metrics, { durationMs, ...observation });
      };
    },
  });
  return { ...service, lines, observations, routed };
}

/** Two instances that know the same; each has limits of its own, so that both count alike. */
export interface Pair {
  /** Takes plain polls before Fastify sees them. */
  readonly lane: Watched;
  /** Is sent what is not plain, and Fastify has it all. */
  readonly route: Watched;
}

export async function startPair(options: ServiceOptions = {}): Promise<Pair> {
  const lane = await startWatched(options);
  return { lane, route: await startWatched({ ...options, beside: lane }) };
}

/** Sends the same text to both, and compares what they answered, logged and counted. */
export async function sendBoth({ lane, route }: Pair, text: string): Promise<readonly PlainAnswer[]> {
  const [fast, slow] = [await outcomeOf(lane, text), await outcomeOf(route, notPlain(text))];
  expect(fast).toEqual(slow);
  return fast.answers;
}

/** A header without consequence, in each request of the text, that is enough to be left to Node. */
const notPlain = (text: string): string => text.replaceAll(/^[A-Z]+ .*\r\n/gm, '$&TE: trailers\r\n');

async function outcomeOf(service: Watched, text: string) {
  const { lines, observations } = service;
  lines.length = 0;
  observations.length = 0;
  const answers = await sendRaw(service.url, text);
  // Both come when the answer has been sent.
  await vi.waitFor(() => {
    expect(lines.filter(({ msg }) => msg === 'request')).toHaveLength(answers.length);
    expect(observations).toHaveLength(answers.length);
  });
  return {
    answers: answers.map((answer) => plain(answer, service)),
    lines: lines.map(plainLine),
    observations: [...observations],
  };
}

export type PlainAnswer = RawAnswer;

const MADE_ID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/;
const withoutMadeId = (text: string) => text.replace(MADE_ID, 'made');

/** Without what each has for itself: ids that it made, its port, and the time at which a problem is told. */
function plain({ status, headers, body }: RawAnswer, { url }: Watched): PlainAnswer {
  const { date = '', 'x-request-id': id = '', link = '', ...others } = headers;
  const own = { 'x-request-id': withoutMadeId(id), link: link.replace(`:${new URL(url).port}/`, ':port/') };
  if (status >= 400) return { status, headers: { ...others, ...own }, body: withoutMadeId(body) };
  return { status, headers: { ...others, ...own, date }, body };
}

function plainLine({ time, durationMs, requestId, err, ...line }: LogLine) {
  expect(time).toEqual(expect.any(String));
  expect(durationMs).toEqual(line['msg'] === 'request' ? expect.any(Number) : undefined);
  return { ...line, requestId: withoutMadeId(String(requestId)), error: Object(err).message };
}

export const PATH = '/automation/new-leads';

export const pollText = (target: string, ...headers: readonly string[]): string =>
  requestText(`GET ${target} HTTP/1.1`, 'Host: leads.example', ...headers);

export const bearer = async ({ lane }: Pair, user: string): Promise<string> =>
  `Authorization: Bearer ${await lane.token(user)}`;
