import { sampleLead } from '@leadtap/contract';
import { Lead } from '@leadtap/contract/schemas';
import fc from 'fast-check';
import { Value } from 'typebox/value';
import { describe, expect, it } from 'vitest';
import type { PlainOutputField } from 'zapier-platform-core';
import { startService } from '../../../packages/testing/harness/service.ts';
import { customFields, labelOf } from '../src/triggers/custom-fields.ts';
import { LEAD_FIELDS, SAMPLE_LEAD } from '../src/triggers/lead-fields.ts';
import { connect, run } from './connection.ts';

/** The keys by which Zapier offers what is in a lead. */
const keysOf = (lead: Lead): string[] =>
  Object.entries(lead).flatMap(([name, value]) =>
    name === 'status'
      ? Object.keys(lead.status).map((inner) => `status__${inner}`)
      : typeof value === 'object' && name === 'customFields'
        ? []
        : [name],
  );

describe('the fields of a lead', () => {
  it('are all offered, each once, with a label', () => {
    expect(LEAD_FIELDS.map(({ key }) => key).sort()).toEqual(keysOf(sampleLead).sort());
    for (const { label } of LEAD_FIELDS) expect(label).toMatch(/^[A-Z]/);
    expect(new Set(LEAD_FIELDS.map(({ label }) => label)).size).toBe(LEAD_FIELDS.length);
  });

  it('have the types that they have on the wire', () => {
    const isTime = (key: string) => /At$|_at$|DateTime$/.test(key);
    for (const { key, type, list } of LEAD_FIELDS) {
      const value = key
        .split('__')
        .reduce<unknown>((part, name) => Reflect.get(Object(part), name), SAMPLE_LEAD);
      if (isTime(key)) expect(type).toBe('datetime');
      else if (typeof value === 'boolean') expect(type).toBe('boolean');
      else expect([type, list]).toEqual([undefined, Array.isArray(value) || undefined]);
    }
  });

  it('are told apart by the trigger id alone', () => {
    expect(LEAD_FIELDS.filter(({ primary }) => primary).map(({ key }) => key)).toEqual([
      'automation_trigger_id',
    ]);
  });

  it('have a sample that is a lead without gaps', () => {
    expect(Value.Check(Lead, SAMPLE_LEAD)).toBe(true);
    expect(Object.values(SAMPLE_LEAD)).not.toContain(null);
  });
});

describe('custom fields', () => {
  const offered = async (...fields: Record<string, unknown>[]): Promise<PlainOutputField[]> => {
    const test = await startService();
    await test.add(...fields.map((custom) => ({ fields: { customFields: custom } })));
    return run(customFields, await connect(test));
  };

  it('are offered as the newest leads have them', async () => {
    const fields = await offered(
      { source: 'website', roofArea: 120, is_urgent: true },
      { source: 'fair', roofArea: 80.5, 'Preferred contact': 'phone' },
    );
    expect(fields.sort((a, b) => (a.key < b.key ? -1 : 1))).toEqual([
      { key: 'customFields__Preferred contact', label: 'Preferred Contact', type: 'string' },
      { key: 'customFields__is_urgent', label: 'Is Urgent', type: 'boolean' },
      { key: 'customFields__roofArea', label: 'Roof Area', type: 'number' },
      { key: 'customFields__source', label: 'Source', type: 'string' },
    ]);
  });

  it('are text when leads disagree, whatever else when some have none', async () => {
    expect(await offered({ size: 12 }, { size: 'large' })).toMatchObject([{ type: 'string' }]);
    expect(await offered({ size: 12 }, { size: null }, {})).toMatchObject([{ type: 'number' }]);
  });

  it('are entered when they are objects, and lists when they are lists', async () => {
    expect(await offered({ order: { number: 7, tags: ['a', 'b'] } })).toEqual([
      { key: 'customFields__order__number', label: 'Order: Number', type: 'number' },
      { key: 'customFields__order__tags', label: 'Order: Tags', type: 'string', list: true },
    ]);
  });

  it('are none while there are no leads, and no more than Zapier shows', async () => {
    expect(await offered()).toEqual([]);
    const many = Array.from({ length: 1100 }, (_, i) => [`field ${i}`, i]);
    expect(await offered(Object.fromEntries(many))).toHaveLength(1000);
  });

  it('keep every letter of their name in their label', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (name) => {
        const bare = (text: string) => text.replace(/[\s_-]/g, '').toUpperCase();
        expect(bare(labelOf([name]))).toBe(bare(name));
      }),
    );
  });
});
