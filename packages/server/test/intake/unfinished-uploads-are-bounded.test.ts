import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { sendLeads, tokenWith } from '../../../testing/harness/intake.ts';
import { startService, type TestService } from '../../../testing/harness/service.ts';

const MIB = 1024 * 1024;
const LEAD = '{"firstName":"Ada"}';

interface Upload {
  readonly socket: Socket;
  /** 100 if the body may be sent, or the final answer. */
  readonly answer: string;
}

const answerOf = async (socket: Socket): Promise<string> => String((await once(socket, 'data'))[0]);

/** Sends the headers, and waits for 100: then the service counts the upload. */
async function openUpload(test: TestService, size: string, userId = 'boss', token?: string): Promise<Upload> {
  const { hostname, port } = new URL(test.url);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined);
  const lines = [
    ...['POST /leads HTTP/1.1', 'Host: x', 'Content-Type: application/json', 'Expect: 100-continue', size],
    `Authorization: Bearer ${token ?? (await tokenWith(test, userId, ['leads:write']))}`,
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  return { socket, answer: await answerOf(socket) };
}

const length = (bytes: number) => `Content-Length: ${bytes}`;

it('a user has at most 8 of them, and then gets 429 before the body is read', async () => {
  const test = await startService();
  const uploads: Upload[] = [];
  for (let i = 0; i < 8; i += 1) uploads.push(await openUpload(test, length(LEAD.length)));
  expect(uploads.map(({ answer }) => answer)).toEqual(Array(8).fill('HTTP/1.1 100 Continue\r\n\r\n'));
  const { answer } = await openUpload(test, length(LEAD.length));
  expect(answer).toMatch(/^HTTP\/1\.1 429 /);
  expect(answer).toMatch(/\r\nretry-after: 1\r\n/i);
  expect(answer).toMatch(/\r\nratelimit-policy: "intake";q=600;w=60\r\n/i);
  expect(answer).toContain('"violatedPolicies":["uploads"]');
  // Others are not affected, and a finished or broken upload makes room.
  expect((await openUpload(test, length(LEAD.length), 'starter')).answer).toMatch(/^HTTP\/1\.1 100 /);
  const [first, second] = uploads.map(({ socket }) => socket);
  first?.write(LEAD);
  expect(first && (await answerOf(first))).toMatch(/^HTTP\/1\.1 201 /);
  expect((await openUpload(test, length(LEAD.length))).answer).toMatch(/^HTTP\/1\.1 100 /);
  expect((await openUpload(test, length(LEAD.length))).answer).toMatch(/^HTTP\/1\.1 429 /);
  second?.destroy();
  for (let status = '429'; status === '429'; )
    status = (await openUpload(test, length(LEAD.length))).answer.slice(9, 12);
});

it.each([length(MIB), 'Transfer-Encoding: chunked'])(
  'all users together have 64 MiB of them: %s',
  async (size) => {
    const test = await startService();
    const users = ['boss', 'north-lead', 'seller', 'starter', 'rival'];
    const senders = Array.from({ length: 4 }, (_, n) => `sender-${n}`);
    const user = { plan: 'STARTER', accessLevel: 'COMPANY', branchId: null, departmentId: null } as const;
    const acme = { id: 'acme', name: 'Acme', branches: [], users: senders.map((id) => ({ id, ...user })) };
    await test.store.applyOrganisation({ companies: [acme] });
    users.push(...senders);
    const answers: string[] = [];
    for (const userId of users)
      for (let i = 0; i < 8; i += 1) answers.push((await openUpload(test, size, userId)).answer);
    expect(answers.slice(0, 64).every((answer) => answer.startsWith('HTTP/1.1 100 '))).toBe(true);
    for (const answer of answers.slice(64)) {
      expect(answer).toMatch(/^HTTP\/1\.1 503 /);
      expect(answer).toMatch(/\r\nretry-after: \d+\r\n/i);
      expect(answer).toContain('too many leads at once');
    }
    expect((await test.poll('boss')).status).toBe(200);
  },
);

it('many complete requests of a user at the same time are no unfinished uploads, also while 8 hang', async () => {
  const test = await startService();
  for (let i = 0; i < 8; i += 1) await openUpload(test, length(LEAD.length));
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, n) => sendLeads(test, { id: `${n}`, phone1: n })),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array(40).fill(201));
});

it('without a valid token, Expect: 100-continue gets 401 at once, and the connection is closed', async () => {
  const test = await startService();
  const { answer, socket } = await openUpload(test, length(MIB), 'boss', 'x.y.z');
  expect(answer).toMatch(/^HTTP\/1\.1 401 /);
  expect(answer).toMatch(/\r\nconnection: close\r\n/i);
  await once(socket, 'close');
});

it('a client that disconnects while the service checks its limits leaves no unfinished upload', async () => {
  const test = await startService();
  const limiter = test.limiters.intakeLeads;
  const consume = limiter.consume.bind(limiter);
  for (let i = 0; i < 9; i += 1) {
    const connected = once(test.service.publicServer.server, 'connection');
    const disconnected = new Promise<void>((resolve) => {
      vi.spyOn(limiter, 'consume').mockImplementationOnce(async (...units) => {
        const [connection]: Socket[] = await connected;
        if (!connection) throw new Error('there is no connection');
        connection.destroy();
        await once(connection, 'close');
        resolve();
        return consume(...units);
      });
    });
    void openUpload(test, length(LEAD.length));
    await disconnected;
  }
  expect((await openUpload(test, length(LEAD.length))).answer).toMatch(/^HTTP\/1\.1 100 /);
});
