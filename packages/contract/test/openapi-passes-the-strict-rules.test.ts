import { createConfig, lintFromString } from '@redocly/openapi-core';
import { expect, test } from 'vitest';
import { openApiDocument } from '../src/openapi.ts';
import { publishedText } from './published-document.ts';

async function faults(source: string): Promise<readonly string[]> {
  const config = await createConfig({
    extends: ['recommended-strict'],
    rules: {
      'operation-description': 'error',
      'parameter-description': 'error',
      'component-name-unique': 'error',
      'operation-singular-tag': 'error',
      'operation-tag-defined': 'error',
    },
  });
  const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config });
  return problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`);
}

test('the committed description has no fault', async () => {
  expect(await faults(publishedText)).toEqual([]);
});

test('the description of an installation has no fault', async () => {
  expect(await faults(JSON.stringify(openApiDocument('1.2.3', 'https://leads.acme.test/api')))).toEqual([]);
});

test('the description of an installation that accepts no leads has no fault', async () => {
  const document = openApiDocument('1.2.3', 'https://leads.acme.test/api', false);
  expect(await faults(JSON.stringify(document))).toEqual([]);
});

test('a fault would be seen', async () => {
  const { servers, ...document } = openApiDocument('1.2.3', 'https://leads.acme.test/api');
  expect(await faults(JSON.stringify(document))).toHaveLength(1);
});
