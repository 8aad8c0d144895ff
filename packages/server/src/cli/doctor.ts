import type { Command } from 'commander';
import type { CommandContext } from './context.ts';
import { CONFIGURATION, examine } from './doctor/examine.ts';
import type { Finding } from './doctor/finding.ts';
import { EXIT_CODES, ExitCode } from './exit-code.ts';
import { hasColours, type Style, styled, writeJson, writeLine } from './output.ts';

const HELP = `
It only revalidations: nothing is created, migrated or changed. It may be run while the service runs.
Exit code 1 when anything keeps Leadtap from working, 2 when that is the configuration.

Examples:
  leadtap doctor
  leadtap doctor --json | jq '.checks[] | select(.state != "ok")'`;

const MARKS: Record<Finding['state'], { readonly mark: string; readonly style: Style }> = {
  ok: { mark: '✓', style: 'green' },
  warning: { mark: '!', style: 'yellow' },
  failed: { mark: '✗', style: 'red' },
};

export function registerDoctor(program: Command, context: CommandContext): void {
  program
    .command('doctor')
    .summary('find out what is wrong')
    .description('Check configuration, database, schema, key, clock and port, and say what to fix.')
    .option('--json', 'print { ok, checks: [{ check, state, detail, fix }] }')
    .addHelpText('after', HELP)
    .action(({ json }: { json?: true }) => runDoctor(context, json === true));
}

async function runDoctor(context: CommandContext, json: boolean): Promise<void> {
  const findings: Finding[] = [];
  for await (const finding of examine(context, process.versions.node)) {
    findings.push(finding);
    if (!json) await writeLine(context.stdout, format(finding, context));
  }
  const isWell = findings.every(({ state }) => state !== 'failed');
  if (json) await writeJson(context.stdout, { ok: isWell, checks: findings });
  if (isWell) return;
  const isConfiguration = findings.some(({ check, state }) => check === CONFIGURATION && state === 'failed');
  throw new ExitCode(isConfiguration ? EXIT_CODES.usage : EXIT_CODES.failed);
}

function format({ check, state, detail, fix }: Finding, { stdout, env }: CommandContext): string {
  const { mark, style } = MARKS[state];
  const shown = hasColours(stdout, env) ? styled(style, mark) : mark;
  return [`${shown} ${check}: ${detail}`, ...fix.map((line) => `    ${line}`)].join('\n');
}
