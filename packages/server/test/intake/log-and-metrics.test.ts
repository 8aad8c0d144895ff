import { describe, expect, it, vi } from 'vitest';
import { sendBody, sendForm, sendLeads, tokenWith } from '../../../testing/harness/intake.ts';
import { startService } from '../../../testing/harness/service.ts';

const PERSON = {
  id: 'lead-4711',
  firstName: 'Wilhelmina',
  email: 'wilhelmina@lead.example',
  phone1: '+44 20 7946 0958',
  customFields: { note: 'allergic to bees' },
};

describe('requests that send leads', () => {
  it('have one log line each, without personal data', async () => {
    const texts: string[] = [];
    const test = await startService({ logTo: { write: (text) => void texts.push(text) } });
    const token = await tokenWith(test, 'boss', ['leads:write']);
    const headers = { authorization: `Bearer ${token}`, 'idempotency-key': 'key-of-wilhelmina' };
    await sendLeads(test, [PERSON, { firstName: 'Wilhelmina' }], { headers });
    await sendLeads(test, { ...PERSON, email: 'no-address-of-wilhelmina' }, { headers });
    await sendBody(test, '{"email":wilhelmina@lead.example', { headers });
    const unknown = 'wilson=7946&wilhelmina%40lead.example=1';
    await sendForm(test, `firstName=Wilhelmina&branchId=bees&${unknown}`, { headers });
    await sendBody(test, `${JSON.stringify(PERSON)}${' '.repeat(1024 * 1024)}`, { headers });
    vi.spyOn(test.store, 'writeAllLeads').mockRejectedValueOnce(
      Object.assign(new Error('new row violates check constraint'), {
        detail: 'Failing row contains (acme, Wilhelmina).',
        where: 'JSON data, line 1: Wilhelmina',
      }),
    );
    await sendLeads(test, PERSON, { headers });

    // The line of a request is written after its response.
    const linesOf = () => texts.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request');
    await vi.waitFor(() => expect(linesOf()).toHaveLength(6));
    const lines = linesOf().sort((a, b) => a.status - b.status);
    const text = texts.join('');
    expect(text).toContain('violates check constraint');
    expect(text).not.toMatch(/wilhelmina|lead\.example|7946|bees|lead-4711/i);
    expect(text).not.toContain(token);
    expect(lines.map(({ method, path, status, code, leads }) => [method, path, status, code, leads])).toEqual(
      [
        ['POST', '/leads', 201, undefined, 2],
        ['POST', '/leads', 400, 'malformed-request', undefined],
        ['POST', '/leads', 413, 'payload-too-large', undefined],
        ['POST', '/leads', 422, 'invalid-lead', undefined],
        ['POST', '/leads', 422, 'invalid-lead', undefined],
        ['POST', '/leads', 500, 'internal-error', undefined],
      ],
    );
    expect(new Set(lines.map(({ tokenId }) => tokenId)).size).toBe(1);
    expect(lines.flatMap(({ fields }) => fields ?? [])).toEqual(['email', 'wilson', 'other', 'branchId']);
  });

  it('are counted by status, and their leads by result', async () => {
    const test = await startService({
      limits: { intakePolicies: [{ name: 'intake', quota: 4, windowS: 60 }] },
    });
    await sendLeads(test, [
      { id: 'a', firstName: 'Ada' },
      { id: 'b', firstName: 'Ada' },
    ]);
    await sendLeads(test, [
      { id: 'a', firstName: 'Ada' },
      { id: 'c', firstName: 'Ada' },
    ]);
    await sendLeads(test, { id: 'a', firstName: 'Ada' });
    await sendLeads(test, [
      { id: 'd', firstName: 'Ada' },
      { id: 'e', branchId: 'west' },
    ]);
    await sendLeads(test, { id: 'f', firstName: 'Ada' });
    await test.poll('boss');
    const text = await (await fetch(test.metricsUrl)).text();
    const samples = text
      .split('\n')
      .filter((line) => /^leadtap_(intake|leads_received|polls_total|rate)/.test(line));
    const counts = samples.filter((line) => !/_bucket|_sum/.test(line));
    expect(counts.sort()).toEqual([
      'leadtap_intake_duration_seconds_count{status="200"} 1',
      'leadtap_intake_duration_seconds_count{status="201"} 2',
      'leadtap_intake_duration_seconds_count{status="422"} 1',
      'leadtap_intake_duration_seconds_count{status="429"} 1',
      'leadtap_intake_requests_total{status="200"} 1',
      'leadtap_intake_requests_total{status="201"} 2',
      'leadtap_intake_requests_total{status="422"} 1',
      'leadtap_intake_requests_total{status="429"} 1',
      'leadtap_leads_received_total{result="added"} 3',
      'leadtap_leads_received_total{result="updated"} 2',
      'leadtap_polls_total{status="200"} 1',
      'leadtap_rate_limit_refusals_total{policy="intake"} 1',
    ]);
  });
});
