import { CommanderError } from 'commander';
import { reasonOf, systemCode } from '../system-error.ts';
import type { CommandContext } from './context.ts';
import { EXIT_CODES, ExitCode } from './exit-code.ts';
import { Failure } from './failure.ts';
import { asFailure } from './known-errors.ts';
import { writeLine } from './output.ts';
import { buildProgram } from './program.ts';
import { loadConfig } from './with-store.ts';

/** Runs one command in this process and tells the exit code. */
export async function main(argv: readonly string[], context: CommandContext): Promise<number> {
  try {
    await buildProgram(context).parseAsync(argv, { from: 'user' });
    return EXIT_CODES.done;
  } catch (error) {
    return report(asFailure(error), context);
  }
}

async function report(error: unknown, context: CommandContext): Promise<number> {
  if (error instanceof ExitCode) return error.code;
  // Commander has printed what there is to say; it ends help and version this way, too.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.done : EXIT_CODES.usage;
  // Whoever read the output, such as `head`, has seen enough. Not a success: an import may have been cut short.
  if (systemCode(error) === 'EPIPE') return EXIT_CODES.outputClosed;
  if (error instanceof Failure) {
    await complain(context, reasonOf(error), error.fix);
    return error.exitCode;
  }
  await complain(context, `unexpected error: ${reasonOf(error)}`, await explainDefect(error, context));
  return EXIT_CODES.defect;
}

async function complain(context: CommandContext, message: string, lines: readonly string[]): Promise<void> {
  await writeLine(context.stderr, [`leadtap: ${message}`, ...lines.map((line) => `  ${line}`)].join('\n'));
}

async function explainDefect(error: unknown, context: CommandContext): Promise<string[]> {
  if ((await wantsStack(context)) && error instanceof Error) return (error.stack ?? '').split('\n');
  return ['This is a bug. Run the command again with LEADTAP_LOG_LEVEL=debug to see where, and report it.'];
}

/** Whoever wants to see much finds the stack here, too. Nobody, where the configuration is what cannot be read. */
const wantsStack = (context: CommandContext): Promise<boolean> =>
  loadConfig(context).then(
    ({ logLevel }) => logLevel === 'debug' || logLevel === 'trace',
    () => false,
  );
