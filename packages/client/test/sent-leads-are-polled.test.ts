import { ForbiddenError, type LeadToSend, NotFoundError, poll, sendLeads } from '@leadtap/client';
import { IMPORT_FIELDS } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import { startService, type TestService } from '../../testing/harness/service.ts';
import { thrownBy } from './answering.ts';

/** Every field that can be sent: the compiler finds one that is missing. */
const FULL = {
  companyId: 'acme',
  branchId: 'north',
  departmentId: 'sales',
  id: 'full',
  firstName: 'Ada',
  lastName: 'Moreau',
  fullName: 'Ada Moreau',
  phone1: '+33 1',
  phone2: '+33 2',
  email: 'ada@example.com',
  address: '12 Rue des Lilas',
  postalCode: '69003',
  addressNotes: 'Blue door',
  appointmentDateTime: new Date('2026-03-05T14:00:00Z'),
  timeslot: '14:00',
  statusValue: 'CONTACTED',
  customFields: { source: 'web', nested: { list: [1, null] } },
  images: ['https://example.com/roof.jpg'],
  sameDay: true,
} satisfies Required<LeadToSend>;

const writing = async ({ url, token }: TestService) => ({
  baseUrl: url,
  token: await token('boss', { scopes: ['leads:write'] }),
});

it('with every field that an import has', async () => {
  const service = await startService();
  const names = IMPORT_FIELDS.filter(({ import: rule }) => !rule.historicalOnly).map(({ name }) => name);
  expect(Object.keys(FULL).sort()).toEqual([...names].sort());
  const [written] = await sendLeads(FULL, await writing(service));
  const { leads } = await poll({ baseUrl: service.url, token: await service.token('boss') });
  const { companyId, branchId, departmentId, ...fields } = FULL;
  expect(leads).toMatchObject([
    {
      ...fields,
      appointmentDateTime: '2026-03-05T14:00:00.000Z',
      branchName: 'North',
      departmentName: 'Sales',
    },
  ]);
  expect(written).toEqual({ id: 'full', createdAt: leads[0]?.createdAt, result: 'added' });
});

it('once, if the call is repeated with its key', async () => {
  const service = await startService();
  const options = { ...(await writing(service)), idempotencyKey: 'form-1' };
  const leads = [{ firstName: 'Ada' }, { firstName: 'Grace', id: 'grace' }, { firstName: 'Mary' }];
  const first = await sendLeads(leads, options);
  const second = await sendLeads(leads, options);
  expect(first.map(({ result }) => result)).toEqual(['added', 'added', 'added']);
  expect(second).toEqual(first);
  expect((await service.leads('boss', 'since=1970-01-01')).map(({ firstName }) => firstName)).toEqual([
    'Ada',
    'Grace',
    'Mary',
  ]);
});

it('2,500 of them, in their order', async () => {
  const service = await startService();
  const leads = Array.from({ length: 2500 }, (_, n) => ({ id: `lead-${n}`, firstName: 'Ada' }));
  const written = await sendLeads(leads, await writing(service));
  expect(written.map(({ id }) => id)).toEqual(leads.map(({ id }) => id));
  const stamps = written.map(({ createdAt }) => createdAt);
  expect(stamps).toEqual([...new Set(stamps)].sort());
});

describe('the error', () => {
  it('of invalid leads names each field, by the index in the array of the caller', async () => {
    const service = await startService();
    const leads: LeadToSend[] = Array.from({ length: 1010 }, (_, n) => ({
      id: `lead-${n}`,
      firstName: 'Ada',
    }));
    leads[1003] = { email: 'ada', timeslot: '25:00' };
    leads[1009] = { firstName: 'Ada', branchId: 'nowhere' };
    const error = await thrownBy(sendLeads(leads, await writing(service)));
    expect(error).toMatchObject({ status: 422, code: 'invalid-lead', isTransient: false });
    const errors = error.problem?.errors?.map((one) => ('index' in one ? [one.index, one.field] : one));
    expect(errors).toEqual([
      [1003, 'email'],
      [1003, 'timeslot'],
      [1009, 'branchId'],
    ]);
    // The first request was stored, the second was not.
    expect(error.sent.length).toBe(1000);
    expect((await service.leads('boss'))[0]?.id).toBe('lead-999');
  });

  it('of a token that may only read', async () => {
    const service = await startService();
    const error = await thrownBy(sendLeads({}, { baseUrl: service.url, token: await service.token('boss') }));
    expect(error).toBeInstanceOf(ForbiddenError);
    expect(error).toMatchObject({ status: 403, code: 'insufficient-scope' });
  });

  it('of a service that takes no leads', async () => {
    const service = await startService({ env: { LEADTAP_INTAKE: 'off' } });
    const error = await thrownBy(sendLeads({}, await writing(service)));
    expect(error).toBeInstanceOf(NotFoundError);
    expect(error).toMatchObject({ status: 404, code: 'no-such-resource' });
  });
});
