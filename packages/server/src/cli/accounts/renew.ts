import type { Command } from 'commander';
import type { IssuedToken } from '../../accounts/records.ts';
import { formatTokenScopes, TOKEN_SCOPES } from '../../accounts/token-scopes.ts';
import { printable } from '../../lib/escape.ts';
import type { Store } from '../../store/store.ts';
import { addCommand } from '../command.ts';
import { type CommandContext, withStore } from '../context.ts';
import { Failure } from '../exit.ts';
import { writeHint, writeJson, writeLine } from '../output.ts';
import { issue, issuerOf, type PrintedToken, parseLifetime, unknownToken } from './issued-tokens.ts';

export function registerRenew(token: Command, context: CommandContext): void {
  addCommand(token, context, {
    name: 'renew',
    description: 'create a new token for the same connection',
    arguments: { '<name>': 'name of the connection or the token, or an id of one' },
    options: {
      '--user <id>': 'id of the user, if several have a token of this name',
      '--expires-in <time>': {
        text: 'how long the token is valid; default: as long as the old one',
        parse: parseLifetime,
      },
      '--json': 'print { userId, tokenId, token, expiresAt, scopes }',
    },
    help: `
Prints the new token, which has the scope, the source and the map of the old one. Paste it where the old one is: the
connection goes on where it was. An old token that polls ends when the new one is first used. One that sends leads works
until you revoke it, because it may be on several pages. Webhooks move to the new token at once. A new token that is never
used changes nothing.`,
    examples: ['leadtap token renew CRM', 'leadtap token renew "web form" --expires-in 1y'],
    run: renew,
  });
}

interface RenewOptions {
  readonly user?: string;
  readonly expiresIn?: number;
  readonly json?: true;
}

const renew = (context: CommandContext, options: RenewOptions, wanted: string): Promise<void> =>
  withStore(context, async (store, config) => {
    const { stdout, stderr } = context;
    const tokens = await findTokens(store, wanted, options.user);
    const [model] = tokens.slice(-1);
    if (!model) throw unknownToken(wanted);
    const issuer = await issuerOf(store, config, context);
    const { userId, settings } = model;
    const scopes = TOKEN_SCOPES.filter((scope) => model.scopes.includes(scope));
    const name = model.name ?? `key ${model.id.slice(0, 8)}`;
    const lifetimeMs = options.expiresIn ?? model.expiresAt - model.issuedAt;
    const oldIds = tokens.map(({ id }) => id);
    const issued = await issue(issuer, { ...settings, userId, scopes, name, lifetimeMs }, (token) =>
      store.renewTokens(oldIds, token),
    );
    await (options.json ? writeJson(stdout, issued) : writeLine(stdout, issued.token));
    if (stderr.isTTY) await writeHint(context, describe(name, issued, oldIds));
  });

/** All that are renewed as one: of one user, with the same rights. */
async function findTokens(store: Store, wanted: string, userId?: string): Promise<readonly IssuedToken[]> {
  const found = await store.findTokens(wanted);
  const tokens = userId === undefined ? found : found.filter((token) => token.userId === userId);
  const differ = (textOf: (token: IssuedToken) => string): boolean => new Set(tokens.map(textOf)).size > 1;
  const several = `several tokens are called "${printable(wanted)}"`;
  if (differ((token) => token.userId))
    throw new Failure('usage', `${several}, of different users`, 'Give --user.');
  if (differ(({ scopes, settings }) => JSON.stringify([scopes, settings])))
    throw new Failure(
      'usage',
      `${several}, with different rights`,
      'Give the id of one:',
      ...tokens.map(({ id, scopes }) => `${id}  ${scopes.join(' ')}`),
    );
  return tokens;
}

function describe(name: string, { scopes, expiresAt }: PrintedToken, oldIds: readonly string[]): string {
  const isSending = scopes.includes('leads:write');
  return [
    `This is a new token of ${printable(name)}. It expires at ${expiresAt}. Its scope is ${formatTokenScopes(scopes)}.`,
    isSending
      ? 'The old one works until you revoke it:'
      : 'The old one ends when the new one is first used for a poll.',
    ...(isSending ? oldIds.map((id) => `  leadtap token revoke ${id}`) : []),
  ].join('\n');
}
