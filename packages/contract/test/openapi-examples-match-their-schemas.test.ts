import { expect, test } from 'vitest';
import { HOOKS_PATH, LEADS_PATH, NEW_LEADS_PATH, type Response, type Schema } from '../src/index.ts';
import { matches, published } from './published-document.ts';

const { parameters: ofPolls, get } = published.paths[NEW_LEADS_PATH];
const intake = published.paths[LEADS_PATH];
const { post: subscribe } = published.paths[HOOKS_PATH];
const hook = published.paths[`${HOOKS_PATH}/{id}`];
const event = published.webhooks['leads.available']?.post;
const { headers, schemas } = published.components;
const parameters = [
  ...ofPolls,
  ...(intake?.parameters ?? []),
  ...published.paths[HOOKS_PATH].parameters,
  ...hook.parameters,
  ...(event?.parameters ?? []),
];

const bodies: readonly (readonly [string, Pick<Response, 'content'>])[] = [
  ...Object.entries(get.responses),
  ...Object.entries(intake?.post.responses ?? {}),
  ['request', { content: intake?.post.requestBody?.content ?? {} }],
  ...Object.entries(subscribe.responses),
  ...Object.entries(hook.get.responses),
  ['subscription', { content: subscribe.requestBody?.content ?? {} }],
  ['event', { content: event?.requestBody?.content ?? {} }],
];
const contents = bodies.flatMap(([status, { content = {} }]) =>
  Object.entries(content).map(([type, media]) => ({ name: `${status} ${type}`, ...media })),
);

const properties = Object.entries(schemas).flatMap(([owner, schema]: [string, Schema]) =>
  Object.entries(schema.properties ?? {}).map(([name, property]) => ({ name: `${owner}.${name}`, property })),
);

test.each(contents)('every example of $name', ({ schema, examples }) => {
  const values = Object.values(examples).map(({ value }) => value);
  expect(values).not.toHaveLength(0);
  expect(values.filter((value) => !matches(schema, value))).toEqual([]);
});

test.each(parameters)('the example of the parameter $name', ({ schema, example }) => {
  expect(matches(schema, example)).toBe(true);
});

test.each(Object.entries(headers))('the example of the header %s', (_name, { schema, example }) => {
  expect(matches(schema, example)).toBe(true);
});

test.each(Object.entries(schemas))('the examples of the schema %s', (_name, schema: Schema) => {
  expect(schema.examples?.filter((example) => !matches(schema, example)) ?? []).toEqual([]);
});

test.each(properties)('the examples of the field $name', ({ property }) => {
  expect(property.examples?.filter((example) => !matches(property, example)) ?? []).toEqual([]);
});

test('a wrong example would be seen', () => {
  expect(matches({ $ref: '#/components/schemas/Lead' }, {})).toBe(false);
});
