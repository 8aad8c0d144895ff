import { connect } from 'node:net';
import type { Attempt, Consumers, Senders } from '@leadtap/contract';
import { AttemptLog } from '@leadtap/contract/schemas';
import { issueToken } from 'leadtap';
import { Errors } from 'typebox/value';
import { expect, it, vi } from 'vitest';
import { sendLeads, tokenWith } from '../../../testing/harness/intake.ts';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import { startReceiver } from '../../../testing/integrations/hook-receiver.ts';
import { client, iso } from '../consumers/support/consumers.ts';
import { startWith, subscribe } from '../hooks/support/hooks.ts';
import { readStatus } from '../status/support/status.ts';

const get = async <Body>(service: TestService, path: string, userId = 'boss'): Promise<Body> => {
  const token = await service.token(userId, { tokenId: 'reader' });
  const response = await fetch(`${service.url}/automation/${path}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(response.status).toBe(200);
  return response.json() as Promise<Body>;
};

async function logOf(service: TestService, path: string, userId?: string): Promise<Attempt[]> {
  const body = await get<AttemptLog>(service, path, userId);
  expect([...Errors(AttemptLog, body)]).toEqual([]);
  return body.log;
}

const hookLogOf = async (service: TestService) => {
  const { consumers } = await get<Consumers>(service, 'consumers');
  const found = consumers.find(({ hook }) => hook !== null);
  return logOf(service, `consumers/${found?.id}/log`);
};

it('a webhook that sends leads: what was accepted, and why something was refused', async () => {
  const receiver = await startReceiver();
  const lines: string[] = [];
  const service = await startWith(receiver, { logTo: { write: (line) => lines.push(line) } });
  const [start = 0] = await service.add({});
  await subscribe(service, await service.token('boss'), receiver.url, undefined, 'lead');
  const times = await service.add({}, {});
  await receiver.event(2);
  const host = new URL(receiver.url).host;
  await vi.waitFor(async () => {
    const log = await hookLogOf(service);
    // A request between the two writes what is in memory.
    expect(log.reduce((sum, { leads }) => sum + leads, 0)).toBe(2);
    const [last, first = last] = log;
    expect(last).toMatchObject({
      kind: 'leads',
      status: 200,
      message: first === last ? '2 leads' : '1 lead',
    });
    // A poll after `since` returns just these.
    expect(Date.parse(first?.since ?? '')).toBeGreaterThanOrEqual(start);
    expect(first?.since && first.since < iso(times[0] ?? 0)).toBe(true);
    expect(last?.through).toBe(iso(times[1] ?? 0));
  });
  const secret = 'Ada Lovelace is unknown';
  receiver.respond = (response) => response.writeHead(503, { 'content-type': 'text/plain' }).end(secret);
  await service.add({});
  await vi.waitFor(async () => {
    const [refused] = await hookLogOf(service);
    expect(refused).toMatchObject({ kind: 'refused', status: 503, leads: 0, reason: secret });
    expect(refused?.message).toMatch(new RegExp(`^503 from ${host}, (?:\\d+ times, )?next try in \\d+ s$`));
    expect(refused?.fix).toMatch(/^Look in its platform/);
    expect(Date.parse(refused?.nextTryAt ?? '')).toBeGreaterThan(Date.parse(refused?.at ?? ''));
  });
  expect(await (await fetch(service.metricsUrl)).text()).not.toContain(secret);
  expect(await (await fetch(service.statusUrl)).text()).not.toContain(secret);
  expect(lines.join('')).not.toContain(secret);
  // It may have repeated a lead.
  const [lead] = await service.leads('boss');
  const key = { companyId: 'acme', createdAt: Date.parse(lead?.createdAt ?? ''), id: lead?.id ?? '' };
  expect(await service.store.removal.erase([key])).toBe(1);
  const [erased] = await hookLogOf(service);
  expect(erased).toMatchObject({ status: 503, reason: null });
});

it.each([401, 403])(
  'a receiver that wants authentication: what it says, and what to do: %i',
  async (status) => {
    const receiver = await startReceiver();
    const service = await startWith(receiver);
    const token = await service.token('boss', { expiresInMs: 30 * 86_400_000 });
    await subscribe(service, token, receiver.url, undefined, 'lead');
    // As n8n answers: without a type.
    receiver.respond = (response) => response.writeHead(status).end('Authorization is required!');
    await service.add({});
    const fix = expect.stringMatching(/^Set the authentication of its webhook to None/);
    await vi.waitFor(async () => {
      const { consumers } = await get<Consumers>(service, 'consumers');
      expect(consumers).toMatchObject([{ fix }]);
      expect(await hookLogOf(service)).toMatchObject([{ status, reason: 'Authorization is required!', fix }]);
      const { problems } = await readStatus(service);
      expect(problems).toMatchObject([{ fix }]);
    });
  },
);

it('events are in the log of the consumer that polls with the token', async () => {
  const receiver = await startReceiver();
  const service = await startWith(receiver);
  await service.add({});
  const token = await service.token('boss', { tokenId: 'zapier' });
  await subscribe(service, token, receiver.url);
  const [lead = 0] = await service.add({});
  await receiver.event(1);
  await (await client(service, 'boss', 'zapier')).poll(`since=${iso(lead - 1)}`);
  await vi.waitFor(async () => {
    const log = await hookLogOf(service);
    expect(log.map(({ kind, leads }) => [kind, leads]).sort()).toEqual([
      ['leads', 0],
      ['leads', 1],
    ]);
    const event = log.find(({ leads }) => leads === 0);
    expect(event?.message).toBe(`${new URL(receiver.url).host} was told that there are new leads`);
    expect(event?.through).toBe(iso(lead));
  });
});

it('a sender: leads that came in, and what was refused, with the names of fields', async () => {
  const clock = manualClock();
  const service = await startService({ clock });
  const send = (leads: unknown, tokenId = 'web') => sendLeads(service, leads, { tokenId });
  const flush = async () => service.service.senders?.flush();
  await send([{ firstName: 'Ada' }, { firstName: 'Grace' }]);
  await send([{ firstName: 'Joan' }]);
  await flush();
  const wrong = { email: 'not an address' };
  for (let count = 0; count < 3; count += 1) {
    clock.advance(1000);
    await send([wrong]);
    await flush();
  }
  await send([{ nickname: 'secret' }]);
  const { senders } = await get<Senders>(service, 'senders');
  const log = await logOf(service, `senders/${senders[0]?.id}/log`);
  const title = 'at least one lead is not valid';
  expect(log.map(({ kind, times, leads, fields, message }) => [kind, times, leads, fields, message])).toEqual(
    [
      ['refused', 1, 0, ['nickname'], `422 ${title}: nickname`],
      ['refused', 3, 0, ['email'], `422 ${title}: email, 3 times`],
      ['leads', 2, 3, [], '3 leads'],
    ],
  );
  expect(log[1]?.fix).toBe('The values of email are not valid: correct them in the sender.');
  expect(JSON.stringify(log)).not.toMatch(/not an address|secret/);
  const other = await service.token('north-lead', { tokenId: 'other' });
  const denied = await fetch(`${service.url}/automation/senders/${senders[0]?.id}/log`, {
    headers: { authorization: `Bearer ${other}` },
  });
  expect(denied.status).toBe(404);
});

it('an event of a form service that is no submission: what to do', async () => {
  const service = await startService();
  const token = await issueToken(service.service.keys, {
    ...{ userId: 'boss', tokenId: 'web', scopes: ['leads:write'], source: { name: 'calendly', map: {} } },
    ...{ issuedAt: Date.now() - 1000, expiresAt: Date.now() + 3_600_000 },
  });
  const response = await fetch(`${service.url}/leads`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{"event":"invitee.canceled","payload":{}}',
  });
  expect(response.status).toBe(422);
  const { senders } = await get<Senders>(service, 'senders');
  const [refused] = await logOf(service, `senders/${senders[0]?.id}/log`);
  expect(refused?.fix).toMatch(
    /^The body is not a new submission, or has no answer. Switch off other events/,
  );
});

it('a sender: requests that end before their body has arrived', async () => {
  const service = await startService();
  expect((await sendLeads(service, { firstName: 'Ada' }, { tokenId: 'web' })).status).toBe(201);
  const token = await tokenWith(service, 'boss', ['leads:write'], 'web');
  const head = `POST /leads HTTP/1.1\r\nhost: leadtap\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\n`;
  for (const rest of [
    'content-length: 100\r\n\r\n{"firstName"',
    'transfer-encoding: chunked\r\n\r\n5;\r\n{"a":\r\nno size',
  ])
    await new Promise<void>((resolve) => {
      const socket = connect(Number(new URL(service.url).port), '127.0.0.1', () => {
        socket.on('close', resolve).resume();
        socket.end(head + rest);
      });
    });
  await vi.waitFor(async () => {
    await service.service.senders?.flush();
    const { senders } = await get<Senders>(service, 'senders');
    const [cut] = await logOf(service, `senders/${senders[0]?.id}/log`);
    expect(cut).toMatchObject({
      ...{ kind: 'failed', status: null, code: 'client-closed-request', times: 2 },
      message: 'the connection was closed before everything had arrived, 2 times',
      fix: 'The sender must send the request again, with its whole body.',
    });
    expect(senders[0]?.last24h.at(-1)).toEqual({ leads: 1, failed: 2 });
  });
});

it('a sender: leads that are sent again are updates, which are not counted, and end a failure', async () => {
  const clock = manualClock();
  const service = await startService({ clock });
  const send = async (status: number, ...leads: readonly object[]) => {
    clock.advance(1000);
    const answer = await sendLeads(service, leads, { tokenId: 'web' });
    expect(answer.status).toBe(status);
  };
  const [ada, ben, eve] = ['ada', 'ben', 'eve'].map((id) => ({ id, firstName: id }));
  if (!ada || !ben || !eve) throw new Error('there are three');
  await send(201, ada);
  await send(200, ada);
  await send(422, { nickname: 'x' });
  await send(200, ada);
  await send(200, ada);
  await send(422, { nickname: 'x' });
  await service.service.senders?.flush();
  await send(200, ada);
  await service.service.senders?.flush();
  await send(201, ada, ben, eve);
  await send(200, ada, ben);
  const { senders } = await get<Senders>(service, 'senders');
  const [sender] = senders;
  expect(sender).toMatchObject({ accepted30d: 3, refused30d: 2, lastAcceptedAt: iso(clock()) });
  expect(sender?.last24h.reduce((sum, hour) => sum + (hour?.leads ?? 0), 0)).toBe(3);
  expect(await service.leads('boss')).toHaveLength(3);
  const log = await logOf(service, `senders/${sender?.id}/log`);
  expect(log.map(({ kind, leads, message }) => `${kind} ${leads}: ${message.replace(/ at .*/, '')}`)).toEqual(
    [
      'leads 2: 2 leads; 3 leads sent before were updated',
      'leads 0: 1 lead sent before was updated',
      'refused 0: 422',
      'leads 0: 2 leads sent before were updated',
      'refused 0: 422',
      'leads 1: 1 lead; 1 lead sent before was updated',
    ],
  );
});

it('what a receiver answered and was not written before an erasure is not written after it', async () => {
  const receiver = await startReceiver();
  const service = await startWith(receiver, { consumerFlushMs: 3_600_000 });
  await service.add({});
  await subscribe(service, await service.token('boss'), receiver.url, undefined, 'lead');
  receiver.respond = (response) => response.writeHead(503, { 'content-type': 'text/plain' }).end('no Ada');
  await service.add({});
  await receiver.event(1);
  const [lead] = await service.leads('boss');
  const key = { companyId: 'acme', createdAt: Date.parse(lead?.createdAt ?? ''), id: lead?.id ?? '' };
  await service.store.removal.erase([key]);
  await vi.waitFor(async () => {
    // The request for the log writes what is in memory.
    const [refused] = await hookLogOf(service);
    expect(refused).toMatchObject({ status: 503, reason: null });
  });
});

it('a user of another company does not see what was before, nor a count of it', async () => {
  const clock = manualClock();
  const service = await startService({ clock });
  const send = async () => {
    await sendLeads(service, [{ nickname: 'x' }], { userId: 'north-lead', tokenId: 'web' });
    await service.service.senders?.flush();
    clock.advance(1000);
  };
  const log = async () => {
    const { senders } = await get<Senders>(service, 'senders', 'north-lead');
    return logOf(service, `senders/${senders[0]?.id}/log`, 'north-lead');
  };
  await send();
  await send();
  expect(await log()).toMatchObject([{ times: 2 }]);
  await service.store.removeUser('north-lead');
  const user = { id: 'north-lead', name: null, email: null, branchId: null, departmentId: null } as const;
  const users = [{ ...user, plan: 'PROFESSIONAL', accessLevel: 'COMPANY' } as const];
  await service.store.applyOrganisation({
    companies: [{ id: 'globex', name: 'Globex', branches: [], users }],
  });
  await send();
  expect(await log()).toMatchObject([{ times: 1 }]);
});
