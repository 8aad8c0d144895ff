import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { collectGarbage } from '../../../testing/harness/collect-garbage.ts';
import { issuesOf, leadOf, ndjson, outline, readChunks } from './support/read-lines.ts';

const lead = (id: string) => JSON.stringify({ companyId: 'acme', id });
const ids = async (text: string | Buffer, skipLines = 0) =>
  (await ndjson(text, { skipLines })).map((line) => [line.number, leadOf(line).id]);
/** The issues of the second line. */
const issuesAfterLead = async (text: string) => {
  const [, line] = await ndjson(`${lead('1')}\n${text}\n`);
  return line && issuesOf(line).join();
};

test('empty lines are skipped, but counted', async () => {
  expect(await ids(`\n\r\n${lead('1')}\n \t\n${lead('2')}\n\n`)).toEqual([
    [3, '1'],
    [5, '2'],
  ]);
});

test('the first lines can be skipped', async () => {
  expect(await ids([1, 2, 3, 4].map((id) => lead(`${id}`)).join('\n'), 2)).toEqual([
    [3, '3'],
    [4, '4'],
  ]);
});

test('a line keeps its bytes unchanged for the rejects file', async () => {
  const [line] = await ndjson('{"companyId": "acme" , "x":1}\r\n');
  expect(line?.raw?.toString()).toBe('{"companyId": "acme" , "x":1}\r');
});

test.each([
  ['{"companyId":"acme",}', 'is not JSON (character 21); write each lead as one object on one line'],
  ['companyId,id', 'is not JSON'],
  ['[{"companyId":"acme"}]', 'is JSON, but not an object; write each lead on a line of its own'],
  ['null', 'is JSON, but not an object'],
])('%s is rejected', async (text, issue) => {
  expect(await issuesAfterLead(text)).toContain(issue);
});

describe('a line of more than a mebibyte', () => {
  const long = (bytes: number) => '{'.padEnd(bytes - 1, 'x').concat('}');
  const MEBIBYTE = 1024 * 1024;

  test.each([[[]], [Array.from({ length: 40 }, (_, index) => index * 50_000)]])(
    'is rejected unread, and the next line is read %#',
    async (cuts) => {
      const lines = await ndjson(`${long(MEBIBYTE + 1)}\n${lead('2')}\n${long(MEBIBYTE)}`, { cuts });
      expect(lines.map(issuesOf)).toEqual([
        [expect.stringContaining('is longer than 1,048,576 bytes')],
        [],
        [expect.stringContaining('is not JSON')],
      ]);
      expect(lines[0]?.raw).toBeUndefined();
    },
  );

  test('is not held in memory', async () => {
    const before = process.memoryUsage().arrayBuffers;
    let highest = 0;
    async function* endless(): AsyncGenerator<Buffer> {
      for (let count = 1; count <= 400; count++) {
        yield Buffer.alloc(MEBIBYTE, '{');
        if (count % 50 !== 0) continue;
        collectGarbage();
        highest = Math.max(highest, process.memoryUsage().arrayBuffers);
      }
    }
    for await (const lines of readChunks(endless(), 'ndjson'))
      expect(lines.flatMap(issuesOf).join()).toMatch(/^(is longer.*)?$/);
    expect(highest - before).toBeLessThan(200 * MEBIBYTE);
  });
});

test('chunk boundaries make no difference', async () => {
  const line = fc.oneof(
    fc
      .string({ unit: 'grapheme' })
      .map((name) => JSON.stringify({ companyId: 'acme', firstName: name.replaceAll('\0', '') })),
    fc.constantFrom('', '{', '[]', ' ', '{"companyId":"acme"}\r'),
  );
  const file = fc
    .tuple(fc.boolean(), fc.array(line), fc.boolean())
    .map(
      ([mark, lines, end]) => `${mark ? '\uFEFF' : ''}${[lead('1'), ...lines].join('\n')}${end ? '\n' : ''}`,
    );
  await fc.assert(
    fc.asyncProperty(file, fc.array(fc.nat()), async (text, cuts) => {
      expect(outline(await ndjson(text, { cuts }))).toEqual(outline(await ndjson(text)));
    }),
  );
});
