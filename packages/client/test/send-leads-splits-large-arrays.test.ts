import type { LeadToSend } from '@leadtap/client';
import { describe, expect, it } from 'vitest';
import { thrownBy } from './answering.ts';
import { confirm, problem, receiving, sender } from './receiving.ts';

const MIB = 1024 * 1024;
const leads = (count: number, rest: LeadToSend = {}): LeadToSend[] =>
  Array.from({ length: count }, (_, n) => ({ ...rest, firstName: `Lead ${n}` }));

it('1,000 leads are one request, 1,001 are two', async () => {
  const { url, requests } = await receiving();
  const { send } = sender(url);
  expect((await send(leads(1000))).length).toBe(1000);
  expect((await send(leads(1001))).length).toBe(1001);
  expect(requests.map(({ leads: sent }) => sent.length)).toEqual([1000, 1000, 1]);
  expect(requests.slice(1).flatMap(({ leads: sent }) => sent)).toEqual(leads(1001));
});

it('no request is over 1 MiB', async () => {
  const { url, requests } = await receiving();
  const long = { address: 'é'.repeat(1000), customFields: { notes: 'n'.repeat(10_000) } };
  await sender(url).send(leads(200, long));
  expect(requests.flatMap(({ leads: sent }) => sent)).toEqual(leads(200, long));
  expect(requests.length).toBe(3);
  for (const { bytes } of requests) expect(bytes).toBeLessThanOrEqual(MIB);
});

it('a request has exactly 1 MiB where the leads fill it', async () => {
  const { url, requests } = await receiving();
  const lead = (bytes: number): LeadToSend => ({ id: 'x'.repeat(bytes - '{"id":""}'.length) });
  // Two brackets and a comma.
  await sender(url).send([lead(MIB / 2), lead(MIB / 2 - 3)]);
  await sender(url).send([lead(MIB / 2), lead(MIB / 2 - 2)]);
  expect(requests.map(({ bytes }) => bytes)).toEqual([MIB, MIB / 2 + 2, MIB / 2]);
});

it('no lead is no request', async () => {
  const { url, requests } = await receiving();
  expect(await sender(url).send([])).toEqual([]);
  expect(requests).toEqual([]);
});

describe('the key of each request', () => {
  it('is made from that of the call, and stays the same when it is retried', async () => {
    const { url, keys } = await receiving(confirm, 'hang up');
    await sender(url, { idempotencyKey: 'job-7' }).send(leads(2500));
    expect(keys()).toEqual(['job-7', 'job-7#part-2', 'job-7#part-2', 'job-7#part-3']);
  });

  it('is the same when the call is repeated', async () => {
    const { url, requests, keys } = await receiving(confirm, problem(422, 'invalid-lead'));
    const { send } = sender(url, { idempotencyKey: 'job-7' });
    await thrownBy(send(leads(1500)));
    await send(leads(1500));
    expect(keys().slice(2)).toEqual(keys().slice(0, 2));
    expect(requests[2]?.leads).toEqual(requests[0]?.leads);
  });

  it('is sent with those requests only that have a lead without an id', async () => {
    const { url, keys } = await receiving();
    const withIds = Array.from({ length: 1000 }, (_, n) => ({ id: String(n) }));
    await sender(url, { environment: { uniqueId: () => 'call' } }).send([...withIds, { firstName: 'Ada' }]);
    expect(keys()).toEqual([undefined, 'call#part-2']);
  });
});

describe('the error of a later request', () => {
  const invalid = problem(422, 'invalid-lead', {
    errors: [
      { index: 0, field: 'email', detail: 'is not an e-mail address' },
      { index: 17, field: 'id', detail: 'is too long' },
      { detail: 'about the request as a whole' },
    ],
  });

  it('has indexes in the array of the caller', async () => {
    const { url } = await receiving(confirm, invalid);
    const error = await thrownBy(sender(url).send(leads(1500)));
    expect(error).toMatchObject({ status: 422, code: 'invalid-lead', isTransient: false });
    expect(error.message).toBe(
      'Why. lead 1000, email: is not an e-mail address; lead 1017, id: is too long; about the request as a whole. (422 invalid-lead, request r-1)',
    );
    expect(error.problem?.errors).toEqual([
      { index: 1000, field: 'email', detail: 'is not an e-mail address' },
      { index: 1017, field: 'id', detail: 'is too long' },
      { detail: 'about the request as a whole' },
    ]);
  });

  it('has what is stored already, and nothing of the array is sent after it', async () => {
    const { url, requests } = await receiving(confirm, invalid);
    const error = await thrownBy(sender(url).send(leads(2500)));
    expect(error.sent.length).toBe(1000);
    expect(error.sent[999]).toMatchObject({ id: 'made-999', result: 'added' });
    expect(requests.length).toBe(2);
  });
});
