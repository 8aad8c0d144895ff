import { IMPORT_FIELDS } from '@leadtap/contract';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { CommandContext } from './context.ts';
import { type ImportFlags, importFile } from './leads/import.ts';
import type { WithStore } from './with-store.ts';

const FIELDS = IMPORT_FIELDS.filter((field) => !field.import.historicalOnly)
  .map(({ name, import: rule }) => (rule.required ? `${name} (required)` : name))
  .join(', ')
  .replace(/(?=.{101})(.{1,100},) /g, '$1\n');

const HELP = `
Fields: ${FIELDS}.
A lead whose id its company has already is updated: fields that are left out stay, null clears.

NDJSON, one object a line, or a JSON array of such objects:
  {"companyId":"soleil","id":"4711","firstName":"Ada","email":"ada@example.com","customFields":{"source":"web"}}
CSV, with a header row:
  companyId,id,firstName,email,images,customFields.source
  soleil,4711,Ada,ada@example.com,https://example.com/1.jpg|https://example.com/2.jpg,web

Examples:
  leadtap leads import leads.ndjson
  leadtap leads import leads.csv --rejects rejected.csv
  export-leads | leadtap leads import - --format csv
  leadtap leads import archive.ndjson.gz --historical      leads of the past, with their createdAt; nobody is told

Lines that are wrong are reported and skipped, and the exit code is then 1. docs/importing-leads.md tells more.`;

function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('Give a whole number of at least 0.');
  return Number(text);
}

export function registerLeads(program: Command, context: CommandContext, withStore: WithStore): void {
  const leads = program.command('leads').description('the leads that are handed out');
  leads
    .command('import')
    .description('take leads in from a file, or update them')
    .argument('<file>', 'NDJSON, JSON or CSV, also compressed (.gz), or - for standard input')
    .addOption(new Option('--format <format>', 'default: by the name of the file').choices(['ndjson', 'csv']))
    .option('--historical', 'the leads are history: keep their createdAt, and do not show them as new')
    .option('--rejects <file>', 'write the lines that were rejected to a new file')
    .option('--skip-lines <n>', 'go on with an import: leave out the first n lines', wholeNumber, 0)
    .option('--acknowledge', 'print "committed N" each time the lines up to N are safe')
    .option('--max-errors-shown <n>', 'report that many rejected lines', wholeNumber, 20)
    .option('--json', 'print the result as JSON')
    .addHelpText('after', HELP)
    .action((file: string, flags: ImportFlags) => importFile(file, flags, context, withStore));
}
