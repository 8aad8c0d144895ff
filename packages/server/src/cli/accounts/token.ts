import { type Command, InvalidArgumentError } from 'commander';
import { findTextProblem } from '../../accounts/organisation-fields.ts';
import { LEAD_SOURCES, type LeadSource, type TokenScope, type User } from '../../accounts/records.ts';
import { loadSigningKeys } from '../../accounts/signing-keys.ts';
import type { ListedToken } from '../../accounts/store.ts';
import { DEFAULT_TOKEN_SCOPES, formatTokenScopes, TOKEN_SCOPES } from '../../accounts/token-scopes.ts';
import type { Config } from '../../config.ts';
import { mayPoll } from '../../leads/access.ts';
import { systemClock, toIso, toIsoOrNull } from '../../lib/clock.ts';
import { printable, quoteForShell } from '../../lib/escape.ts';
import type { Store } from '../../store/store.ts';
import { addCommand, parseTimeZone } from '../command.ts';
import { HANDLED_OPTION, type HandledFlag } from '../confirm.ts';
import { type CommandContext, withStore } from '../context.ts';
import { Failure } from '../exit.ts';
import { checkFields, collectPairs, type FieldMap } from '../field-map.ts';
import { printList, writeHint, writeJson, writeJsonArray, writeLine } from '../output.ts';
import {
  DAY_MS,
  issue,
  issueAll,
  issuerOf,
  type PrintedToken,
  parseLifetime,
  type TokenRequest,
  unknownToken,
} from './issued-tokens.ts';
import { findUser, noSuchUser, userPages } from './organisation.ts';
import { registerRenew } from './renew.ts';

export function registerToken(program: Command, context: CommandContext): void {
  const token = program.command('token').description('manage the tokens that users poll with');
  addCommand(token, context, {
    name: 'issue',
    description: 'create a token for a user',
    options: {
      '--user <id>': 'id of the user',
      '--all-users': 'create one token for every user; needs --json',
      '--name <name>': 'what the token is for',
      '--expires-in <time>': {
        text: 'how long the token is valid, from 1m to 10y: 30m, 12h, 90d',
        parse: parseLifetime,
        default: [90 * DAY_MS, '90d'],
      },
      '--scope <scope>': {
        text: `what the token may do: ${TOKEN_SCOPES.join(' or ')}; can be given several times (default: ${formatTokenScopes(DEFAULT_TOKEN_SCOPES)})`,
        parse: parseScope,
      },
      '--source <service>': {
        text: 'the service whose webhooks are sent with the token',
        choices: LEAD_SOURCES,
      },
      '--map <answer=field>': {
        text: 'with --source: the field of an answer, by its label; can be given several times',
        parse: collectPairs('Write ANSWER=FIELD, such as "Your e-mail=email".'),
      },
      '--time-zone <name>': {
        text: 'of times without an offset in leads that are sent with the token: Europe/Paris',
        parse: parseTimeZone,
      },
      '--force': 'also for a user who does not exist (yet)',
      '--json': 'print { userId, tokenId, token, expiresAt, scopes }',
    },
    help: `
The command prints only the token on standard output. The token is not stored and cannot be shown again. Use one token
for each purpose, so that you can revoke it alone.

A scope says what the token may do with the rights of its user: leads:read polls new leads, leads:write sends leads
to POST {base_url}/leads. Without --scope, the token has leads:read. Give --scope twice for a token with both.

With --source, webhooks of that service can be sent with the token as they are: its answers become the fields that
their labels mean, or custom fields. --map names the field of a label that does not say it. \`form\` is any form whose
fields have names of their own. Such a token has the scope leads:write.`,
    examples: [
      'leadtap token issue --user ada',
      'leadtap token issue --user ada --scope leads:write --name "web form"',
      'leadtap token issue --user ada --name "Zapier, sales team" --expires-in 1y',
      'leadtap token issue --user ada --name Tally --source tally --map "Your roof=customFields.roof"',
      'leadtap token issue --all-users --json > tokens.json',
    ],
    run: issueTokens,
  });
  registerRenew(token, context);
  addCommand(token, context, {
    name: 'list',
    description: 'list the tokens of a user, with their state',
    options: {
      '--user <id>': { text: 'id of the user', isRequired: true },
      '--json': 'print an array of tokens',
    },
    help: `
The tokens themselves are not stored and cannot be shown. \`leadtap connections\` says what is sent with them. STATE is
active, revoked, expired or key-removed: the key that signed the token is no longer one of the signing keys.`,
    examples: ['leadtap token list --user ada'],
    run: listTokens,
  });
  addCommand(token, context, {
    name: 'revoke',
    description: 'revoke a token, or all tokens of a user',
    arguments: { '[token-id]': 'id of the token; `leadtap token list` shows it' },
    options: {
      '--user <id>': 'revoke all tokens that were issued here for this user',
      '--force': 'also an id that was not issued here',
      ...HANDLED_OPTION,
    },
    help: `
The token stops working at once, on every instance. A connection ends with its last token: what waits for it stays owed,
until it is sent to a connection of the same name or marked as handled. With --force, the id may be the \`jti\` of a token
of your identity provider.`,
    examples: [
      'leadtap token revoke 5b1f0c5e-0d0a-4f7e-9f0c-3f6a1be7d4aa',
      'leadtap token revoke --user ada',
    ],
    run: revoke,
  });
}

/** Collects the values of a repeated `--scope`, in the order of the contract. */
function parseScope(text: string, previous: readonly TokenScope[] = []): readonly TokenScope[] {
  if (!TOKEN_SCOPES.some((scope) => scope === text))
    throw new InvalidArgumentError(`Write ${TOKEN_SCOPES.join(' or ')}.`);
  return TOKEN_SCOPES.filter((scope) => scope === text || previous.includes(scope));
}

interface IssueOptions {
  readonly user?: string;
  readonly allUsers?: true;
  readonly name?: string;
  readonly expiresIn: number;
  readonly scope?: readonly TokenScope[];
  readonly source?: LeadSource;
  readonly map?: FieldMap;
  readonly timeZone?: string;
  readonly force?: true;
  readonly json?: true;
}

async function issueTokens(context: CommandContext, options: IssueOptions): Promise<void> {
  checkIssueOptions(options);
  const { user: userId, name = null, source, map = [], timeZone, force, json } = options;
  const scopes = options.scope ?? (source && (['leads:write'] as const));
  const { signal, stdout, stderr } = context;
  await withStore(context, async (store, config) => {
    const issuer = await issuerOf(store, config, context);
    const requestOf = (userId: string): TokenRequest => ({
      ...{ userId, name, lifetimeMs: options.expiresIn },
      ...(scopes && { scopes }),
      ...(source && { source: { name: source, map: Object.fromEntries(map) } }),
      ...(timeZone !== undefined && { timeZone }),
    });
    async function* issueForAll() {
      for await (const page of userPages(store, signal))
        yield await issueAll(
          issuer,
          page.map(({ id }) => requestOf(id)),
        );
    }
    if (userId === undefined) return writeJsonArray(stdout, issueForAll());
    const user = await store.findUser(userId);
    if (!user && !force) throw noSuchUser(userId, 'To create the token before the user, add --force.');
    const others = (await store.listTokens(userId)).filter(
      (token) => name !== null && token.name === name && token.revokedAt === null,
    );
    const issued = await issue(issuer, requestOf(userId));
    await (json ? writeJson(stdout, issued) : writeLine(stdout, issued.token));
    if (stderr.isTTY) await writeHint(context, describeIssued(issued, user));
    if (others.length > 0) await writeHint(context, describeAdded(name ?? ''));
  });
}

function checkIssueOptions(options: IssueOptions): void {
  const { user, allUsers, json, force, name, source, map = [], scope, timeZone } = options;
  const nameProblem = name === undefined ? undefined : findTextProblem(name);
  const maySend = source !== undefined || scope?.includes('leads:write');
  const mistakes: readonly (readonly [boolean | undefined, string])[] = [
    [timeZone !== undefined && !maySend, '--time-zone needs the scope leads:write'],
    [source === undefined && map.length > 0, `--map needs --source: ${LEAD_SOURCES.join(', ')}`],
    [source && scope && !scope.includes('leads:write'), '--source needs the scope leads:write'],
    [(user === undefined) === (allUsers === undefined), 'give either --user ID or --all-users'],
    [allUsers && !json, '--all-users needs --json'],
    [allUsers && force, '--force works only with --user'],
    [nameProblem !== undefined, `--name ${nameProblem}`],
  ];
  for (const [isMistake, message] of mistakes) if (isMistake) throw new Failure('usage', message);
  // A field map in a token cannot be changed, so its errors are found before the token exists.
  checkFields(map, systemClock);
}

const describeAdded = (name: string): string =>
  `${printable(name)} has a token already: this is one more, and nothing else changes. To replace the old one, run:
  leadtap token renew ${quoteForShell(name)}`;

function describeIssued({ userId, tokenId, expiresAt, scopes }: PrintedToken, user?: User): string {
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

/** Tokens stay after their user was removed, so the user is needed only if there are none. */
async function readTokens(store: Store, userId: string): Promise<readonly ListedToken[]> {
  const tokens = await store.listTokens(userId);
  if (tokens.length === 0) await findUser(store, userId);
  return tokens;
}

const listTokens = (
  context: CommandContext,
  { user: userId, json }: { readonly user: string; readonly json?: true },
): Promise<void> =>
  withStore(context, async (store, config) => {
    const { stderr, clock } = context;
    const now = clock();
    const tokens = await readTokens(store, userId);
    const keyIds = await readKeyIds(config);
    const page = tokens.map((token) => toJson(token, stateOf(token, keyIds, now)));
    const count = await printList(context, [page], json, {
      headings: ['ID', 'STATE', 'NAME', 'SCOPE', 'EXPIRES', 'ISSUED'],
      toRow: (token) => [
        ...[token.tokenId, token.state, token.name, formatTokenScopes(token.scopes)],
        ...[token.expiresAt, token.issuedAt],
      ],
    });
    if (count === 0 && !json) await writeLine(stderr, `User ${userId} has no tokens yet.`);
  });

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
});

const revoke = (
  context: CommandContext,
  { user: userId, force, ...flags }: { readonly user?: string; readonly force?: true } & HandledFlag,
  id: string | undefined,
): Promise<void> => {
  if ((id === undefined) === (userId === undefined))
    throw new Failure('usage', 'give either the id of a token or --user ID');
  return withStore(context, async (store, config) => {
    const issued = id === undefined ? undefined : await store.findToken(id);
    if (id !== undefined && !issued && !force) throw unknownToken(id);
    const tokenIds =
      id === undefined ? (await readTokens(store, userId ?? '')).map((token) => token.id) : [id];
    const { settleOwed } = await import('../owed.ts');
    await settleOwed({ context, store, config }, flags, { userId: userId ?? issued?.userId }, async () => {
      const revoked: string[] = [];
      for (const tokenId of tokenIds) if (await store.revokeToken(tokenId)) revoked.push(tokenId);
      const state = revoked.length === 0 ? 'already revoked' : 'revoked';
      await writeLine(
        context.stdout,
        id === undefined
          ? `Tokens of user ${userId} that were revoked: ${revoked.length}.`
          : `Token ${id} was ${state}.`,
      );
    });
  });
};
