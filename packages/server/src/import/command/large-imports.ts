/** Asks before a large file is imported as new leads. */

import { confirm, isInteractive } from '../../cli/confirm.ts';
import type { CommandContext } from '../../cli/context.ts';
import { EXIT_CODES, ExitCode } from '../../cli/exit.ts';
import { writeLine } from '../../cli/output.ts';
import { FileFacts, type ReadOptions, UnusableFileError } from '../input-line.ts';
import { readLeads } from '../read-leads.ts';
import { type CsvFlags, formatOfFlags } from './csv-options.ts';
import { BrokenInputError, openInput } from './files.ts';

interface LargeImportFlags extends CsvFlags {
  readonly dryRun?: true;
  readonly yes?: true;
}

/** Above this, an import by mistake is costly: every automation runs for each new lead. */
const MAX_LEADS_UNASKED = 1000;

/** Asks a person at a terminal. Programs and pipes are not asked. */
export async function confirmLargeImport(
  file: string,
  flags: LargeImportFlags,
  options: ReadOptions,
  context: CommandContext,
): Promise<void> {
  if (flags.historical || flags.dryRun || flags.yes || !isInteractive(context)) return;
  if (!(await hasMoreLeads(file, MAX_LEADS_UNASKED, flags, options, context))) return;
  await writeLine(
    context.stderr,
    `${file} has more than ${MAX_LEADS_UNASKED.toLocaleString('en')} leads. Every automation that polls will run for each new lead among them.
For leads of the past, use --historical. To see who would get them, use --dry-run.`,
  );
  if (await confirm('Import them as new leads?', context)) return;
  await writeLine(context.stderr, 'Nothing was imported.');
  throw new ExitCode(EXIT_CODES.failed);
}

/** Reads only the beginning of the file. A file with errors is not counted to the end: the import reports them. */
async function hasMoreLeads(
  file: string,
  limit: number,
  flags: CsvFlags,
  options: ReadOptions,
  context: CommandContext,
): Promise<boolean> {
  const input = await openInput(file, formatOfFlags(flags), context);
  let count = 0;
  try {
    for await (const lines of readLeads(input, { ...options, facts: new FileFacts(file) })) {
      count += lines.filter(({ parsed }) => parsed.lead !== undefined).length;
      if (count > limit) return true;
    }
    return false;
  } catch (error) {
    if (error instanceof UnusableFileError || error instanceof BrokenInputError) return false;
    throw error;
  } finally {
    input.close();
  }
}
