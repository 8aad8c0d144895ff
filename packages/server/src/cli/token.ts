import type { Command } from 'commander';
import { toIso } from '../clock.ts';
import type { ListedToken } from '../store/store.ts';
import type { CommandContext } from './context.ts';
import { Failure } from './failure.ts';
import { findUser } from './find-user.ts';
import { Table, writeJson, writeLine } from './output.ts';
import { registerTokenIssue } from './token/issue.ts';
import type { WithStore } from './with-store.ts';

const LIST_HELP = `
The tokens themselves are not stored and cannot be shown.

Example:
  leadtap token list --user ada`;

const REVOKE_HELP = `
It stops working at once, on every instance. With --force the id may be the \`jti\` of a token that your identity
provider made.

Example:
  leadtap token revoke 5b1f0c5e-0d0a-4f7e-9f0c-3f6a1be7d4aa`;

export function registerToken(program: Command, context: CommandContext, withStore: WithStore): void {
  const token = program
    .command('token')
    .summary('the tokens that users poll with')
    .description('The tokens that users poll with.');
  registerTokenIssue(token, context, withStore);
  token
    .command('list')
    .summary('list the tokens of a user')
    .description('List the tokens that were issued for a user, with their state.')
    .requiredOption('--user <id>', 'the id of the user')
    .option('--json', 'print an array of tokens')
    .addHelpText('after', LIST_HELP)
    .action((options: { user: string; json?: true }) => listTokens(options, context, withStore));
  token
    .command('revoke')
    .summary('withdraw a token')
    .description('Withdraw a token.')
    .argument('<token-id>', 'the id of the token; `leadtap token list` shows it')
    .option('--force', 'also an id that was not issued here')
    .addHelpText('after', REVOKE_HELP)
    .action((id: string, { force }: { force?: true }) => revoke(id, force === true, context, withStore));
}

async function listTokens(
  { user: userId, json }: { user: string; json?: true },
  { stdout, stderr, clock }: CommandContext,
  withStore: WithStore,
): Promise<void> {
  const tokens = await withStore(async (store) => {
    const found = await store.listTokens(userId);
    // Tokens outlive their user, so the user is asked for only when there are none.
    if (found.length === 0) await findUser(store, userId);
    return found;
  });
  const now = clock();
  if (json)
    return writeJson(
      stdout,
      tokens.map((token) => toJson(token, now)),
    );
  if (tokens.length === 0) return writeLine(stderr, `User ${userId} has no tokens yet.`);
  await new Table(stdout, ['ID', 'NAME', 'ISSUED', 'EXPIRES', 'STATE']).add(
    tokens.map((token) => [
      token.id,
      token.name,
      toIso(token.issuedAt),
      toIso(token.expiresAt),
      stateOf(token, now),
    ]),
  );
}

function stateOf({ revokedAt, expiresAt }: ListedToken, now: number): 'active' | 'expired' | 'revoked' {
  if (revokedAt !== null) return 'revoked';
  return expiresAt <= now ? 'expired' : 'active';
}

const toJson = (token: ListedToken, now: number) => ({
  tokenId: token.id,
  userId: token.userId,
  name: token.name,
  issuedAt: toIso(token.issuedAt),
  expiresAt: toIso(token.expiresAt),
  revokedAt: token.revokedAt === null ? null : toIso(token.revokedAt),
  state: stateOf(token, now),
});

async function revoke(
  tokenId: string,
  force: boolean,
  { stdout }: CommandContext,
  withStore: WithStore,
): Promise<void> {
  const isNew = await withStore(async (store) => {
    if (!force && !(await store.findToken(tokenId))) throw unknownToken(tokenId);
    return store.revokeToken(tokenId);
  });
  await writeLine(stdout, isNew ? `Token ${tokenId} was revoked.` : `Token ${tokenId} was revoked before.`);
}

/** A whole token is a secret that people paste by mistake: it is not shown again. */
function unknownToken(tokenId: string): Failure {
  if (/^[\w-]+\.[\w-]+\.[\w-]*$/.test(tokenId))
    return new Failure(
      'bad-input',
      'that is a token, not the id of one',
      '`leadtap token list --user ID` shows the ids.',
    );
  return new Failure(
    'not-found',
    `no token with the id ${tokenId} was issued here`,
    '`leadtap token list --user ID` shows the ids. For a token of your identity provider add --force.',
  );
}
