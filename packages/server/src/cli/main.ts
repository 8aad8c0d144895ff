import { Command, CommanderError } from 'commander';
import { reasonOf, systemCode } from '../lib/system-error.ts';
import { VERSION } from '../lib/version.ts';
import { registerOrg } from './accounts/org.ts';
import { registerToken } from './accounts/token.ts';
import { registerUser } from './accounts/user.ts';
import { registerBackup } from './backup.ts';
import { registerConnections } from './connections.ts';
import { type CommandContext, loadConfig } from './context.ts';
import { registerDemo } from './demo.ts';
import { registerDoctor } from './doctor.ts';
import { EXIT_CODES, ExitCode } from './exit.ts';
import { asFailure, Failure } from './failure.ts';
import { registerHooks } from './hooks/hooks.ts';
import { withInvocation } from './invocation.ts';
import { registerLeads } from './leads/leads.ts';
import { registerMigrate } from './migrate.ts';
import { registerOpen } from './open.ts';
import { hasColours, styled, widthOf, writeLine } from './output.ts';
import { registerServe } from './serve.ts';
import { registerAlert } from './status/alert.ts';

const FIRST_STEPS = `
First steps:
  leadtap demo                             try it with made-up leads
  leadtap org apply organisation.json      create your companies and users
  leadtap token issue --user ada           print a token to paste into an automation platform
  leadtap leads import leads.csv           add your leads
  leadtap serve                            serve them
  leadtap open --user ada                  see them in the console

Settings come from LEADTAP_* variables and a .env file. \`leadtap doctor\` checks them.`;

/** Runs one command in this process and returns the exit code. */
export async function main(argv: readonly string[], context: CommandContext): Promise<number> {
  try {
    const program = buildProgram(context);
    await program.parseAsync(expandHelp(argv, program), { from: 'user' });
    return EXIT_CODES.done;
  } catch (error) {
    return report(asFailure(error), context);
  }
}

/** `help token issue` → `token issue --help`: Commander itself shows the help of `token`. */
function expandHelp(argv: readonly string[], program: Command): readonly string[] {
  const [first, ...names] = argv;
  if (first !== 'help' || names.length === 0) return argv;
  let command: Command | undefined = program;
  for (const name of names) command = command?.commands.find((child) => child.name() === name);
  if (command) return [...names, '--help'];
  throw new Failure(
    'usage',
    `there is no command ${names.join(' ')}`,
    'Run `leadtap --help` for all commands.',
  );
}

/** All commands. Each command inherits the settings of the program. */
export function buildProgram(context: CommandContext): Command {
  const { stdout, stderr, env } = context;
  const program = new Command('leadtap')
    .description('New leads on tap: one polling endpoint for automation platforms that never loses a lead.')
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show the help of this command')
    .helpCommand('help [command]', 'show the help of a command')
    .addHelpText('after', FIRST_STEPS)
    .exitOverride()
    // Otherwise `connections log NAME --json` would set --json of `connections`.
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .showHelpAfterError('  Add --help to see how to use the command.')
    .configureHelp({ styleTitle: (title) => styled('bold', title) })
    .configureOutput({
      writeOut: (text) => stdout.write(withInvocation(text, context)),
      writeErr: (text) => stderr.write(withInvocation(text, context)),
      outputError: (text, print) => print(text.replace(/^error: /, 'leadtap: ')),
      getOutHelpWidth: () => widthOf(stdout),
      getErrHelpWidth: () => widthOf(stderr),
      getOutHasColors: () => hasColours(stdout, env),
      getErrHasColors: () => hasColours(stderr, env),
    });
  program.commandsGroup('Run the service:');
  registerServe(program, context);
  registerDemo(program, context);
  registerOpen(program, context);
  program.commandsGroup('Manage users and leads:');
  registerOrg(program, context);
  registerUser(program, context);
  registerToken(program, context);
  registerLeads(program, context);
  registerConnections(program, context);
  registerHooks(program, context);
  program.commandsGroup('Maintain the installation:');
  registerMigrate(program, context);
  registerBackup(program, context);
  registerDoctor(program, context);
  registerAlert(program, context);
  return program;
}

async function report(error: unknown, context: CommandContext): Promise<number> {
  if (error instanceof ExitCode) return error.code;
  // Commander has printed its message. It also throws after help and version.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.done : EXIT_CODES.usage;
  // The reader of the output, such as `head`, has closed it. Not a success: an import may be incomplete.
  if (systemCode(error) === 'EPIPE') return EXIT_CODES.outputClosed;
  const isFailure = error instanceof Failure;
  const message = isFailure ? reasonOf(error) : `unexpected error: ${reasonOf(error)}`;
  const lines = isFailure ? error.fix : await explainBug(error, context);
  await writeLine(
    context.stderr,
    [`leadtap: ${message}`, ...lines.map((line) => `  ${withInvocation(line, context)}`)].join('\n'),
  );
  return isFailure ? error.exitCode : EXIT_CODES.bug;
}

/** The stack is for operators who debug. */
async function explainBug(error: unknown, context: CommandContext): Promise<string[]> {
  const logLevel = await loadConfig(context).then(
    (config) => config.logLevel,
    () => undefined,
  );
  if ((logLevel === 'debug' || logLevel === 'trace') && error instanceof Error)
    return (error.stack ?? '').split('\n');
  return ['This is a bug. Run the command again with LEADTAP_LOG_LEVEL=debug, and report what it shows.'];
}
