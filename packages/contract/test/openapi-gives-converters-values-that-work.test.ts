import { describe, expect, test } from 'vitest';
import { startService } from '../../testing/harness/service.ts';
import { NEW_LEADS_PATH, type Problem } from '../src/index.ts';
import { published } from './published-document.ts';

const { parameters } = published.paths[NEW_LEADS_PATH];

const queryOf = (sent: (parameter: (typeof parameters)[number]) => unknown): string => {
  const query = new URLSearchParams();
  for (const parameter of parameters)
    if (parameter.in === 'query') query.set(parameter.name, String(sent(parameter)));
  return query.toString();
};

const headers = Object.fromEntries(
  parameters
    .filter((parameter) => parameter.in === 'header')
    .map(({ name, example }) => [name, String(example)]),
);

// openapi-to-postmanv2 6.3, with "Parameter generation: Schema": the default if there is one, a random text that fits the
// pattern if there is one, else a placeholder such as <dateTime>. With "Example": the example of the parameter.
describe('a request that a converter makes of the description', () => {
  test('has no random values: no parameter has a pattern or a list of values', () => {
    for (const { schema } of parameters) expect(Object.keys(schema)).not.toContain('pattern');
    for (const { schema } of parameters) expect(Object.keys(schema)).not.toContain('enum');
  });

  test('is answered with leads when it is made of the examples', async () => {
    const service = await startService();
    await service.add({ id: 'first' });
    const answer = await service.poll(
      'boss',
      queryOf(({ example }) => example),
      { headers },
    );
    expect([answer.status, await answer.json()]).toEqual([200, expect.any(Array)]);
    expect(answer.headers.get('x-request-id')).toBe(headers['X-Request-Id']);
  });

  test('is refused with a correct example when a placeholder was left in it', async () => {
    const service = await startService();
    const answer = await service.poll(
      'boss',
      queryOf(({ schema }) => schema.default ?? '<dateTime>'),
    );
    const { errors } = (await answer.json()) as Problem;
    expect([answer.status, errors?.map((error) => 'parameter' in error && error.parameter)]).toEqual([
      400,
      ['since'],
    ]);
    expect(errors?.[0]?.detail).toMatch(/ISO 8601 date-time, such as \d{4}-/);
  });
});
