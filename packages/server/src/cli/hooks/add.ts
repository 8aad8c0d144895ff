import { randomBytes } from 'node:crypto';
import { HOOK_SENDS, type HookSend, MAX_HOOKS_PER_USER, PROBLEMS } from '@leadtap/contract';
import type { Command } from 'commander';
import type { User } from '../../accounts/records.ts';
import { loadSigningKeys, secretsOf } from '../../accounts/signing-keys.ts';
import type { Config } from '../../config.ts';
import { hasOwnToken, ownTokenId } from '../../hooks/claim.ts';
import { secretOf } from '../../hooks/event.ts';
import { isSinceInFuture } from '../../hooks/rules.ts';
import { type Hook, hookPages, hostOfHook, isExpired, type ListedHook } from '../../hooks/store.ts';
import { allowedHosts, checkHookUrl } from '../../hooks/url.ts';
import { mayPoll } from '../../leads/access.ts';
import { MIN_TIME, toIso } from '../../lib/clock.ts';
import { quoteForShell } from '../../lib/escape.ts';
import { issue } from '../accounts/issued-tokens.ts';
import { findUser } from '../accounts/organisation.ts';
import { addCommand } from '../command.ts';
import { type CommandContext, knownServiceUrl, withStore } from '../context.ts';
import { Failure } from '../exit.ts';
import { withInvocation } from '../invocation.ts';
import { parseSince } from '../leads/find.ts';
import { writeHint, writeJson, writeLine } from '../output.ts';
import { warnAboutService } from '../running-service.ts';
import { addAgainCommand, hooksOf } from './find.ts';
import { checkName } from './rename.ts';

export function registerAdd(hooks: Command, context: CommandContext): void {
  addCommand(hooks, context, {
    name: 'add',
    description: 'send new leads to a URL',
    options: {
      '--user <id>': { text: 'id of the user whose leads are sent', isRequired: true },
      '--url <url>': { text: 'where they are sent', isRequired: true },
      '--send <what>': {
        text: 'lead: each lead; event: that there are leads',
        choices: HOOK_SENDS,
        default: ['lead', 'lead'],
      },
      '--since <time>': {
        text: 'send the leads created after this time, too',
        parse: (text) => parseSince(text, context.clock()),
      },
      '--name <name>': 'what people call the subscription (default: the host of the URL)',
      '--json': 'print { id, send, since, secret, tokenId }; with --send event, also { token }',
    },
    help: `
Every lead is sent, in order, and again until the receiver answers 2xx: it may get one twice. The body is the lead as a
poll has it. The service must run. With --send event, the receiver has to poll, with the token that this command prints.

The secret verifies the signatures of the requests (Standard Webhooks). The same command again prints the same
subscription, at its position. \`leadtap hooks remove\` ends it. It has a token of its own, valid for 10 years.

Hosts of automation platforms are allowed. LEADTAP_HOOK_HOSTS has to list any other one, for the service as well.`,
    examples: [
      'leadtap hooks add --user ada --url https://hooks.zapier.com/hooks/catch/123/abc',
      'leadtap hooks add --user ada --url https://hook.eu1.make.com/abc --since 2026-03-02',
    ],
    run: addHook,
  });
}

const TOKEN_MS = 10 * 365 * 86_400_000;

interface AddFlags {
  readonly user: string;
  readonly url: string;
  readonly send: HookSend;
  readonly since?: number;
  readonly name?: string;
  readonly json?: true;
}

const addHook = (context: CommandContext, flags: AddFlags): Promise<void> =>
  withStore(context, async (store, config) => {
    const { user: userId, send, since, json } = flags;
    const { stdout, stderr, clock } = context;
    const url = allowedUrl(flags.url, config);
    const name = flags.name === undefined ? null : checkName('--name', flags.name);
    if (send !== 'event' && isSinceInFuture(since, clock()))
      throw new Failure('usage', PROBLEMS['invalid-hook'].details['since-in-future'].replaceAll('`', ''));
    const user = await findUser(store, userId);
    const keys = await loadSigningKeys(config.signingKey, { create: false });
    const hooks = await hooksOf(store, config);
    const now = clock();
    const isOther = ({ hook, isKeyRemoved }: ListedHook) =>
      hook.url === url && hook.send === send && (!hasOwnToken(hook) || isKeyRemoved) && !isExpired(hook, now);
    for await (const page of hookPages(hooks, { now, userId }))
      for (const listed of page) if (isOther(listed)) throw ofAnotherToken(listed);
    const id = randomBytes(16).toString('hex');
    const tokenId = ownTokenId(id);
    const outcome = await hooks.subscribe(
      {
        ...{ id, userId, url, send, name, baseUrl: knownServiceUrl(config) },
        tokenId,
        // Times in a token are whole seconds.
        tokenExpiresAt: Math.floor(now / 1000) * 1000 + TOKEN_MS,
        keyId: keys[0].id,
        since: since === undefined ? undefined : Math.max(since, MIN_TIME),
      },
      MAX_HOOKS_PER_USER,
    );
    if (outcome.kind === 'too-many') throw tooMany(userId);
    if (outcome.kind === 'no-such-user') throw new Failure('not-found', `there is no user ${userId}`);
    const { hook } = outcome;
    const isKnown = outcome.kind === 'known';
    const request = { userId, tokenId, name: name ?? new URL(url).host, lifetimeMs: TOKEN_MS };
    const issued = isKnown ? undefined : await issue({ store, keys, now }, request);
    const [signingSecret] = secretsOf(keys);
    const facts = {
      ...{ id: hook.id, send, since: toIso(hook.announcedThrough) },
      secret: secretOf(signingSecret, hook.id),
      tokenId: hook.tokenId,
      ...(send === 'event' && issued && { token: issued.token }),
    };
    if (json) {
      // The position of its output is that of before, without a reason.
      if (isKnown && since !== undefined) await writeLine(stderr, describeKnown(hook, since, context));
      return writeJson(stdout, facts);
    }
    const { tokenId: _, send: __, ...printed } = facts;
    for (const [key, value] of Object.entries(printed)) await writeLine(stdout, `${key.padEnd(6)}  ${value}`);
    if (isKnown) await writeLine(stderr, describeKnown(hook, since, context));
    await writeHint(context, describeHook(hook, user));
    await warnAboutService(context, config, url);
  });

function allowedUrl(text: string, { hooks, hookHosts }: Config): string {
  if (!hooks)
    throw new Failure(
      'unavailable',
      'webhooks are switched off',
      'Remove LEADTAP_HOOKS=off, and start the service again.',
    );
  const checked = checkHookUrl(text, allowedHosts(hookHosts));
  if (checked.kind === 'allowed') return checked.url.href;
  const isOrigin =
    checked.kind === 'invalid' && (checked.reason === 'url-not-https' || checked.reason === 'url-with-port');
  const { origin, protocol, hostname } = URL.canParse(text) ? new URL(text) : new URL('data:');
  const secureText = text.replace(/^http:/i, 'https:');
  if (secureText !== text && checkHookUrl(secureText, allowedHosts(hookHosts)).kind === 'allowed')
    throw new Failure(
      'bad-input',
      `${hostname} is called with https, not with http`,
      `Write ${new URL(secureText).origin}`,
    );
  if (checked.kind === 'invalid' && !(isOrigin && /^https?:$/.test(protocol)))
    throw new Failure('bad-input', PROBLEMS['invalid-hook'].details[checked.reason].replaceAll('`', ''));
  const value = [...hookHosts, isOrigin ? origin : hostname].join(',');
  throw new Failure(
    'bad-input',
    `nothing may be sent to ${isOrigin ? origin : hostname} yet`,
    'If you trust it, set this in .env or the environment, for the service as well, and start the service again:',
    `LEADTAP_HOOK_HOSTS=${value}`,
  );
}

/** A platform or the console has made it. It may end soon, and a second one would send each lead twice. */
const ofAnotherToken = ({ hook: { id, tokenExpiresAt }, isKeyRemoved }: ListedHook): Failure =>
  new Failure(
    'conflict',
    isKeyRemoved
      ? 'there is such a subscription, and nothing is sent: the key that signed its token was removed'
      : `there is such a subscription, and it ends with its token${tokenExpiresAt === null ? '' : `, at ${toIso(tokenExpiresAt)}`}`,
    'To replace it, run the next command, and then the command that it prints:',
    `  leadtap hooks remove ${id}`,
  );

const tooMany = (userId: string): Failure =>
  new Failure(
    'conflict',
    `user ${userId} has ${MAX_HOOKS_PER_USER} webhook subscriptions, and may not have more`,
    `\`leadtap hooks list --user ${quoteForShell(userId)}\` shows them, and \`leadtap hooks remove\` ends one.`,
  );

const SENT: Readonly<Record<HookSend, string>> = {
  lead: 'Each lead after this time that the user may see is sent to',
  event: 'For leads after this time that the user may see, an event is sent to',
};

function describeKnown(hook: Hook, since: number | undefined, context: CommandContext): string {
  const text = `This subscription existed already, and continues after ${toIso(hook.announcedThrough)}.`;
  if (since === undefined) return text;
  return [
    `${text} To start it at ${toIso(since)}, which repeats leads that it has sent, run:`,
    withInvocation(`  leadtap hooks remove ${hook.id}`, context),
    addAgainCommand(hook, since, context),
  ].join('\n');
}

function describeHook(hook: Hook, user: User): string {
  const lines = [`${SENT[hook.send]} ${hostOfHook(hook)}.`];
  if (!mayPoll(user))
    lines.push(
      `The plan of ${user.id} is ${user.plan}, so nothing is sent. To change the plan, run:`,
      `  leadtap user set ${quoteForShell(user.id)} --plan PROFESSIONAL`,
    );
  return [
    ...lines,
    'The secret verifies the signatures. In the console, Connect has programs for it.',
    `To see ${hook.send === 'lead' ? 'a test lead' : 'a test event'} arrive, run:`,
    `  leadtap hooks send-test ${hook.id}`,
    'To end the subscription, run:',
    `  leadtap hooks remove ${hook.id}`,
  ].join('\n');
}
