import { type Command, InvalidArgumentError, Option } from 'commander';
import type { CommandContext } from './context.ts';
import { type ImportFlags, importFile } from './import/run.ts';

const HELP = `
Fields: companyId (required), branchId, departmentId, id, firstName, lastName, fullName, phone1, phone2, email,
address, postalCode, addressNotes, appointmentDateTime, timeslot, statusValue, customFields, images, sameDay.
If the company already has a lead with this id, the lead is updated: missing fields stay, null clears a field.

NDJSON, one object per line, or a JSON array of such objects:
  {"companyId":"soleil","id":"4711","firstName":"Ada","email":"ada@example.com","customFields":{"source":"web"}}
CSV, with a header row:
  companyId,id,firstName,email,images,customFields.source
  soleil,4711,Ada,ada@example.com,https://example.com/1.jpg|https://example.com/2.jpg,web

Examples:
  leadtap leads import leads.ndjson
  leadtap leads import leads.csv --rejects rejected.csv
  export-leads | leadtap leads import - --format csv
  leadtap leads import archive.ndjson.gz --historical      old leads: keep createdAt, do not deliver them

Invalid lines are reported and skipped, and the exit code is then 1. See docs/importing-leads.md.`;

function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('Give a whole number of at least 0.');
  return Number(text);
}

export function registerLeads(program: Command, context: CommandContext): void {
  const leads = program.command('leads').description('manage leads');
  leads
    .command('import')
    .description('add or update leads from a file')
    .argument('<file>', 'NDJSON, JSON or CSV, also compressed (.gz), or - for standard input')
    .addOption(new Option('--format <format>', 'default: by the name of the file').choices(['ndjson', 'csv']))
    .option('--historical', 'old leads: keep their createdAt, and do not deliver them as new')
    .option('--rejects <file>', 'write rejected lines to a new file')
    .option('--skip-lines <n>', 'continue an import: skip the first n lines', wholeNumber, 0)
    .option('--acknowledge', 'print "committed N" each time the lines up to N are stored')
    .option('--max-errors-shown <n>', 'maximum number of rejected lines to report', wholeNumber, 20)
    .option('--json', 'print the result as JSON')
    .addHelpText('after', HELP)
    .action((file: string, flags: ImportFlags) => importFile(file, flags, context));
}
