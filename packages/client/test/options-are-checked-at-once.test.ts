import { type LeadToSend, newLeads, poll, sendLeads } from '@leadtap/client';
import { describe, expect, it } from 'vitest';

const GOOD = { baseUrl: 'https://leads.example.com', token: 'token' };

const BAD: readonly [string, object, RegExp][] = [
  ['no base address', { baseUrl: undefined }, /baseUrl must be an address such as/],
  ['a base address without a scheme', { baseUrl: 'leads.example.com' }, /baseUrl must be an address/],
  ['a base address of another scheme', { baseUrl: 'file:///etc' }, /baseUrl must be an address/],
  ['a password in the base address', { baseUrl: 'https://me:secret@leads.example.com' }, /no password/],
  ['no token', { token: undefined }, /token is missing/],
  ['an empty token', { token: '' }, /token is missing/],
  ['a token of two words', { token: 'Bearer abc' }, /without the "Bearer" in front/],
  ['a token of two lines', { token: 'abc\r\nX-Evil: 1' }, /one word/],
  ['an empty since', { since: '' }, /since must be a Date or an ISO 8601 time/],
  ['a since of another type', { since: 1_772_443_800 }, /since must be/],
  ['a since that is no time', { since: new Date('never') }, /Invalid time value/],
  ['no time for a request', { timeoutMs: -1 }, /timeoutMs must be a number of milliseconds/],
  ['a time that is no number', { timeoutMs: Number.NaN }, /timeoutMs must be/],
];

describe('refused before anything is sent', () => {
  it.each(BAD)('%s', async (_, options, message) => {
    const given = { ...GOOD, ...options, environment: { fetch: () => expect.fail('it was sent') } };
    expect(() => newLeads(given)).toThrow(message);
    await expect(poll(given)).rejects.toThrow(message);
    if (!('since' in options)) await expect(sendLeads({}, given)).rejects.toThrow(message);
  });

  it.each([
    ['no attempt', { maxAttempts: 0 }, /maxAttempts must be a number of at least 1/],
    ['attempts that are no number', { maxAttempts: Number.NaN }, /maxAttempts must be/],
    ['an empty key', { idempotencyKey: '' }, /idempotencyKey must have 1 to 200 printable/],
    ['a key of two lines', { idempotencyKey: 'a\r\nX-Evil: 1' }, /idempotencyKey must/],
    ['a key that is too long', { idempotencyKey: 'k'.repeat(201) }, /idempotencyKey must/],
    ['the key of a part', { idempotencyKey: 'job#part-2' }, /must not end like #part-2/],
  ])('%s for leads', async (_, options, message) => {
    const given = { ...GOOD, ...options, environment: { fetch: () => expect.fail('it was sent') } };
    await expect(sendLeads({}, given)).rejects.toThrow(message);
  });

  it.each([[null], ['Ada'], [[[]]]])('a lead that is no object: %j', async (lead) => {
    const given = { ...GOOD, environment: { fetch: () => expect.fail('it was sent') } };
    const leads = [{ id: 'good' }, lead].flat(0) as LeadToSend[];
    await expect(sendLeads(leads, given)).rejects.toThrow(
      'lead 1 must be an object with the fields of a lead',
    );
  });

  it.each([-1, 2 ** 31, Number.POSITIVE_INFINITY])('an interval of %d', (intervalMs) => {
    expect(() => newLeads({ ...GOOD, intervalMs })).toThrow(/intervalMs must be a number of milliseconds/);
  });

  it.each(['true', 1, null])('instant: %j', (instant) => {
    expect(() => newLeads({ ...GOOD, ...({ instant } as object) })).toThrow(/instant must be true or false/);
  });

  it.each([-1, 51, 0.5, Number.NaN])('a wait of %d seconds', async (waitS) => {
    await expect(poll({ ...GOOD, since: '2026-03-02', waitS })).rejects.toThrow(
      /waitS must be a whole number/,
    );
  });

  it('a wait without since, which the service would ignore', async () => {
    await expect(poll({ ...GOOD, waitS: 10 })).rejects.toThrow(/waitS needs since/);
  });

  it('a token that its source does not give', async () => {
    const loop = newLeads({ ...GOOD, token: () => '' });
    await expect(loop.next()).rejects.toThrow(/token is missing/);
  });

  it('without showing a secret', () => {
    expect(() => newLeads({ ...GOOD, token: 'my secret' })).not.toThrow(/secret/);
    expect(() => newLeads({ ...GOOD, baseUrl: 'https://me:secret@leads.example.com' })).not.toThrow(/secret/);
  });
});
