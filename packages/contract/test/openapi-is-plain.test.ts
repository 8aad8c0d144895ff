import { expect, test } from 'vitest';
import {
  CONNECTION_HANDLED_PATH,
  CONNECTION_LOG_PATH,
  CONNECTION_PATH,
  CONNECTION_SEND_PATH,
  CONNECTIONS_PATH,
  FIND_LEADS_PATH,
  HOOKS_PATH,
  NEW_LEADS_PATH,
} from '../src/index.ts';
import { openApiDocument } from '../src/openapi.ts';
import { Lead } from '../src/schemas.ts';
import { published, publishedText } from './published-document.ts';

const { get, head } = published.paths[NEW_LEADS_PATH];
const { Lead: lead } = published.components.schemas;

test('answers that never have a body are described without one', () => {
  expect(get.responses[304]).not.toHaveProperty('content');
  for (const response of Object.values(head.responses)) expect(response).not.toHaveProperty('content');
});

test('every other answer to GET is described with its body', () => {
  for (const [status, response] of Object.entries(get.responses))
    if (status !== '304') expect(Object.keys(response.content ?? {})).toHaveLength(1);
});

test('nothing of the schema library shows', () => {
  expect(publishedText).not.toMatch(/"~|patternProperties|anyOf/);
});

test('a field that may be null has one type list', () => {
  expect(lead.properties?.['firstName']?.type).toEqual(['string', 'null']);
  expect(lead.properties?.['timeslot']).toMatchObject({
    type: ['string', 'null'],
    pattern: expect.any(String),
  });
  expect(lead.properties?.['id']?.type).toBe('string');
});

test('the fields stand in their order and are all required', () => {
  expect(Object.keys(lead.properties ?? {})).toEqual(Object.keys(Lead.properties));
  expect(lead.required).toEqual(Object.keys(Lead.properties));
});

test('the description of an installation differs in server and version alone', () => {
  const here = openApiDocument('9.9.9', 'https://leads.acme.test/api');
  expect(here.servers).toEqual([{ url: 'https://leads.acme.test/api', description: 'This installation' }]);
  expect(here.info.version).toBe('9.9.9');
  expect({ ...here, servers: published.servers, info: published.info }).toEqual(published);
});

test('the description of an installation that accepts no leads has nothing of it', () => {
  const without = openApiDocument('1.2.3', undefined, false);
  expect(Object.keys(without.paths)).toEqual([
    NEW_LEADS_PATH,
    FIND_LEADS_PATH,
    CONNECTIONS_PATH,
    CONNECTION_PATH,
    CONNECTION_LOG_PATH,
    CONNECTION_SEND_PATH,
    CONNECTION_HANDLED_PATH,
    HOOKS_PATH,
    `${HOOKS_PATH}/{id}`,
  ]);
  const removed = Object.keys(published.components.schemas).filter(
    (name) => !(name in without.components.schemas),
  );
  expect(removed).toEqual(['NewLead', 'WrittenLead', 'WrittenLeads']);
});
