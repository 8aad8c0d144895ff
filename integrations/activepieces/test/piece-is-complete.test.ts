import { readFileSync } from 'node:fs';
import { MAX_LEADS_PER_PAGE, sampleLead } from '@leadtap/contract';
import { expect, it } from 'vitest';
import { FULL_PAGE, leadtap } from './piece.ts';

const manifestAt = (path: string): Record<string, Record<string, string>> =>
  JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'));

it('has two triggers, whose sample is the lead of the documentation', () => {
  const triggers = Object.values(leadtap.triggers());
  expect(triggers.map(({ name }) => name)).toEqual(['new_lead_instant', 'new_lead']);
  for (const { sampleData } of triggers) expect(sampleData).toEqual(sampleLead);
  expect(leadtap.metadata().auth).toBeDefined();
});

it('knows when a page is full', () => expect(FULL_PAGE).toBe(MAX_LEADS_PER_PAGE));

it('is tested with the versions that it asks for', () => {
  const asked = manifestAt('../piece/package.json')['dependencies'];
  expect(manifestAt('../../../package.json')['devDependencies']).toMatchObject(asked ?? {});
});
