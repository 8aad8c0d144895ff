import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Encoding, type Recognised, UnusableFileError } from '../../src/import/input-line.ts';
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
  const recognised: Recognised[] = [];
  const lines = await reader(content, { ...options, onRecognised: (found) => recognised.push(found) });
  return { names: lines.map((line) => leadOf(line).fields.firstName), recognised };
}

describe('encodings', () => {
  test.each<[Encoding, string]>([
    ['utf-16le', '\uFEFF'],
    ['utf-16be', '\uFEFF'],
  ])('%s is recognised by its byte order mark', async (encoding, mark) => {
    const content = encoders[encoding](`${mark}${HEADER}acme,1,Zoë 👩‍👧 €\n`);
    expect(await read(content)).toEqual({ names: ['Zoë 👩‍👧 €'], recognised: [{ encoding }] });
  });

  test('UTF-8 with a byte order mark is nothing to report', async () => {
    expect(await read(`\uFEFF${HEADER}acme,1,Zoë\n`)).toEqual({ names: ['Zoë'], recognised: [] });
  });

  test('Windows-1252 is recognised by the first line that is not ASCII', async () => {
    const content = encoders['windows-1252'](
      `${HEADER}acme,1,Ada\nacme,2,Zoë € “x\nacme,3,Bo\nacme,4,André\n`,
    );
    expect(await read(content)).toEqual({
      names: ['Ada', 'Zoë € “x', 'Bo', 'André'],
      recognised: [{ encoding: 'windows-1252', line: expect.objectContaining({ number: 3 }) }],
    });
  });

  test('Windows-1252 is recognised by the header', async () => {
    const content = encoders['windows-1252']('companyId,id,Vorname,Straße\nacme,1,Zoë,Weg 1\n');
    const columnMap = new Map([
      ['Vorname', 'firstName'],
      ['Straße', 'address'],
    ]);
    expect((await read(content, { columnMap })).names).toEqual(['Zoë']);
  });

  test('in a file of Windows-1252, a line of UTF-8 is rejected instead of being stored with wrong characters', async () => {
    const latin1 = encoders['windows-1252'](`${HEADER}acme,1,Zoë\n`);
    const lines = await csv(Buffer.concat([latin1, Buffer.from('acme,2,André\nacme,3,Bo\n')]));
    expect(lines.map(issuesOf)).toEqual([
      [],
      ['contains UTF-8, but earlier lines are Windows-1252; save the file as UTF-8, or add --encoding'],
      [],
    ]);
  });

  test.each<Encoding>(['utf-8', 'utf-16le', 'utf-16be', 'windows-1252'])(
    '%s can be given, and is then not reported',
    async (encoding) => {
      const content = encoders[encoding](`${HEADER}acme,1,Zoë €\n`);
      expect(await read(content, { encoding })).toEqual({ names: ['Zoë €'], recognised: [] });
      const record = '{"companyId":"acme","firstName":"Zoë €"}\n';
      expect(await read(encoders[encoding](record), { encoding }, ndjson)).toEqual({
        names: ['Zoë €'],
        recognised: [],
      });
    },
  );

  test('a given encoding is used for every line', async () => {
    const content = Buffer.from(`${HEADER}acme,1,Zoë\n`);
    expect((await read(content, { encoding: 'windows-1252' })).names).toEqual(['ZoÃ«']);
    const latin1 = encoders['windows-1252'](`${HEADER}acme,1,Zoë\n`);
    const [line] = await csv(latin1, { encoding: 'utf-8' });
    expect(line && issuesOf(line)).toEqual(['contains bytes that are not UTF-8; save the file as UTF-8']);
  });

  test('NDJSON in UTF-16 with a byte order mark is read, too', async () => {
    const content = encoders['utf-16le']('\uFEFF{"companyId":"acme","firstName":"Zoë"}\n');
    expect(await read(content, {}, ndjson)).toEqual({
      names: ['Zoë'],
      recognised: [{ encoding: 'utf-16le' }],
    });
  });

  test('a byte order mark of another encoding than the given one is refused', async () => {
    const content = encoders['utf-16le'](`\uFEFF${HEADER}`);
    await expect(csv(content, { encoding: 'utf-8' })).rejects.toMatchObject({
      message: 'is UTF-16',
      fix: ['Leave --encoding out, so that the encoding is recognised.'],
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
    [';', 'companyId;id;firstName\nacme;1;"a;b"\n', 'a;b'],
    ['\t', 'companyId\tid\tfirstName\nacme\t1\ta,b;c\n', 'a,b;c'],
    [';', 'companyId;id;firstName;"customFields.a,b,c,d"\r\nacme;1;Ada;x\r\n', 'Ada'],
    [';', 'sep=;\r\ncompanyId;id;firstName\r\nacme;1;Ada\r\n', 'Ada'],
    ['\t', '"sep=\t"\ncompanyId\tid\tfirstName\nacme\t1\tAda\n', 'Ada'],
  ] as const)('%j is recognised in the header', async (separator, content, name) => {
    expect(await read(content)).toEqual({ names: [name], recognised: [{ separator }] });
  });

  test('commas are nothing to report', async () => {
    expect((await read(`sep=,\n${HEADER}acme,1,a;b\n`)).recognised).toEqual([]);
  });

  test('a given separator is used, and not reported', async () => {
    const content = 'companyId;customFields.a,b,c,d;firstName\nacme;x;Ada\n';
    await expect(read(content)).rejects.toThrow(UnusableFileError);
    expect(await read(content, { separator: ';' })).toEqual({ names: ['Ada'], recognised: [] });
  });

  test('a given separator that the header does not have is refused', async () => {
    await expect(csv(HEADER, { separator: ';' })).rejects.toMatchObject({
      fix: ['Its columns are separated by commas, not by semicolons. Leave --separator out.'],
    });
  });

  test('rows with too many cells name the separator', async () => {
    const [line] = await csv('companyId;id\nacme;1;x\n');
    expect(line && issuesOf(line)).toEqual([
      'has 3 cells, but the header has 2; put cells with a semicolon in quotes',
    ]);
  });

  test('UTF-16 and tabs, as Excel saves "Unicode text"', async () => {
    const content = encoders['utf-16le']('\uFEFFcompanyId\tid\tfirstName\r\nacme\t1\t"Zoë, ""Z"""\r\n');
    expect(await read(content)).toEqual({
      names: ['Zoë, "Z"'],
      recognised: [{ encoding: 'utf-16le', separator: '\t' }],
    });
  });
});
