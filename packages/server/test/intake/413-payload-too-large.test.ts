import { request } from 'node:http';
import { MAX_INTAKE_BYTES } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import { sendBody, sendLeads, tokenWith } from '../../../testing/harness/intake.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { answersOn, openSocket, readToEnd, requestText } from '../../../testing/harness/raw-http.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';

const service = shareService();

/** JSON of exactly this many bytes: one lead, and spaces. */
const jsonOf = (bytes: number) => '{"firstName":"Ada"}'.padEnd(bytes, ' ');

const head = async (...more: string[]) =>
  requestText(
    'POST /leads HTTP/1.1',
    'Host: leads.test',
    'Content-Type: application/json',
    `Authorization: Bearer ${await tokenWith(service(), 'boss', ['leads:write'])}`,
    ...more,
  );

describe('413 payload-too-large', () => {
  it('1 MiB is accepted, one byte more is not', async () => {
    expect((await sendBody(service(), jsonOf(MAX_INTAKE_BYTES), { userId: 'rival' })).status).toBe(201);
    const answer = await sendBody(service(), jsonOf(MAX_INTAKE_BYTES + 1));
    expect(answer.headers.get('connection')).toBe('close');
    expect(answer.headers.get('ratelimit')).toMatch(/^"intake";/);
    const { detail } = await expectProblem(answer, 'payload-too-large');
    expect(detail).toMatch(/at most 1 MiB/);
    expect(await service().leads('boss')).toEqual([]);
  });

  it('the same without Content-Length', async () => {
    const stream = (bytes: number) => new Blob([jsonOf(bytes)]).stream();
    const send = async (bytes: number, userId: string) =>
      fetch(`${service().url}/leads`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${await tokenWith(service(), userId, ['leads:write'])}`,
          'content-type': 'application/json',
        },
        body: stream(bytes),
        duplex: 'half',
      } as RequestInit);
    expect((await send(MAX_INTAKE_BYTES, 'rival')).status).toBe(201);
    await expectProblem(await send(MAX_INTAKE_BYTES + 1, 'boss'), 'payload-too-large');
  });

  it('a declared length is rejected before the body arrives, and the connection ends', async () => {
    const socket = await openSocket(service().url);
    const received = answersOn(socket);
    const ended = readToEnd(socket);
    socket.write(await head('Content-Length: 1048577'));
    const [answer] = await received(1);
    expect(answer?.headers['connection']).toBe('close');
    await expectProblem(answer ?? { headers: {}, body: '' }, 'payload-too-large');
    await ended;
  });

  it('a client that continues to send gets the whole answer', async () => {
    const authorization = `Bearer ${await tokenWith(service(), 'boss', ['leads:write'])}`;
    const answer = await new Promise<{ status: number; headers: object; body: string }>((resolve, reject) => {
      const outgoing = request(
        `${service().url}/leads`,
        { method: 'POST', headers: { authorization, 'content-type': 'application/json' } },
        (incoming) => {
          const chunks: Buffer[] = [];
          incoming
            .on('data', (chunk) => chunks.push(chunk))
            .on('end', () => {
              resolve({
                status: incoming.statusCode ?? 0,
                headers: incoming.headers,
                body: Buffer.concat(chunks).toString(),
              });
              outgoing.destroy();
            });
        },
      ).on('error', reject);
      // Chunked, without an end: it would go on for ever.
      const piece = Buffer.alloc(64 * 1024, ' ');
      const write = () => {
        while (!outgoing.destroyed && outgoing.write(piece));
      };
      outgoing.on('drain', write);
      write();
    });
    await expectProblem({ ...answer, headers: { ...answer.headers } }, 'payload-too-large');
  });

  it('a long body of a request that fails an earlier check is not read to its end', async () => {
    const socket = await openSocket(service().url);
    const received = answersOn(socket);
    const ended = readToEnd(socket);
    socket.write(
      requestText(
        'POST /leads HTTP/1.1',
        'Host: leads.test',
        'Content-Length: 99999999',
        'Authorization: Bearer x',
      ),
    );
    const [answer] = await received(1);
    expect(answer).toMatchObject({ status: 401, headers: { connection: 'close' } });
    await ended;
  });

  it('a short body of such a request keeps the connection open', async () => {
    const socket = await openSocket(service().url);
    const received = answersOn(socket);
    const start = requestText(
      'POST /leads HTTP/1.1',
      'Host: leads.test',
      'Content-Length: 2',
      'Authorization: Bearer x',
    );
    socket.write(`${start}{}${start}{}`);
    const answers = await received(2);
    expect(answers.map(({ status, headers }) => [status, headers['connection']])).toEqual([
      [401, 'keep-alive'],
      [401, 'keep-alive'],
    ]);
    socket.destroy();
  });

  it('a client that disconnects during its body leaves nothing behind', async () => {
    const socket = await openSocket(service().url);
    socket.write(`${await head('Content-Length: 100')}{"id":"cut`);
    socket.destroy();
    expect((await sendLeads(service(), { id: 'next', firstName: 'Ada' }, { userId: 'rival' })).status).toBe(
      201,
    );
    expect(await service().leads('boss')).toEqual([]);
  });
});
