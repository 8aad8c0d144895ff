/** Asks before a large file is imported as new leads. */

import { formatCount } from '@leadtap/contract';
import type { ParsedLine } from '../../import/input-line.ts';
import { confirm } from '../confirm.ts';
import type { CommandContext } from '../context.ts';
import { EXIT_CODES, ExitCode } from '../exit.ts';
import { writeLine } from '../output.ts';

type Lines = readonly ParsedLine[];

/** Above this, an import by mistake is costly: every automation runs for each new lead. */
const MAX_LEADS_UNASKED = 1000;

/** Holds back the first lines, until there are so many valid leads that a person is asked, or until the file ends. */
export async function* confirmLargeImport(
  lines: AsyncIterable<Lines>,
  file: string,
  context: CommandContext,
): AsyncGenerator<Lines> {
  let held: Lines[] = [];
  let count = 0;
  for await (const read of lines) {
    if (count > MAX_LEADS_UNASKED) {
      yield read;
      continue;
    }
    held.push(read);
    count += read.filter(({ parsed }) => parsed.lead !== undefined).length;
    if (count <= MAX_LEADS_UNASKED) continue;
    await requireYes(file, context);
    yield* held;
    held = [];
  }
  yield* held;
}

async function requireYes(file: string, context: CommandContext): Promise<void> {
  await writeLine(
    context.stderr,
    `${file} has more than ${formatCount(MAX_LEADS_UNASKED)} leads. Every automation that polls will run for each new lead among them.
For leads of the past, use --historical. To see who would get them, use --dry-run.`,
  );
  if (await confirm('Import them as new leads?', context)) return;
  await writeLine(context.stderr, 'Nothing was imported.');
  throw new ExitCode(EXIT_CODES.failed);
}
