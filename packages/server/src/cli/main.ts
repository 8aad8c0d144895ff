import { Command, CommanderError } from 'commander';
import { reasonOf, systemCode } from '../lib/system-error.ts';
import { VERSION } from '../lib/version.ts';
import type { CommandContext } from './context.ts';
import { EXIT_CODES, ExitCode, Failure } from './exit.ts';
import { withInvocation } from './invocation.ts';
import { hasColours, styled, widthOf, writeLine } from './output.ts';

type Register = (program: Command, context: CommandContext) => void;

/** By heading and name. Only the command that runs is loaded: all of them take four times as long as Node alone. */
const COMMANDS: Readonly<Record<string, Readonly<Record<string, () => Promise<Register>>>>> = {
  'Run the service:': {
    serve: async () => (await import('./serve.ts')).registerServe,
    demo: async () => (await import('./demo.ts')).registerDemo,
    open: async () => (await import('./open.ts')).registerOpen,
  },
  'Manage users and leads:': {
    org: async () => (await import('./accounts/org.ts')).registerOrg,
    user: async () => (await import('./accounts/user.ts')).registerUser,
    token: async () => (await import('./accounts/token.ts')).registerToken,
    leads: async () => (await import('./leads/leads.ts')).registerLeads,
    connections: async () => (await import('./connections.ts')).registerConnections,
    hooks: async () => (await import('./hooks/hooks.ts')).registerHooks,
  },
  'Maintain the installation:': {
    migrate: async () => (await import('./migrate.ts')).registerMigrate,
    backup: async () => (await import('./backup.ts')).registerBackup,
    doctor: async () => (await import('./doctor.ts')).registerDoctor,
    alert: async () => (await import('./status/alert.ts')).registerAlert,
  },
};

const VERSION_FLAGS = ['-V', '--version'];

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
    const program = await buildProgram(context, argv[0]);
    await program.parseAsync(expandHelp(argv, program), { from: 'user' });
    return EXIT_CODES.done;
  } catch (error) {
    return report(error, context);
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

/** The command of this name, or all commands if there is none. Each command inherits the settings of the program. */
export async function buildProgram(context: CommandContext, only = ''): Promise<Command> {
  const { stdout, stderr, env } = context;
  const program = new Command('leadtap')
    .description('New leads on tap: one polling endpoint for automation platforms that never loses a lead.')
    .version(VERSION, VERSION_FLAGS.join(', '), 'print the version')
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
  const isKnown =
    VERSION_FLAGS.includes(only) || Object.values(COMMANDS).some((group) => Object.hasOwn(group, only));
  for (const [heading, commands] of Object.entries(COMMANDS)) {
    program.commandsGroup(heading);
    for (const [name, load] of Object.entries(commands))
      if (!isKnown || name === only) (await load())(program, context);
  }
  return program;
}

async function report(error: unknown, context: CommandContext): Promise<number> {
  if (error instanceof ExitCode) return error.code;
  // Commander has printed its message. It also throws after help and version.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.done : EXIT_CODES.usage;
  // The reader of the output, such as `head`, has closed it. Not a success: an import may be incomplete.
  if (systemCode(error) === 'EPIPE') return EXIT_CODES.outputClosed;
  const failure = error instanceof Failure ? error : (await import('./failure.ts')).asFailure(error);
  const isFailure = failure instanceof Failure;
  const message = `${isFailure ? '' : 'unexpected error: '}${reasonOf(failure)}`;
  const lines = isFailure ? failure.fix : await explainBug(error, context);
  await writeLine(
    context.stderr,
    [`leadtap: ${message}`, ...lines.map((line) => `  ${withInvocation(line, context)}`)].join('\n'),
  );
  return isFailure ? failure.exitCode : EXIT_CODES.bug;
}

/** The stack is for operators who debug. */
async function explainBug(error: unknown, context: CommandContext): Promise<string[]> {
  const { loadConfig } = await import('./context.ts');
  const logLevel = await loadConfig(context).then(
    (config) => config.logLevel,
    () => undefined,
  );
  if ((logLevel === 'debug' || logLevel === 'trace') && error instanceof Error)
    return (error.stack ?? '').split('\n');
  return ['This is a bug. Run the command again with LEADTAP_LOG_LEVEL=debug, and report what it shows.'];
}
