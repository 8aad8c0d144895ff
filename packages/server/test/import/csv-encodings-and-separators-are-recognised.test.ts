import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Encoding, FileFacts, UnusableFileError } from '../../src/import/input-line.ts';
import { csv, issuesOf, leadOf, ndjson, type ReadingOptions } from './support/read-lines.ts';

const HEADER = 'companyId,id,firstName\n';

const encoders: Readonly<Record<Encoding, (text: string) => Buffer>> = {
  'utf-8': (text) => Buffer.from(text),
  'utf-16le': (text) => Buffer.from(text, 'utf16le'),
  'utf-16be': (text) => Buffer.from(text, 'utf16le').swap16(),
  'windows-1252': (text) => Buffer.from(text.replaceAll('€', '\x80').replaceAll('“', '\x93'), 'latin1'),
};

/** The first names of the leads, and what was recognised. */
async function read(content: string | Buffer, options: ReadingOptions = {}, reader = csv) {
  const facts = new FileFacts('leads.csv');
  const lines = await reader(content, { ...options, facts });
  return { names: lines.map((line) => leadOf(line).fields.firstName), notes: facts.notes };
}

const AS_TABS = 'leads.csv is read with tabs between the cells. If that is wrong, use --separator.';
const AS_SEMICOLONS = AS_TABS.replace('tabs', 'semicolons');
const asUtf16 = (name: string) => `leads.csv is read as ${name}. If that is wrong, use --encoding.`;

describe('encodings', () => {
  test.each<[Encoding, string]>([
    ['utf-16le', 'UTF-16LE'],
    ['utf-16be', 'UTF-16BE'],
  ])('%s is recognised by its byte order mark', async (encoding, name) => {
    const content = encoders[encoding](`\uFEFF${HEADER}acme,1,Zoë 👩‍👧 €\n`);
    expect(await read(content)).toEqual({ names: ['Zoë 👩‍👧 €'], notes: [asUtf16(name)] });
    const json = encoders[encoding]('\uFEFF{"companyId":"acme","firstName":"Zoë"}\n');
    expect(await read(json, {}, ndjson)).toEqual({ names: ['Zoë'], notes: [asUtf16(name)] });
  });

  test('UTF-8 with a byte order mark is nothing to report', async () => {
    expect(await read(`\uFEFF${HEADER}acme,1,Zoë\n`)).toEqual({ names: ['Zoë'], notes: [] });
  });

  test('Windows-1252 is recognised by the first line that is not ASCII', async () => {
    const content = encoders['windows-1252'](
      `${HEADER}acme,1,Ada\nacme,2,Zoë € “x\nacme,3,Bo\nacme,4,André\n`,
    );
    expect(await read(content)).toEqual({
      names: ['Ada', 'Zoë € “x', 'Bo', 'André'],
      notes: [
        'leads.csv is read as Windows-1252 (Latin-1) because of line 3. If that is wrong, use --encoding.',
      ],
    });
  });

  test('a line in the other encoding is rejected instead of being stored with wrong characters', async () => {
    const [utf8, latin1] = [encoders['utf-8'], encoders['windows-1252']];
    const issues = async (first: Buffer, second: Buffer) =>
      (await csv(Buffer.concat([Buffer.from(HEADER), first, second, Buffer.from('acme,3,Bo\n')]))).map(
        issuesOf,
      );
    expect(await issues(latin1('acme,1,Zoë\n'), utf8('acme,2,André\n'))).toEqual([
      [],
      ['contains UTF-8, but earlier lines are Windows-1252; save the file as UTF-8, or add --encoding'],
      [],
    ]);
    expect(await issues(utf8('acme,1,Zoë\n'), latin1('acme,2,André\n'))).toEqual([
      [],
      ['contains bytes that are not UTF-8; save the file as UTF-8'],
      [],
    ]);
  });

  test.each<Encoding>(['utf-8', 'utf-16le', 'utf-16be', 'windows-1252'])(
    '%s can be given, and is then not reported',
    async (encoding) => {
      const content = encoders[encoding](`${HEADER}acme,1,Zoë €\n`);
      expect(await read(content, { encoding })).toEqual({ names: ['Zoë €'], notes: [] });
      const record = '{"companyId":"acme","firstName":"Zoë €"}\n';
      expect(await read(encoders[encoding](record), { encoding }, ndjson)).toEqual({
        names: ['Zoë €'],
        notes: [],
      });
    },
  );

  test('a given encoding is used for every line', async () => {
    const content = Buffer.from(`${HEADER}acme,1,Zoë\n`);
    expect((await read(content, { encoding: 'windows-1252' })).names).toEqual(['ZoÃ«']);
    await expect(csv(encoders['utf-16le'](`\uFEFF${HEADER}`), { encoding: 'utf-8' })).rejects.toMatchObject({
      message: 'is UTF-16 or binary',
    });
  });

  test('every encoding is read in chunks of any size', async () => {
    const encodings = fc.constantFrom<Encoding>('utf-16le', 'utf-16be', 'windows-1252');
    await fc.assert(
      fc.asyncProperty(encodings, fc.array(fc.nat(200), { maxLength: 20 }), async (encoding, cuts) => {
        const emoji = encoding === 'windows-1252' ? '' : '👩‍👧';
        const mark = encoding === 'windows-1252' ? '' : '\uFEFF';
        const content = encoders[encoding](`${mark}${HEADER}acme,1,Zoë${emoji}\nacme,2,€\n`);
        expect((await read(content, { cuts })).names).toEqual([`Zoë${emoji}`, '€']);
      }),
    );
  });
});

describe('separators', () => {
  test.each([
    [AS_SEMICOLONS, 'companyId;id;firstName\nacme;1;"a;b"\n', 'a;b'],
    [AS_TABS, 'companyId\tid\tfirstName\nacme\t1\ta,b;c\n', 'a,b;c'],
    [AS_SEMICOLONS, 'companyId;id;firstName;"customFields.a,b,c,d"\r\nacme;1;Ada;x\r\n', 'Ada'],
    [AS_SEMICOLONS, 'sep=;\r\ncompanyId;id;firstName\r\nacme;1;Ada\r\n', 'Ada'],
    [AS_TABS, '"sep=\t"\ncompanyId\tid\tfirstName\nacme\t1\tAda\n', 'Ada'],
  ] as const)('%s: %j', async (note, content, name) => {
    expect(await read(content)).toEqual({ names: [name], notes: [note] });
  });

  test('commas are nothing to report', async () => {
    expect((await read(`sep=,\n${HEADER}acme,1,a;b\n`)).notes).toEqual([]);
  });

  test('a given separator is used, and not reported', async () => {
    const content = 'companyId;customFields.a,b,c,d;firstName\nacme;x;Ada\n';
    await expect(read(content)).rejects.toThrow(UnusableFileError);
    expect(await read(content, { separator: ';' })).toEqual({ names: ['Ada'], notes: [] });
  });

  test('rows with too many cells name the separator', async () => {
    const [line] = await csv('companyId;id\nacme;1;x\n');
    expect(line && issuesOf(line)).toEqual([
      'has 3 cells, but the header has 2; put cells with a semicolon in quotes',
    ]);
  });

  test('UTF-16 and tabs, as Excel saves "Unicode text"', async () => {
    const content = encoders['utf-16le']('\uFEFFcompanyId\tid\tfirstName\r\nacme\t1\t"Zoë, ""Z"""\r\n');
    expect(await read(content)).toEqual({ names: ['Zoë, "Z"'], notes: [asUtf16('UTF-16LE'), AS_TABS] });
  });
});
