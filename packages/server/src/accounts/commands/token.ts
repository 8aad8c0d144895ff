import { randomUUID } from 'node:crypto';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { findUser, noSuchUser, revokeAll } from '../../cli/company.ts';
import { type CommandContext, withStore } from '../../cli/context.ts';
import { Failure } from '../../cli/failure.ts';
import { withInvocation } from '../../cli/invocation.ts';
import { TABLE_HELP, Table, writeJson, writeJsonArray, writeLine } from '../../cli/output.ts';
import { completeId, isShortId, SHORT_IDS_HELP } from '../../cli/short-ids.ts';
import { systemClock, toDurationMs, toIso, toIsoOrNull } from '../../clock.ts';
import type { Config } from '../../config.ts';
import { consumerPages } from '../../consumers/states.ts';
import { type Consumer, positionOf } from '../../consumers/store.ts';
import { parseTimeZone } from '../../import/command/csv-options.ts';
import { columnProblem } from '../../import/csv-header.ts';
import { LEAD_SOURCES, type LeadSource } from '../../intake/sources.ts';
import { mayPoll } from '../../leads/access.ts';
import type { Store } from '../../store/store.ts';
import { issueToken } from '../own-tokens.ts';
import type { User } from '../records.ts';
import { loadSigningKeys } from '../signing-keys.ts';
import type { ListedToken } from '../store.ts';
import { DEFAULT_TOKEN_SCOPES, formatTokenScopes, TOKEN_SCOPES, type TokenScope } from '../token-scopes.ts';
import { MAX_TOKEN_LENGTH } from '../tokens.ts';
import { userPages } from './user.ts';

const ISSUE_HELP = `
The command prints only the token on standard output. The token is not stored and cannot be shown again. Use one token
for each purpose, so that you can revoke it alone.

A scope says what the token may do with the rights of its user: leads:read polls new leads, leads:write sends leads
to POST {base_url}/leads. Without --scope, the token has leads:read. Give --scope twice for a token with both.

With --source, webhooks of that service can be sent with the token as they are: its answers become the fields that
their labels mean, or custom fields. --map names the field of a label that does not say it. \`form\` is any form whose
fields have names of their own. Such a token has the scope leads:write.

Examples:
  leadtap token issue --user ada
  leadtap token issue --user ada --scope leads:write --name "web form"
  leadtap token issue --user ada --name "Zapier, sales team" --expires-in 1y
  leadtap token issue --user ada --name Tally --source tally --map "Your roof=customFields.roof"
  leadtap token issue --all-users --json > tokens.json`;

const LIST_HELP = `
The tokens themselves are not stored and cannot be shown. POSITION is the createdAt up to which a token has got or
confirmed leads. \`leadtap consumers\` has more. STATE is active, revoked, expired or key-removed: the key that signed
the token is no longer one of the signing keys.
${SHORT_IDS_HELP}
${TABLE_HELP}

Example:
  leadtap token list --user ada`;

const REVOKE_HELP = `
The token stops working at once, on every instance. The first 8 characters of an id suffice if no other token has
them. With --force, the id may be the \`jti\` of a token of your identity provider.

Examples:
  leadtap token revoke 5b1f0c5e-0d0a-4f7e-9f0c-3f6a1be7d4aa
  leadtap token revoke --user ada`;

interface RevokeOptions {
  readonly user?: string;
  readonly force?: true;
}

interface IssueOptions {
  readonly user?: string;
  readonly allUsers?: true;
  readonly name?: string;
  readonly expiresIn: number;
  readonly scope?: readonly TokenScope[];
  readonly source?: LeadSource;
  readonly map?: AnswerMap;
  readonly timeZone?: string;
  readonly force?: true;
  readonly json?: true;
}

export function registerToken(program: Command, context: CommandContext): void {
  const token = program.command('token').description('manage the tokens that users poll with');
  token
    .command('issue')
    .description('create a token for a user')
    .option('--user <id>', 'id of the user')
    .option('--all-users', 'create one token for every user; needs --json')
    .option('--name <name>', 'what the token is for')
    .addOption(
      new Option('--expires-in <time>', 'how long the token is valid, from 1m to 10y: 30m, 12h, 90d')
        .argParser(parseLifetime)
        .default(parseLifetime('90d'), '90d'),
    )
    .addOption(
      new Option(
        '--scope <scope>',
        `what the token may do: ${TOKEN_SCOPES.join(' or ')}; can be given several times (default: ${formatTokenScopes(DEFAULT_TOKEN_SCOPES)})`,
      ).argParser(parseScope),
    )
    .addOption(
      new Option('--source <service>', 'the service whose webhooks are sent with the token').choices(
        LEAD_SOURCES,
      ),
    )
    .addOption(
      new Option(
        '--map <answer=field>',
        'with --source: the field of an answer, by its label; can be given several times',
      ).argParser(collectAnswer),
    )
    .option(
      '--time-zone <name>',
      'of times without an offset in leads that are sent with the token: Europe/Paris',
      parseTimeZone,
    )
    .option('--force', 'also for a user who does not exist (yet)')
    .option('--json', 'print { userId, tokenId, token, expiresAt, scopes }')
    .addHelpText('after', ISSUE_HELP)
    .action((options: IssueOptions) => issueTokens(options, context));
  token
    .command('list')
    .description('list the tokens of a user, with their state')
    .requiredOption('--user <id>', 'id of the user')
    .option('--json', 'print an array of tokens')
    .addHelpText('after', LIST_HELP)
    .action((options: { user: string; json?: true }) => listTokens(options, context));
  token
    .command('revoke')
    .description('revoke a token, or all tokens of a user')
    .argument('[token-id]', 'id of the token; `leadtap token list` shows it')
    .option('--user <id>', 'revoke all tokens that were issued here for this user')
    .option('--force', 'also an id that was not issued here')
    .addHelpText('after', REVOKE_HELP)
    .action((id: string | undefined, { user, force }: RevokeOptions) => {
      if (id !== undefined && user === undefined) return revokeToken(id, force === true, context);
      if (id === undefined && user !== undefined) return revokeTokensOfUser(user, context);
      throw new Failure('usage', 'give either the id of a token or --user ID');
    });
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const MAX_LIFETIME_MS = 10 * 365 * DAY_MS;
const MAX_NAME_LENGTH = 200;

/** `30m`, `12h`, `90d`, `1y`: from one minute to ten years. */
export function parseLifetime(text: string): number {
  const lifetimeMs = toDurationMs(text) ?? 0;
  if (lifetimeMs >= MINUTE_MS && lifetimeMs <= MAX_LIFETIME_MS) return lifetimeMs;
  throw new InvalidArgumentError('Write 30m, 12h, 90d or 1y: from one minute to ten years.');
}

/** Collects the values of a repeated `--scope`, in the order of the contract. */
export function parseScope(text: string, previous: readonly TokenScope[] = []): readonly TokenScope[] {
  if (!TOKEN_SCOPES.some((scope) => scope === text))
    throw new InvalidArgumentError(`Write ${TOKEN_SCOPES.join(' or ')}.`);
  return TOKEN_SCOPES.filter((scope) => scope === text || previous.includes(scope));
}

type AnswerMap = readonly (readonly [answer: string, field: string])[];

/** A label may contain an equals sign; a field does not. */
function collectAnswer(text: string, collected: AnswerMap = []): AnswerMap {
  const at = text.lastIndexOf('=');
  if (at < 1) throw new InvalidArgumentError('Write ANSWER=FIELD, such as "Your e-mail=email".');
  return [...collected, [text.slice(0, at), text.slice(at + 1).trim()]];
}

/** A new token as it is printed; the store has its `IssuedToken`. */
interface PrintedToken {
  readonly userId: string;
  readonly tokenId: string;
  readonly token: string;
  readonly expiresAt: string;
  readonly scopes: readonly TokenScope[];
}

type IssueFor = (userIds: readonly string[]) => Promise<PrintedToken[]>;

async function issueTokens(options: IssueOptions, context: CommandContext): Promise<void> {
  checkIssueOptions(options);
  const { user: userId, expiresIn, name = null, source, timeZone, force, json } = options;
  const scopes = options.scope ?? (source && (['leads:write'] as const));
  const { clock, signal, stdout, stderr } = context;
  await withStore(context, async (store, config) => {
    const keys = await loadSigningKeys(config.signingKey, { create: false });
    const issueFor: IssueFor = async (userIds) => {
      // Times in a token are whole seconds.
      const issuedAt = Math.floor(clock() / 1000) * 1000;
      const expiresAt = issuedAt + expiresIn;
      const grants = userIds.map((userId) => ({
        userId,
        tokenId: randomUUID(),
        issuedAt,
        expiresAt,
        ...(scopes && { scopes }),
        ...(source && { source: { name: source, map: Object.fromEntries(options.map ?? []) } }),
        ...(timeZone !== undefined && { timeZone }),
      }));
      const issued = await Promise.all(
        grants.map(async (grant) => ({
          userId: grant.userId,
          tokenId: grant.tokenId,
          token: requireUsableLength(await issueToken(keys, grant)),
          expiresAt: toIso(expiresAt),
          scopes: grant.scopes ?? DEFAULT_TOKEN_SCOPES,
        })),
      );
      // Recorded before they are printed, so that each one can be revoked.
      await store.recordTokens(
        grants.map(({ tokenId, source: _source, timeZone: _timeZone, ...grant }) => ({
          id: tokenId,
          keyId: keys[0].id,
          name,
          scopes: DEFAULT_TOKEN_SCOPES,
          ...grant,
        })),
      );
      return issued;
    };
    if (userId === undefined) return writeJsonArray(stdout, issuePages(userPages(store, signal), issueFor));
    const user = await store.findUser(userId);
    if (!user && !force)
      throw await noSuchUser(store, userId, 'To create the token before the user, add --force.');
    for (const issued of await issueFor([userId])) {
      await (json ? writeJson(stdout, issued) : writeLine(stdout, issued.token));
      if (stderr.isTTY) await writeLine(stderr, withInvocation(describeIssued(issued, user), context));
    }
  });
}

/** Web servers and Leadtap refuse longer headers. */
function requireUsableLength(token: string): string {
  if (token.length <= MAX_TOKEN_LENGTH) return token;
  throw new Failure(
    'usage',
    'the token would be too long, because of its map',
    'Use fewer or shorter --map.',
  );
}

async function* issuePages(
  pages: AsyncIterable<readonly User[]>,
  issueFor: IssueFor,
): AsyncGenerator<PrintedToken[]> {
  for await (const users of pages) yield issueFor(users.map(({ id }) => id));
}

function checkIssueOptions(options: IssueOptions): void {
  const { user, allUsers, json, force, name } = options;
  checkSource(options);
  if ((user === undefined) === (allUsers === undefined))
    throw new Failure('usage', 'give either --user ID or --all-users', '`leadtap user list` shows the ids.');
  if (allUsers && !json) throw new Failure('usage', '--all-users needs --json', 'Add --json.');
  if (allUsers && force) throw new Failure('usage', '--force works only with --user', 'Remove --force.');
  if (name !== undefined && (name.trim() === '' || name.length > MAX_NAME_LENGTH))
    throw new Failure(
      'usage',
      `--name must have 1 to ${MAX_NAME_LENGTH} characters`,
      'Shorten the name, or remove --name.',
    );
}

/** A field map in a token cannot be changed, so its errors are found before the token exists. */
function checkSource({ source, map = [], scope, timeZone }: IssueOptions): void {
  if (timeZone !== undefined && source === undefined && !scope?.includes('leads:write'))
    throw new Failure('usage', '--time-zone needs the scope leads:write', 'Add --scope leads:write.');
  if (source === undefined && map.length > 0)
    throw new Failure('usage', '--map needs --source', `Add --source: ${LEAD_SOURCES.join(', ')}.`);
  if (source !== undefined && scope && !scope.includes('leads:write'))
    throw new Failure('usage', '--source needs the scope leads:write', 'Remove --scope.');
  for (const [answer, field] of map) {
    const problem = columnProblem(field, { historical: false, clock: systemClock });
    if (problem !== undefined) throw new Failure('usage', `--map "${answer}=${field}": ${field} ${problem}`);
  }
}

function describeIssued(issued: PrintedToken, user: User | undefined): string {
  const { userId, tokenId, expiresAt, scopes } = issued;
  const lines = [
    `This is a token of user ${userId}. It expires at ${expiresAt}. Its scope is ${formatTokenScopes(scopes)}.`,
  ];
  if (!user) lines.push(`User ${userId} does not exist. Until you create it, requests get the response 404.`);
  else if (!mayPoll(user) && scopes.includes('leads:read'))
    lines.push(
      `The plan of ${userId} is ${user.plan}, so polls get the response 403. To change the plan, run:`,
      `  leadtap user set ${userId} --plan PROFESSIONAL`,
    );
  return [...lines, 'To revoke the token, run:', `  leadtap token revoke ${tokenId}`].join('\n');
}

async function listTokens(
  { user: userId, json }: { user: string; json?: true },
  context: CommandContext,
): Promise<void> {
  const { stdout, stderr, clock } = context;
  const now = clock();
  const tokens = await withStore(context, async (store, config) => {
    const found = await store.listTokens(userId);
    // Tokens stay after their user was removed, so the user is needed only if there are none.
    if (found.length === 0) await findUser(store, userId);
    const consumers = new Map<string | null, Consumer>();
    // Positions that are no longer written would be wrong.
    if (config.consumers)
      for await (const page of consumerPages(store, { userId, maxPendingLeads: 1, now }))
        for (const consumer of page) consumers.set(consumer.tokenId, consumer);
    const keyIds = await readKeyIds(config);
    return found.map((token) => toJson(token, consumers.get(token.id), stateOf(token, keyIds, now)));
  });
  if (json) return writeJson(stdout, tokens);
  if (tokens.length === 0) return writeLine(stderr, `User ${userId} has no tokens yet.`);
  const headings = ['ID', 'NAME', 'SCOPE', 'ISSUED', 'EXPIRES', 'LAST POLL', 'POSITION', 'STATE'];
  const shortened = ['NAME', 'EXPIRES', 'SCOPE', 'LAST POLL'];
  const options = { ids: ['ID'], shortened, optional: ['ISSUED', 'POSITION'] };
  await new Table(stdout, headings, options).add(
    tokens.map((token) => [
      ...[token.tokenId, token.name, formatTokenScopes(token.scopes), token.issuedAt, token.expiresAt],
      ...[token.lastPollAt, token.position, token.state],
    ]),
  );
}

type TokenState = 'active' | 'revoked' | 'expired' | 'key-removed';

/** Undefined if this machine does not have the signing keys. */
const readKeyIds = async ({ signingKey }: Config): Promise<readonly string[] | undefined> =>
  loadSigningKeys(signingKey, { create: false }).then(
    (keys) => keys.map(({ id }) => id),
    () => undefined,
  );

function stateOf(
  { revokedAt, expiresAt, keyId }: ListedToken,
  keyIds: readonly string[] | undefined,
  now: number,
): TokenState {
  if (revokedAt !== null) return 'revoked';
  if (expiresAt <= now) return 'expired';
  return keyId !== undefined && keyIds?.includes(keyId) === false ? 'key-removed' : 'active';
}

const toJson = (
  { id, userId, name, scopes, issuedAt, expiresAt, revokedAt }: ListedToken,
  consumer: Consumer | undefined,
  state: TokenState,
) => ({
  tokenId: id,
  userId,
  name,
  scopes,
  issuedAt: toIso(issuedAt),
  expiresAt: toIso(expiresAt),
  revokedAt: toIsoOrNull(revokedAt),
  state,
  lastPollAt: toIsoOrNull(consumer?.lastPollAt),
  lastStatus: consumer?.lastStatus ?? null,
  confirmedThrough: toIsoOrNull(consumer?.confirmedThrough),
  deliveredThrough: toIsoOrNull(consumer?.deliveredThrough),
  position: toIsoOrNull(consumer && positionOf(consumer)),
});

async function revokeToken(given: string, force: boolean, context: CommandContext): Promise<void> {
  const { tokenId, isNew, waiting } = await withStore(context, async (store, config) => {
    const found =
      (await store.findToken(given))?.id ??
      (await completeId(given, (after, limit) => store.listTokenIds(after, limit)));
    // The short id of a token that was not issued here would revoke nothing.
    if (found === undefined && (!force || isShortId(given))) throw unknownToken(given);
    const tokenId = found ?? given;
    const userId = (await store.findToken(tokenId))?.userId;
    const waiting = await describeWaitingLeads(store, config, context, userId, [tokenId]);
    return { tokenId, isNew: await store.revokeToken(tokenId), waiting };
  });
  const message = isNew ? `Token ${tokenId} was revoked.` : `Token ${tokenId} was already revoked.`;
  await writeLine(context.stdout, message);
  if (isNew) for (const line of waiting) await writeLine(context.stderr, line);
}

const MAX_PENDING_LEADS = 1000;

/** A new token begins without a position: what waited for the old one would be lost. */
async function describeWaitingLeads(
  store: Store,
  config: Config,
  { clock }: CommandContext,
  userId: string | undefined,
  tokenIds: readonly string[],
): Promise<string[]> {
  const lines: string[] = [];
  if (!config.consumers || userId === undefined) return lines;
  const query = { userId, maxPendingLeads: MAX_PENDING_LEADS, now: clock() };
  for await (const page of consumerPages(store, query))
    for (const consumer of page) {
      const { tokenId, pendingLeads: count } = consumer;
      const position = positionOf(consumer);
      if (tokenId === null || !tokenIds.includes(tokenId) || count === 0 || position === null) continue;
      const leads =
        count === 1 ? '1 lead was' : `${count}${count < MAX_PENDING_LEADS ? '' : ' or more'} leads were`;
      lines.push(
        `${leads} not picked up with token ${tokenId}. Start the new automation with since=${toIso(position)}`,
      );
    }
  return lines;
}

async function revokeTokensOfUser(userId: string, context: CommandContext): Promise<void> {
  const { count, waiting } = await withStore(context, async (store, config) => {
    const tokens = await store.listTokens(userId);
    // Tokens stay after their user was removed, so the user is needed only if there are none.
    if (tokens.length === 0) await findUser(store, userId);
    const valid = tokens.filter(({ revokedAt }) => revokedAt === null).map(({ id }) => id);
    const waiting = await describeWaitingLeads(store, config, context, userId, valid);
    return { count: await revokeAll(store, tokens), waiting };
  });
  await writeLine(context.stdout, `Tokens of user ${userId} that were revoked: ${count}.`);
  for (const line of waiting) await writeLine(context.stderr, line);
}

/** People paste a whole token by mistake. It is a secret, so the message does not show it. */
function unknownToken(tokenId: string): Failure {
  const fix = '`leadtap token list --user ID` shows the ids.';
  if (/^[\w-]+\.[\w-]+\.[\w-]*$/.test(tokenId))
    return new Failure('bad-input', 'this is a token, not the id of a token', fix);
  return new Failure(
    'not-found',
    `no token with the id ${tokenId} was issued here`,
    `${fix} For a token of your identity provider, give its whole id and add --force.`,
  );
}
