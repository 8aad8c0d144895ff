import { Command } from 'commander';
import { VERSION } from '../version.ts';
import type { CommandContext } from './context.ts';
import { registerDemo } from './demo.ts';
import { registerDoctor } from './doctor.ts';
import { registerLeads } from './leads.ts';
import { registerMigrate } from './migrate.ts';
import { registerOrg } from './org.ts';
import { hasColours, styled, widthOf } from './output.ts';
import { registerServe } from './serve.ts';
import { registerToken } from './token.ts';
import { registerUser } from './user.ts';
import { makeWithStore } from './with-store.ts';

const FIRST_STEPS = `
First steps:
  leadtap demo                             see it work with made-up leads
  leadtap org apply organisation.json      your companies and users
  leadtap token issue --user ada           a token to paste into an automation platform
  leadtap leads import leads.csv           your leads
  leadtap serve                            hand them out

Settings come from LEADTAP_* variables and a .env file; \`leadtap doctor\` checks them.`;

/** All commands. Settings made here are inherited by every command that is added below. */
export function buildProgram(context: CommandContext): Command {
  const program = new Command('leadtap')
    .description('New leads on tap: one polling endpoint for automation platforms that never loses a lead.')
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'explain this command')
    .helpCommand('help [command]', 'explain a command')
    .addHelpText('after', FIRST_STEPS)
    .exitOverride()
    .showSuggestionAfterError()
    .showHelpAfterError('  Add --help to see how the command is used.');
  connectStreams(program, context);

  const withStore = makeWithStore(context, { create: false });
  program.commandsGroup('Run the service:');
  registerServe(program, context);
  registerDemo(program, context);
  program.commandsGroup('Say who may poll, and feed it:');
  registerOrg(program, context, makeWithStore(context, { create: true }));
  registerUser(program, context, withStore);
  registerToken(program, context, withStore);
  registerLeads(program, context, withStore);
  program.commandsGroup('Look after it:');
  registerMigrate(program, context);
  registerDoctor(program, context);
  return program;
}

function connectStreams(program: Command, { stdout, stderr, env }: CommandContext): void {
  program.configureHelp({ styleTitle: (title) => styled('bold', title) }).configureOutput({
    writeOut: (text) => stdout.write(text),
    writeErr: (text) => stderr.write(text),
    outputError: (text, print) => print(text.replace(/^error: /, 'leadtap: ')),
    getOutHelpWidth: () => widthOf(stdout),
    getErrHelpWidth: () => widthOf(stderr),
    getOutHasColors: () => hasColours(stdout, env),
    getErrHasColors: () => hasColours(stderr, env),
  });
}
