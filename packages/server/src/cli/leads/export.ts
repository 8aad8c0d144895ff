import { createWriteStream } from 'node:fs';
import { unlink } from 'node:fs/promises';
import { resolve } from 'node:path';
import { CSV_START, IMPORT_FIELDS, type ImportField, toCsvRow } from '@leadtap/contract';
import type { Command } from 'commander';
import { CUSTOM_FIELD_PREFIX } from '../../leads/parse-lead.ts';
import type { StoredLead } from '../../leads/record.ts';
import { toIso } from '../../lib/clock.ts';
import { systemCode } from '../../lib/system-error.ts';
import type { Store } from '../../store/store.ts';
import { companiesOf } from '../accounts/organisation.ts';
import { addCommand } from '../command.ts';
import { findRow, owedPages, reportSourcesOf } from '../connections.ts';
import { type CommandContext, withStore } from '../context.ts';
import { Failure } from '../exit.ts';
import { formatLeadCount, type Output, write, writeJsonArray, writeLine } from '../output.ts';
import { leadPages, parseSince } from './find.ts';

const FORMATS = ['ndjson', 'csv', 'json'] as const;
type ExportFormat = (typeof FORMATS)[number];

export function registerLeadsExport(leads: Command, context: CommandContext): void {
  addCommand(leads, context, {
    name: 'export',
    description: 'write leads to a file or a pipe, to open or to import them elsewhere',
    options: {
      '--company <id>': 'only the leads of this company',
      '--since <time>': {
        text: 'only the leads created after this time, or in this time span',
        parse: (text) => parseSince(text, context.clock()),
      },
      '--owed <name>': 'only the leads that this connection missed or waits for',
      '--format <format>': { text: 'default: by the name of the file, or else ndjson', choices: FORMATS },
      '--output <file>': 'write to a new file instead of standard output',
      '--no-created-at': 'leave createdAt out, so that an import adds the leads as new ones',
      '--json': { text: 'one JSON array, the same as --format json', conflicts: 'format' },
    },
    help: `
The leads come company by company, oldest first (with --owed, newest first), with the fields that \`leads import\` takes. Leads that are added while it
runs may be missing; no lead comes twice. To import them with their times: leadtap leads import FILE --historical

NDJSON keeps every value as it is. CSV is for spreadsheets: custom fields become text, and an apostrophe before a text that
a spreadsheet would run as a formula is removed again by an import. It begins with a byte order mark, so that
Excel reads UTF-8.

The companies must exist where the leads are imported: see leadtap org export. The file of --output can be read by its owner
only; an existing file is never replaced, an incomplete one is removed. It contains personal data: delete it when you no
longer need it.`,
    examples: [
      'leadtap leads export > leads.ndjson',
      'leadtap leads export --company soleil --since 30d --output leads.csv',
      'leadtap leads export --format csv | gzip > leads.csv.gz',
      'leadtap leads export --owed CRM --output owed.csv',
    ],
    run: exportLeads,
  });
}

interface ExportOptions {
  readonly company?: string;
  readonly since?: number;
  readonly owed?: string;
  readonly format?: ExportFormat;
  readonly output?: string;
  /** False: --no-created-at. */
  readonly createdAt: boolean;
  readonly json?: true;
}

function formatOf({ format, json, output = '' }: ExportOptions): ExportFormat {
  const [, named] = /\.(csv|json)$/i.exec(output) ?? [];
  const byName = FORMATS.find((known) => known === named?.toLowerCase());
  return json ? 'json' : (format ?? byName ?? 'ndjson');
}

const exportLeads = (context: CommandContext, options: ExportOptions): Promise<void> =>
  withStore(context, async (store, config) => {
    const { stdout, stderr, signal } = context;
    const { owed, output: file } = options;
    const sources = await reportSourcesOf(store, config, context);
    const owing = owed === undefined ? undefined : (await findRow(sources, owed)).facts.connection;
    let count = 0;
    async function* read(): Pages {
      // CSV reads all leads twice.
      count = 0;
      for await (const page of owing ? owedPages(store, owing) : allLeads(store, options, signal)) {
        yield page;
        count += page.length;
      }
    }
    const writeTo = (output: Output) => WRITERS[formatOf(options)](output, read, fieldsOf(options));
    await (file === undefined ? writeTo(stdout) : writeFile(file, context, writeTo));
    await writeLine(stderr, `${formatLeadCount(count)} exported${file === undefined ? '' : ` to ${file}`}`);
  });

/** The file is removed if not all of it could be written. Only its owner can read it, because it has personal data. */
async function writeFile(
  file: string,
  { cwd }: CommandContext,
  writeTo: (output: Output) => Promise<void>,
): Promise<void> {
  const path = resolve(cwd, file);
  const stream = createWriteStream(path, { flags: 'wx', mode: 0o600 });
  let isCreated = false;
  try {
    await new Promise((opened, failed) => stream.once('open', opened).once('error', failed));
    isCreated = true;
    // The error is that of the write; without a listener it would also be an uncaught exception.
    stream.on('error', () => undefined);
    await writeTo(stream);
    await new Promise<void>((ended, failed) => stream.once('error', failed).end(ended));
  } catch (error) {
    stream.destroy();
    if (isCreated) await unlink(path);
    if (systemCode(error) === undefined) throw error;
    if (systemCode(error) === 'EEXIST')
      throw new Failure('conflict', `${file} already exists`, 'Name another file, or move this one away.');
    const fix = 'Check the path, the free space, and that you may write there.';
    throw new Failure('unavailable', `${file} cannot be written`, fix).causedBy(error);
  }
}

/** Before every time that a lead can have. */
const BEFORE_ALL = Date.parse('0000-01-01T00:00:00.000Z') - 1;

type Pages = AsyncGenerator<readonly StoredLead[]>;

/** Company by company, because a page of one company is one range of the table. */
async function* allLeads(
  store: Store,
  { company, since = BEFORE_ALL }: ExportOptions,
  signal: AbortSignal,
): Pages {
  for await (const { id: companyId } of companiesOf(store, signal, company))
    yield* leadPages(store, { companyId, since }, signal);
}

const fieldsOf = ({ createdAt }: ExportOptions): readonly ImportField[] =>
  IMPORT_FIELDS.filter(({ name }) => createdAt || name !== 'createdAt');

type LeadObject = Readonly<Record<string, unknown>>;

/** The lead as `leads import` takes it. */
function toObject(
  { lead, companyId, branchId, departmentId }: StoredLead,
  fields: readonly ImportField[],
): LeadObject {
  const values: LeadObject = { ...lead, companyId, branchId, departmentId, statusValue: lead.status.value };
  return Object.fromEntries(
    fields.map(({ name, type }) => {
      const value = values[name];
      return [name, type === 'instant' && typeof value === 'number' ? toIso(value) : value];
    }),
  );
}

type Writer = (output: Output, read: () => Pages, fields: readonly ImportField[]) => Promise<void>;

const WRITERS: Readonly<Record<ExportFormat, Writer>> = {
  async ndjson(output, read, fields) {
    for await (const page of read())
      await write(output, page.map((lead) => `${JSON.stringify(toObject(lead, fields))}\n`).join(''));
  },

  json: (output, read, fields) => writeJsonArray(output, read(), (lead) => toObject(lead, fields)),

  async csv(output, read, fields) {
    const customNames = await findCustomNames(read());
    const plain = fields.filter(({ name }) => name !== 'customFields');
    const header = [
      ...plain.map(({ name }) => name),
      ...customNames.map((name) => CUSTOM_FIELD_PREFIX + name),
    ];
    await write(output, CSV_START + toCsvRow(header));
    const known = new Set(customNames);
    for await (const page of read()) {
      const rows = page.map((lead) => {
        const object = toObject(lead, plain);
        const custom = lead.lead.customFields;
        if (Object.keys(custom).some((name) => !known.has(name)))
          throw new Failure('conflict', 'a lead got a new custom field during the export', 'Run it again.');
        return toCsvRow([
          ...plain.map(({ name, type }) => (type === 'urls' ? toUrls(object[name]) : object[name])),
          ...customNames.map((name) => (Object.hasOwn(custom, name) ? custom[name] : null)),
        ]);
      });
      await write(output, rows.join(''));
    }
  },
};

const MAX_CUSTOM_NAMES = 1000;

/** Reads all leads once before they are written: the header names every custom field. */
async function findCustomNames(pages: Pages): Promise<readonly string[]> {
  const names = new Set<string>();
  for await (const page of pages) {
    for (const { lead } of page) for (const name of Object.keys(lead.customFields)) names.add(name);
    if (names.size > MAX_CUSTOM_NAMES || names.has(''))
      throw new Failure(
        'bad-input',
        names.has('')
          ? 'a custom field has no name'
          : `there are more than ${MAX_CUSTOM_NAMES} custom fields`,
        'CSV needs a column with a name for each. Use --format ndjson.',
      );
  }
  return [...names].sort();
}

/** `|` separates addresses. Inside of one it is percent-encoded, which means the same. */
const toUrls = (value: unknown): string =>
  Array.isArray(value) ? value.map((url) => String(url).replaceAll('|', '%7C')).join('|') : '';
