import { spawn } from 'node:child_process';
import process from 'node:process';
import type { Command } from 'commander';
import { DEFAULT_TOKEN_SCOPES, TOKEN_SCOPES } from '../accounts/token-scopes.ts';
import type { Config } from '../config.ts';
import { issue, issuerOf } from './accounts/issued-tokens.ts';
import { findUser } from './accounts/organisation.ts';
import { addCommand } from './command.ts';
import { type CommandContext, knownServiceUrl, withStore } from './context.ts';
import { Failure } from './exit.ts';
import { writeJson, writeLine } from './output.ts';
import { warnAboutService } from './running-service.ts';

const TOKEN_MS = 3_600_000;

export function registerOpen(program: Command, context: CommandContext): void {
  addCommand(program, context, {
    name: 'open',
    description: 'print a link that opens the console, and open it in the browser',
    options: {
      '--user <id>': { text: 'id of the user whose leads the console shows', isRequired: true },
      '--json': 'print { url, tokenId, expiresAt }, and open no browser',
    },
    help: `
The link has a token that is valid for an hour: do not share it. The console asks for another one then. Unless
LEADTAP_INTAKE is off, the token may also send test leads. A browser is opened only at a terminal.

The address is LEADTAP_PUBLIC_URL, or the one of LEADTAP_HOST and LEADTAP_PORT on this machine.`,
    examples: ['leadtap open --user ada'],
    run: open,
  });
}

interface OpenFlags {
  readonly user: string;
  readonly json?: true;
}

const open = (context: CommandContext, { user: userId, json }: OpenFlags): Promise<void> =>
  withStore(context, async (store, config) => {
    const { stdout, env } = context;
    const address = consoleAddress(config);
    await findUser(store, userId);
    const issuer = await issuerOf(store, config, context);
    const scopes = config.intake ? TOKEN_SCOPES : DEFAULT_TOKEN_SCOPES;
    const request = { userId, name: 'console', lifetimeMs: TOKEN_MS, scopes };
    const { token, tokenId, expiresAt } = await issue(issuer, request);
    // Browsers do not send the part after `#`, and the console removes it from the address.
    const url = `${address}#token=${token}`;
    if (json) return writeJson(stdout, { url, tokenId, expiresAt });
    await writeLine(stdout, url);
    await warnAboutService(context, config);
    if (stdout.isTTY) openBrowser(url, env);
  });

function consoleAddress(config: Config): string {
  if (!config.console)
    throw new Failure(
      'unavailable',
      'the console is switched off',
      'Remove LEADTAP_CONSOLE=off, and start the service again.',
    );
  return `${knownServiceUrl(config)}/`;
}

const BROWSERS: Partial<Record<NodeJS.Platform, string>> = { darwin: 'open', win32: 'explorer' };

/** If it cannot be opened, the person has the link. Without a display, xdg-open would start a browser in the terminal. */
function openBrowser(url: string, env: CommandContext['env']): void {
  const hasDisplay = Boolean(env['DISPLAY'] || env['WAYLAND_DISPLAY']);
  const command = BROWSERS[process.platform] ?? (hasDisplay ? 'xdg-open' : undefined);
  if (command === undefined) return;
  const browser = spawn(command, [url], { env, stdio: 'ignore', detached: true });
  browser.once('error', () => undefined);
  browser.unref();
}
