import { MAX_HOOK_NAME_LENGTH } from '@leadtap/contract';
import type { Command } from 'commander';
import { findTextProblem } from '../../accounts/organisation-fields.ts';
import { hostOfHook } from '../../hooks/store.ts';
import { addCommand } from '../command.ts';
import { type CommandContext, withStore } from '../context.ts';
import { Failure } from '../exit.ts';
import { writeLine } from '../output.ts';
import { findHook } from './find.ts';

export function registerRename(hooks: Command, context: CommandContext): void {
  addCommand(hooks, context, {
    name: 'rename',
    description: 'change the name of a webhook subscription',
    arguments: {
      '<id>': 'id of the subscription; `leadtap hooks list` shows it',
      '<name>': 'what people call it',
    },
    help: `
The console, the status page, alerts and \`leadtap connections\` show the name.`,
    examples: ['leadtap hooks rename 8c1f0a62d94e4b7f9d3a5e60c27b1f48 "Slack, sales team"'],
    run: rename,
  });
}

const rename = (context: CommandContext, _options: object, id: string, name: string): Promise<void> =>
  withStore(context, async ({ hooks }) => {
    const newName = checkName('the name', name);
    const hook = await findHook(hooks, id);
    await hooks.rename(hook.id, newName);
    await writeLine(context.stderr, `The subscription of ${hostOfHook(hook)} is now called ${newName}.`);
  });

/** As the endpoint checks it. */
export function checkName(label: string, text: string): string {
  const name = text.trim();
  const problem = findTextProblem(name, MAX_HOOK_NAME_LENGTH);
  if (problem !== undefined) throw new Failure('usage', `${label} ${problem}`);
  return name;
}
