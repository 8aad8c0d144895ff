import { randomUUID } from 'node:crypto';
import { type Command, Option } from 'commander';
import { issueToken } from '../../accounts/own-tokens.ts';
import { loadSigningKeys, type SigningKeys } from '../../accounts/signing-keys.ts';
import { type Clock, toIso } from '../../clock.ts';
import { mayPoll } from '../../leads/access.ts';
import type { User } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import type { CommandContext } from '../context.ts';
import { Failure } from '../failure.ts';
import { writeJson, writeJsonArray, writeLine } from '../output.ts';
import { userPages } from '../user.ts';
import type { WithStore } from '../with-store.ts';
import { parseLifetime } from './lifetime.ts';

const HELP = `
The token is printed alone on standard output and is not stored: keep it, it cannot be shown again.

Examples:
  leadtap token issue --user ada
  leadtap token issue --user ada --name "Zapier, sales team" --expires-in 1y
  leadtap token issue --all-users --json > tokens.json`;

const LONGEST_NAME = 200;

interface IssueOptions {
  readonly user?: string;
  readonly allUsers?: true;
  readonly name?: string;
  readonly expiresIn: number;
  readonly force?: true;
  readonly json?: true;
}

export function registerTokenIssue(token: Command, context: CommandContext, withStore: WithStore): void {
  token
    .command('issue')
    .summary('make a token for a user')
    .description('Make a token that a user can poll with.')
    .option('--user <id>', 'the id of the user')
    .option('--all-users', 'one for every user; needs --json')
    .option('--name <name>', 'what the token is for')
    .addOption(
      new Option('--expires-in <time>', 'how long it works: 30m, 12h, 90d, 1y')
        .argParser(parseLifetime)
        .default(parseLifetime('90d'), '90d'),
    )
    .option('--force', 'also for a user who does not exist (yet)')
    .option('--json', 'print { userId, tokenId, token, expiresAt }')
    .addHelpText('after', HELP)
    .action(async (options: IssueOptions) => {
      refuseContradictions(options);
      await withStore(async (store, config) => {
        const keys = await loadSigningKeys(config.signingKey, { create: false });
        const issuer = new Issuer(store, keys, options, context.clock);
        await (options.user === undefined
          ? writeJsonArray(context.stdout, issueForAll(store, issuer, context.signal))
          : issueForOne(options.user, options, store, issuer, context));
      });
    });
}

function refuseContradictions({ user, allUsers, json, force, name }: IssueOptions): void {
  if ((user === undefined) === (allUsers === undefined))
    throw new Failure('usage', 'give either --user ID or --all-users', '`leadtap user list` shows the ids.');
  if (allUsers && !json) throw new Failure('usage', '--all-users needs --json', 'Add --json.');
  if (allUsers && force) throw new Failure('usage', '--force goes with --user only', 'Leave --force out.');
  if (name !== undefined && (name.trim() === '' || name.length > LONGEST_NAME))
    throw new Failure(
      'usage',
      `--name must have 1 to ${LONGEST_NAME} characters`,
      'Shorten it or leave it out.',
    );
}

interface Issued {
  readonly userId: string;
  readonly tokenId: string;
  readonly token: string;
  readonly expiresAt: string;
}

/** Makes tokens, and records them before anyone sees them, so that each can be revoked. */
class Issuer {
  readonly #store: Store;
  readonly #keys: SigningKeys;
  readonly #options: IssueOptions;
  readonly #clock: Clock;

  constructor(store: Store, keys: SigningKeys, options: IssueOptions, clock: Clock) {
    this.#store = store;
    this.#keys = keys;
    this.#options = options;
    this.#clock = clock;
  }

  async issue(userIds: readonly string[]): Promise<Issued[]> {
    // A token tells times in seconds; what is recorded is what it tells.
    const issuedAt = Math.floor(this.#clock() / 1000) * 1000;
    const expiresAt = issuedAt + this.#options.expiresIn;
    const grants = userIds.map((userId) => ({ userId, tokenId: randomUUID(), issuedAt, expiresAt }));
    const tokens = await Promise.all(grants.map((grant) => issueToken(this.#keys, grant)));
    const name = this.#options.name ?? null;
    await this.#store.recordTokens(
      grants.map(({ userId, tokenId: id }) => ({ id, userId, name, issuedAt, expiresAt })),
    );
    return grants.map(({ userId, tokenId }, index) => ({
      userId,
      tokenId,
      token: tokens[index] ?? '',
      expiresAt: toIso(expiresAt),
    }));
  }
}

async function* issueForAll(store: Store, issuer: Issuer, signal: AbortSignal): AsyncGenerator<Issued[]> {
  for await (const users of userPages(store, signal)) yield issuer.issue(users.map(({ id }) => id));
}

async function issueForOne(
  userId: string,
  { force, json }: IssueOptions,
  store: Store,
  issuer: Issuer,
  { stdout, stderr }: CommandContext,
): Promise<void> {
  const user = await store.findUser(userId);
  if (!user && !force)
    throw new Failure(
      'not-found',
      `there is no user ${userId}`,
      '`leadtap user list` shows all. To make the token before the user, add --force.',
    );
  const [issued] = await issuer.issue([userId]);
  if (!issued) return;
  await (json ? writeJson(stdout, issued) : writeLine(stdout, issued.token));
  if (stderr.isTTY) await writeLine(stderr, hint(issued, user));
}

function hint({ userId, tokenId, expiresAt }: Issued, user: User | undefined): string {
  const lines = [`It is the token of user ${userId} until ${expiresAt}.`];
  if (!user) lines.push(`User ${userId} does not exist: polls are answered with 404 until it does.`);
  else if (!mayPoll(user))
    lines.push(
      `The plan of ${userId} is ${user.plan}: polls are answered with 403. To change that:`,
      `  leadtap user set ${userId} --plan PROFESSIONAL`,
    );
  return [...lines, 'To withdraw it:', `  leadtap token revoke ${tokenId}`].join('\n');
}
