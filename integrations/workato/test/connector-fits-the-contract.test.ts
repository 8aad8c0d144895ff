import { readFileSync } from 'node:fs';
import { MAX_LEADS_PER_PAGE } from '@leadtap/contract';
import { Lead, LeadStatus } from '@leadtap/contract/schemas';
import { expect, it } from 'vitest';

const connector = readFileSync(new URL('../connector.rb', import.meta.url), 'utf8');

it('names every field of a lead, in its order', () => {
  const [, lead = ''] = /object_definitions: \{([\s\S]*?)# end: lead fields/.exec(connector) ?? [];
  const names = [...lead.matchAll(/name: '(\w+)'/g)].map(([, name]) => name);
  const expected = Object.keys(Lead.properties).flatMap((name) =>
    name === 'status' ? [name, ...Object.keys(LeadStatus.properties)] : [name],
  );
  expect(names).toEqual(expected);
});

it('polls again at once while a page is full', () => {
  expect(connector).toContain(`can_poll_more: leads.length == ${MAX_LEADS_PER_PAGE}`);
});

it('remembers the last lead and tells leads apart by the trigger id', () => {
  expect(connector).toContain("leads.last['createdAt']");
  expect(connector).toContain("lead['automation_trigger_id']");
});
