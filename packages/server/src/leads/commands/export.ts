import { createWriteStream } from 'node:fs';
import { unlink } from 'node:fs/promises';
import { resolve } from 'node:path';
import { CSV_START, IMPORT_FIELDS, type ImportField, toCsvRow } from '@leadtap/contract';
import { type Command, Option } from 'commander';
import { companyPages, findCompany } from '../../cli/company.ts';
import { type CommandContext, withStore } from '../../cli/context.ts';
import { Failure } from '../../cli/failure.ts';
import { formatLeadCount, type Output, write, writeJsonArray, writeLine } from '../../cli/output.ts';
import { toIso } from '../../clock.ts';
import type { Store } from '../../store/store.ts';
import { systemCode } from '../../system-error.ts';
import { CUSTOM_FIELD_PREFIX } from '../parse-lead.ts';
import type { StoredLead } from '../record.ts';
import type { LeadListQuery } from '../store.ts';
import { parseSince } from './list.ts';

const HELP = `
The leads come company by company, oldest first, with the fields that \`leads import\` takes. Leads that are added while it
runs may be missing; no lead comes twice. To import them with their times: leadtap leads import FILE --historical

NDJSON keeps every value as it is. CSV is for spreadsheets: custom fields become text, and an apostrophe before a text that
a spreadsheet would run as a formula is removed again by an import. It begins with a byte order mark, so that
Excel reads UTF-8.

The companies must exist where the leads are imported: see leadtap org export. The file of --output can be read by its owner
only; an existing file is never replaced, an incomplete one is removed. It contains personal data: delete it when you no
longer need it.

Examples:
  leadtap leads export > leads.ndjson
  leadtap leads export --company soleil --since 30d --output leads.csv
  leadtap leads export --format csv | gzip > leads.csv.gz`;

const FORMATS = ['ndjson', 'csv', 'json'] as const;
type ExportFormat = (typeof FORMATS)[number];

interface ExportOptions {
  readonly company?: string;
  readonly since?: number;
  readonly format?: ExportFormat;
  readonly output?: string;
  /** False: --no-created-at. */
  readonly createdAt: boolean;
  readonly json?: true;
}

export function registerLeadsExport(leads: Command, context: CommandContext): void {
  leads
    .command('export')
    .description('write leads to a file or a pipe, to open or to import them elsewhere')
    .option('--company <id>', 'only the leads of this company')
    .option('--since <time>', 'only the leads created after this time, or in this time span', (text) =>
      parseSince(text, context.clock()),
    )
    .addOption(
      new Option('--format <format>', 'default: by the name of the file, or else ndjson').choices(FORMATS),
    )
    .option('--output <file>', 'write to a new file instead of standard output')
    .option('--no-created-at', 'leave createdAt out, so that an import adds the leads as new ones')
    .addOption(new Option('--json', 'one JSON array, the same as --format json').conflicts('format'))
    .addHelpText('after', HELP)
    .action((options: ExportOptions) => exportLeads(options, context));
}

function formatOf({ format, json, output = '' }: ExportOptions): ExportFormat {
  const [, named] = /\.(csv|json)$/i.exec(output) ?? [];
  const byName = FORMATS.find((known) => known === named?.toLowerCase());
  return json ? 'json' : (format ?? byName ?? 'ndjson');
}

async function exportLeads(options: ExportOptions, context: CommandContext): Promise<void> {
  const { stdout, stderr, signal } = context;
  await withStore(context, async (store) => {
    if (options.company !== undefined) await findCompany(store, options.company, signal);
    const counted = { leads: 0 };
    const read = () => leadPages(store, options, signal);
    const writeTo = (output: Output) => WRITERS[formatOf(options)](output, read, fieldsOf(options), counted);
    if (options.output === undefined) await writeTo(stdout);
    else await writeFile(options.output, context, writeTo);
    const where = options.output === undefined ? '' : ` to ${options.output}`;
    await writeLine(stderr, `${formatLeadCount(counted.leads)} exported${where}`);
  });
}

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
const LEADS_PER_PAGE = 500;

type Pages = AsyncGenerator<readonly StoredLead[]>;

/** Company by company, because a page of one company is one range of the table. */
async function* leadPages(store: Store, { company, since }: ExportOptions, signal: AbortSignal): Pages {
  if (company !== undefined) return yield* pagesOfCompany(store, company, since, signal);
  for await (const page of companyPages(store, signal))
    for (const { id } of page) yield* pagesOfCompany(store, id, since, signal);
}

async function* pagesOfCompany(
  store: Store,
  companyId: string,
  since = BEFORE_ALL,
  signal: AbortSignal,
): Pages {
  let after: LeadListQuery['after'];
  for (;;) {
    signal.throwIfAborted();
    const page = await store.listLeads({ companyId, since, limit: LEADS_PER_PAGE, ...(after && { after }) });
    yield page;
    const last = page.at(-1);
    if (last === undefined || page.length < LEADS_PER_PAGE) return;
    after = { companyId, createdAt: last.lead.createdAt };
  }
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

type Writer = (
  output: Output,
  read: () => Pages,
  fields: readonly ImportField[],
  counted: { leads: number },
) => Promise<void>;

const WRITERS: Readonly<Record<ExportFormat, Writer>> = {
  async ndjson(output, read, fields, counted) {
    for await (const page of read()) {
      await write(output, page.map((lead) => `${JSON.stringify(toObject(lead, fields))}\n`).join(''));
      counted.leads += page.length;
    }
  },

  async json(output, read, fields, counted) {
    async function* objects(): AsyncGenerator<readonly object[]> {
      for await (const page of read()) {
        yield page.map((lead) => toObject(lead, fields));
        counted.leads += page.length;
      }
    }
    await writeJsonArray(output, objects());
  },

  async csv(output, read, fields, counted) {
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
      counted.leads += page.length;
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
