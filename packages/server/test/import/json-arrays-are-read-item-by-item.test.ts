import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { MAX_LINE_BYTES } from '../../src/import/input-line.ts';
import { JsonItemSplitter } from '../../src/import/json.ts';
import { terminalWithUsers } from '../cli/terminal.ts';
import { readChunks } from './support/read-lines.ts';

type Shell = Awaited<ReturnType<typeof terminalWithUsers>>;

const LEADS = [
  { companyId: 'acme', id: '1', firstName: 'Ada "the } first", ]' },
  { companyId: 'acme', id: '2', customFields: { tags: ['a', { b: '\\' }], note: 'line\nbreak' } },
  { companyId: 'acme', id: '3', firstName: 'Bo' },
];

async function storedIds(shell: Shell): Promise<string[]> {
  const store = await (await shell.database()).openStore();
  onTestFinished(() => store.close());
  const scope = { level: 'COMPANY', companyId: 'acme' } as const;
  return (await store.readPage({ scope, since: 0, limit: 100 })).leads.map(({ id }) => id);
}

describe('every layout of the same leads is imported', () => {
  test.each([
    ['an array on one line', JSON.stringify(LEADS)],
    ['a pretty-printed array', JSON.stringify(LEADS, undefined, 2)],
    ['an array with a lead on each line', `[\n${LEADS.map((lead) => JSON.stringify(lead)).join(',\n')}\n]\n`],
    ['an array with Windows line breaks', JSON.stringify(LEADS, undefined, 2).replaceAll('\n', '\r\n')],
    [
      'an array after a byte order mark and blank lines',
      `\uFEFF\n \n${JSON.stringify(LEADS, undefined, 4)}\n`,
    ],
    [
      'pretty-printed objects one after the other',
      LEADS.map((lead) => JSON.stringify(lead, undefined, 2)).join('\n'),
    ],
    ['NDJSON', LEADS.map((lead) => JSON.stringify(lead)).join('\n')],
  ])('%s', async (_layout, text) => {
    const shell = await terminalWithUsers();
    expect(await shell.run('leads import -', { stdin: text })).toEqual({
      code: 0,
      stdout: '3 added, 0 updated, 0 rejected\n',
      stderr: '',
    });
    expect(await storedIds(shell)).toEqual(['1', '2', '3']);
  });

  test('a single pretty-printed object', async () => {
    const shell = await terminalWithUsers();
    const stdin = JSON.stringify(LEADS[1], undefined, 2);
    expect((await shell.run('leads import -', { stdin })).stdout).toBe('1 added, 0 updated, 0 rejected\n');
  });

  test('an empty array has no leads', async () => {
    const shell = await terminalWithUsers();
    expect(await shell.run('leads import -', { stdin: '[\n]\n' })).toMatchObject({
      code: 0,
      stdout: '0 added, 0 updated, 0 rejected\n',
    });
  });
});

test('rejected items are reported with their number and line, and kept as NDJSON', async () => {
  const shell = await terminalWithUsers();
  const items = [LEADS[0], { companyId: 'acme', id: '9', email: 'x' }, 7, [LEADS[2]], LEADS[1]];
  shell.save('leads.json', JSON.stringify(items, undefined, 2));
  const { code, stdout, stderr } = await shell.run('leads import leads.json --rejects wrong.ndjson');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '2 added, 0 updated, 3 rejected\n' });
  expect(stderr.trim().split('\n')).toEqual([
    expect.stringMatching(/^item 2 \(line 7\): email: "x" is not an e-mail address/),
    expect.stringMatching(/^item 3 \(line 12\): is JSON, but not an object/),
    expect.stringMatching(/^item 4 \(line 13\): is JSON, but not an object/),
  ]);
  const kept = readFileSync(shell.path('wrong.ndjson'), 'utf8');
  expect(JSON.parse(kept.split('\n')[0] ?? '')).toEqual(items[1]);
  expect(kept.trim().split('\n')).toHaveLength(3);
});

test('a broken item costs one lead, and an unclosed array is an error', async () => {
  const shell = await terminalWithUsers();
  const broken =
    '[\n{"companyId":"acme","id":"1","phone1":"1"},\n{"companyId":"acme","id":"2},\n{"companyId":"acme","id":"3","phone1":"3"}\n';
  const { code, stdout, stderr } = await shell.run('leads import -', { stdin: broken });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '2 added, 0 updated, 2 rejected\n' });
  expect(stderr).toMatch(/^item 2 \(line 3\): is not JSON/m);
  expect(stderr).toMatch(/^item 4 \(line 5\): the array has no closing \]/m);
  expect(await storedIds(shell)).toEqual(['1', '3']);
});

test('--skip-lines and --acknowledge count the items, also of an array on one line', async () => {
  const shell = await terminalWithUsers();
  const stdin = JSON.stringify(LEADS);
  const all = await shell.run('leads import - --acknowledge', { stdin });
  expect(all.stdout).toBe('committed 3\n3 added, 0 updated, 0 rejected\n');
  const rest = await shell.run('leads import - --skip-lines 2', { stdin });
  expect(rest.stdout).toBe('0 added, 1 updated, 0 rejected\n');
});

describe('the splitter', () => {
  const itemsOf = (text: string, cuts: readonly number[]): string[] => {
    const bytes = Buffer.from(text);
    const edges = [...new Set([0, ...cuts.map((cut) => cut % bytes.length), bytes.length])].sort(
      (a, b) => a - b,
    );
    const splitter = new JsonItemSplitter();
    const items = edges
      .slice(1)
      .flatMap((edge, index) => splitter.push(Buffer.from(bytes.subarray(edges[index], edge))));
    return [...items, ...splitter.end()].map(({ raw }) => String(raw));
  };

  test('returns the items of any array in any layout and chunks', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.object(), fc.double({ noNaN: true }), fc.string(), fc.boolean()), {
          minLength: 1,
        }),
        fc.constantFrom(undefined, 1, 4),
        fc.array(fc.nat(10_000)),
        (values, indent, cuts) => {
          const json = JSON.stringify(values, undefined, indent);
          expect(itemsOf(json, cuts).map((item) => JSON.parse(item))).toEqual(JSON.parse(json));
        },
      ),
    );
  });

  test('handles any bytes, and never returns an empty item', () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom('[', ']', '{', '}', ',', '"', '\\', '\n', ' ', 'a'),
          minLength: 1,
        }),
        fc.array(fc.nat(100)),
        (text, cuts) => {
          const items = itemsOf(text, cuts);
          expect(items).toEqual(itemsOf(text, []));
          expect(items.every((item) => item.length > 0)).toBe(true);
        },
      ),
    );
  });

  test('drops an item that is too long, and continues after it', () => {
    const splitter = new JsonItemSplitter();
    const items = [
      ...splitter.push(Buffer.from('[{"a":"')),
      ...splitter.push(Buffer.alloc(MAX_LINE_BYTES, 'x')),
      ...splitter.push(Buffer.from('"},{"b":1}]')),
    ];
    expect(items.map(({ raw }) => raw?.toString())).toEqual([undefined, '{"b":1}']);
  });
});

test('leads are returned while the array is still being read, so that memory is bounded', async () => {
  let returned = 0;
  const seen: number[] = [];
  async function* bytes() {
    yield Buffer.from('[');
    for (let chunk = 0; chunk < 100; chunk += 1) {
      seen.push(returned);
      yield Buffer.from('{"companyId":"acme"},\n'.repeat(100));
    }
    yield Buffer.from('{"companyId":"acme"}]');
  }
  for await (const lines of readChunks(bytes(), 'ndjson')) returned += lines.length;
  expect(returned).toBe(10_001);
  expect(seen).toEqual(Array.from({ length: 100 }, (_, index) => index * 100));
});
