import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { NEW_LEADS_PATH } from '@leadtap/contract';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { AnswerPoll } from '../../../src/http/answer-poll.ts';
import { ExpressLane } from '../../../src/http/lane/express-lane.ts';
import { NO_LEADS } from '../../../src/leads/render.ts';
import { deferred } from '../../harness/deferred.ts';
import { answersOn, openSocket, readToEnd, requestText } from '../../harness/raw-http.ts';

const POLL = requestText(`GET ${NEW_LEADS_PATH} HTTP/1.1`, 'Host: leads.example');

/** The lane alone, on a plain server that has nothing else. */
async function startLane(
  times: { silenceMs: number; keepAliveMs: number },
  {
    before = async () => {},
    leads = NO_LEADS,
    onServed = () => {},
    onProblem = (_problem: Error) => {},
  } = {},
) {
  const page = { leads, readAt: 0, locked: true };
  const answerPoll: AnswerPoll = async () => {
    await before();
    return { status: 200, poll: { page, nextSince: 0 }, query: { limit: 100 } };
  };
  const lane = new ExpressLane({
    basePath: '',
    answerPoll,
    publicUrl: () => '',
    trust: undefined,
    onProblem,
    onServed,
    ...times,
  });
  const server = createServer({ allowHalfOpen: true }, (socket) =>
    lane.take(socket, () => void socket.destroy()),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise((resolve) => server.close(() => resolve())));
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const client = await openSocket(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => void client.destroy());
  return { client, accepted };
}

const HOUR_MS = 3_600_000;

describe('a connection', () => {
  it('on which nothing comes is closed after a while', async () => {
    const { client } = await startLane({ silenceMs: 20, keepAliveMs: HOUR_MS });
    expect(await readToEnd(client)).toBe('');
  });

  it('on which nothing comes any more after an answer is closed after a while', async () => {
    const { client } = await startLane({ silenceMs: HOUR_MS, keepAliveMs: 20 });
    const received = readToEnd(client);
    client.write(POLL);
    expect(await received).toMatch(/^HTTP\/1\.1 200 OK\r\n.*\r\n\r\n\[\]$/s);
  });

  it('is not closed while its answer is being found, however long that takes', async () => {
    const found = deferred();
    const { client, accepted } = await startLane(
      { silenceMs: HOUR_MS, keepAliveMs: 20 },
      { before: () => found.promise },
    );
    const [socket] = await accepted;
    client.write(POLL);
    await once(socket, 'timeout');
    found.resolve();
    expect(await answersOn(client)(1)).toMatchObject([{ status: 200, body: '[]' }]);
  });

  it('is closed after a while when nobody takes its answer', async () => {
    const leads = { ...NO_LEADS, body: Buffer.alloc(50_000_000, ' ') };
    const { client, accepted } = await startLane({ silenceMs: HOUR_MS, keepAliveMs: 20 }, { leads });
    const [socket] = await accepted;
    client.on('error', () => undefined).write(POLL);
    await once(socket, 'close');
    expect(client.bytesRead).toBeLessThan(leads.body.length);
  });
});

it('a failing observer is told of, and the next poll is answered', async () => {
  const failures: unknown[] = [];
  const { client } = await startLane(
    { silenceMs: HOUR_MS, keepAliveMs: HOUR_MS },
    {
      onServed: () => {
        throw new Error('it fails');
      },
      onProblem: ({ cause }) => void failures.push(cause),
    },
  );
  const answers = answersOn(client);
  for (const failed of [1, 2]) {
    client.write(POLL);
    expect(await answers(1)).toMatchObject([{ status: 200 }]);
    await vi.waitFor(() => expect(failures).toHaveLength(failed));
  }
  expect(failures).toEqual([new Error('it fails'), new Error('it fails')]);
});
