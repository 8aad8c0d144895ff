import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseBody } from '../../src/intake/body.ts';

/** The value, or undefined for text that is not JSON. */
const parse = async (json: string): Promise<unknown> => {
  try {
    return (await parseBody('application/json', Buffer.from(json))).value;
  } catch {
    return undefined;
  }
};

function parseAtOnce(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

const json = fc.array(fc.json(), { minLength: 2 }).map((items) => `[${items.join()}]`);
const FRAGMENTS = [
  '[',
  ']',
  '{',
  '}',
  ',',
  ':',
  '"',
  '\\',
  '\\"',
  ' ',
  '\n',
  '\u00a0',
  '0',
  'null',
  '{"a":1}',
];

it('arrays with a change in one place', async () => {
  const change = fc.record({
    at: fc.nat(),
    removed: fc.nat({ max: 2 }),
    added: fc.constantFrom(...FRAGMENTS),
  });
  await fc.assert(
    fc.asyncProperty(json, change, async (text, { at, removed, added }) => {
      const start = at % (text.length + 1);
      const changed = text.slice(0, start) + added + text.slice(start + removed);
      expect(await parse(changed)).toEqual(parseAtOnce(changed));
    }),
    { numRuns: 500 },
  );
});

it('random brackets, commas and quotes', async () => {
  const text = fc.array(fc.constantFrom(...FRAGMENTS), { maxLength: 12 }).map((parts) => parts.join(''));
  const inBrackets = text.map((inner) => `[${inner}]`);
  await fc.assert(
    fc.asyncProperty(fc.oneof(text, inBrackets), async (some) => {
      expect(await parse(some)).toEqual(parseAtOnce(some));
    }),
    { numRuns: 2000 },
  );
});

it('an error in a later item has its place in the body', async () => {
  await expect(parseBody('application/json', Buffer.from('[{},\n {"a" 1}]'))).rejects.toMatchObject({
    parts: { detail: expect.stringContaining('(character 12)') },
  });
});
