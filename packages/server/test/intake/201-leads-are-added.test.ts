import { describe, expect, it } from 'vitest';
import { acknowledgementOf, sendBody, sendLeads } from '../../../testing/harness/intake.ts';
import { startService } from '../../../testing/harness/service.ts';

describe('POST {base_url}/leads', () => {
  it('adds one lead, which the next poll returns', async () => {
    const test = await startService();
    const answer = await sendLeads(test, { id: 'lead-1', firstName: 'Ada', email: 'ada@example.com' });
    expect(answer.status).toBe(201);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'ratelimit-policy': '"intake";q=600;w=60, "intake-leads";q=30000;w=60',
      ratelimit: '"intake";r=599;t=60, "intake-leads";r=29999;t=60',
      'x-request-id': expect.stringMatching(/./),
    });
    const [lead] = await test.leads('boss');
    expect(lead).toMatchObject({ id: 'lead-1', firstName: 'Ada', email: 'ada@example.com' });
    expect(await acknowledgementOf(answer)).toEqual({
      leads: [{ id: 'lead-1', createdAt: lead?.createdAt, result: 'added' }],
    });
  });

  it('adds an array in its order, and makes ids for leads without one', async () => {
    const test = await startService();
    const answer = await sendLeads(test, [
      { firstName: 'Ada' },
      { firstName: 'Grace' },
      { firstName: 'Mary' },
    ]);
    expect(answer.status).toBe(201);
    const { leads } = await acknowledgementOf(answer);
    const polled = await test.leads('boss', 'since=1970-01-01');
    expect(polled.map(({ firstName }) => firstName)).toEqual(['Ada', 'Grace', 'Mary']);
    expect(leads).toEqual(polled.map(({ id, createdAt }) => ({ id, createdAt, result: 'added' })));
  });

  it('accepts every field of an import', async () => {
    const test = await startService();
    const lead = {
      companyId: 'acme',
      branchId: 'north',
      departmentId: 'sales',
      id: 'full',
      firstName: 'Ada',
      lastName: 'Lovelace',
      fullName: 'Ada Lovelace',
      phone1: '+44 1',
      phone2: '+44 2',
      email: 'ada@example.com',
      address: '1 Square',
      postalCode: 'W1',
      addressNotes: 'Blue door',
      appointmentDateTime: '2026-03-05T14:00:00.000Z',
      timeslot: '14:00',
      statusValue: 'CONTACTED',
      customFields: { source: 'form', nested: { deep: [1, null] } },
      images: ['https://example.com/a.jpg'],
      sameDay: true,
    };
    expect((await sendLeads(test, lead)).status).toBe(201);
    const { companyId, branchId, departmentId, ...fields } = lead;
    expect((await test.leads('boss'))[0]).toMatchObject({
      ...fields,
      companyName: 'Acme',
      branchName: 'North',
      departmentName: 'Sales',
    });
  });

  it('accepts 1,000 leads in one request', async () => {
    const test = await startService();
    const leads = Array.from({ length: 1000 }, (_, index) => ({ id: `lead-${index}`, firstName: 'Ada' }));
    const answer = await sendLeads(test, leads);
    expect(answer.status).toBe(201);
    const acknowledged = (await acknowledgementOf(answer)).leads;
    expect(acknowledged.map(({ id }) => id)).toEqual(leads.map(({ id }) => id));
    expect(new Set(acknowledged.map(({ createdAt }) => createdAt)).size).toBe(1000);
  });

  it('is 201 if only one of the leads is new', async () => {
    const test = await startService();
    await test.add({ id: 'old' });
    const answer = await sendLeads(test, [
      { id: 'old', firstName: 'Ada' },
      { id: 'new', firstName: 'Ada' },
    ]);
    expect(answer.status).toBe(201);
    expect((await acknowledgementOf(answer)).leads.map(({ result }) => result)).toEqual(['updated', 'added']);
  });

  it('ignores a byte order mark', async () => {
    const test = await startService();
    expect((await sendBody(test, '\ufeff{"firstName":"Ada"}')).status).toBe(201);
  });

  it('needs no plan, and is below the base path', async () => {
    const test = await startService({ env: { LEADTAP_BASE_PATH: '/api' } });
    expect(test.url).toMatch(/\/api$/);
    expect((await sendLeads(test, { id: 'a', firstName: 'Ada' }, { userId: 'starter' })).status).toBe(201);
    expect((await test.leads('boss')).map(({ id }) => id)).toEqual(['a']);
  });

  it('works with other spellings of the path', async () => {
    const test = await startService();
    const url = `${test.url}/%6ceads?x=1`;
    const authorization = `Bearer ${await test.token('boss')}`;
    const answer = await fetch(url, { method: 'POST', headers: { authorization }, body: '{}' });
    expect(answer.status).toBe(403);
  });
});
