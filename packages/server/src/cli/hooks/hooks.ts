import type { Command } from 'commander';
import { acceptedKeysOf, loadSigningKeys, secretsOf } from '../../accounts/signing-keys.ts';
import { hasOwnToken } from '../../hooks/claim.ts';
import { createDelivery } from '../../hooks/deliver.ts';
import { eventMessage, type HookMessage, postMessage, testLeadMessage } from '../../hooks/event.ts';
import type { Outcome } from '../../hooks/rules.ts';
import {
  type Hook,
  type HookStore,
  hookPages,
  hookStateOf,
  hostOfHook,
  isAcceptedKey,
  type ListedHook,
  listedStateOf,
  nameOfHook,
} from '../../hooks/store.ts';
import { allowedHosts } from '../../hooks/url.ts';
import { mayPoll } from '../../leads/access.ts';
import { toIso, toIsoOrNull } from '../../lib/clock.ts';
import { formatDuration } from '../../lib/formats.ts';
import { VERSION } from '../../lib/version.ts';
import { findCompany, findUser } from '../accounts/organisation.ts';
import { addCommand } from '../command.ts';
import { HANDLED_OPTION, type HandledFlag } from '../confirm.ts';
import { type CommandContext, withStore } from '../context.ts';
import { Failure } from '../exit.ts';
import { printList, writeHint, writeJson, writeLine } from '../output.ts';
import { settleOwed } from '../owed.ts';
import { findServiceProblem, readInstance } from '../running-service.ts';
import { registerAdd } from './add.ts';
import { addAgainCommand, findHook, hooksOf } from './find.ts';
import { registerRename } from './rename.ts';

export function registerHooks(program: Command, context: CommandContext): void {
  const hooks = program.command('hooks').description('see and control webhook subscriptions');
  registerAdd(hooks, context);
  addCommand(hooks, context, {
    name: 'list',
    description: 'list webhook subscriptions, with their state and last event',
    options: {
      '--company <id>': 'only those of this company',
      '--user <id>': 'only those of this user',
      '--json': 'print an array of subscriptions',
    },
    help: `
A webhook subscription tells an automation platform to poll when there are new leads, or sends it the leads: SEND is
event or lead (each lead in a request of its own). HOST is the host of its URL; the rest of the URL is a secret. LEADS
is pending if there are leads that were not announced or sent yet, with the reason if the service cannot
send them: no service (none runs on this machine), other database (of the service that runs), webhooks off,
host not allowed (by LEADTAP_HOOK_HOSTS of the service that runs), plan (of the user, who may not poll).

  active    the last event was accepted, or there was none
  failing   it was not; RETRY says when it is sent again, - with the next lead
  disabled  none was accepted for 3 days (of those with SEND event), or the receiver answered 410 (of the others),
            and no more are sent; see \`leadtap hooks send-test --help\`
  key-removed  the key that signed its token was removed, and no more are sent: delete it with \`leadtap hooks remove\`, and
            run the command that this prints
  expired   its token has expired, and no more are sent (of those that send leads): the same

Who knows the id of a subscription can delete it.

--json has id, companyId, userId, tokenId, name (of the subscription, or else of its token), host, send, state, isPending, pendingReason, createdAt, announcedThrough,
lastEventAt, lastStatus (null: no response), failures, failingSince and retryAt (null: nothing is due).`,
    examples: ['leadtap hooks list', 'leadtap hooks list --user ada --json'],
    run: listHooks,
  });
  registerRename(hooks, context);
  addCommand(hooks, context, {
    name: 'remove',
    description: 'delete a webhook subscription',
    arguments: { '<id>': 'id of the subscription; `leadtap hooks list` shows it' },
    options: {
      '--json': 'print { id, userId, url, send, name, since } instead of the command',
      ...HANDLED_OPTION,
    },
    help: `
Nothing more is sent. Prints its position, and the command that subscribes the same URL again from there. The platform is not notified: it may subscribe again when the automation is switched on again.
The token that \`leadtap hooks add\` has created for the subscription is revoked.`,
    examples: ['leadtap hooks remove 8c1f0a62d94e4b7f9d3a5e60c27b1f48'],
    run: removeHook,
  });
  addCommand(hooks, context, {
    name: 'send-test',
    description: 'send an event without leads, or a test lead, to a webhook subscription',
    arguments: { '<id>': 'id of the subscription; `leadtap hooks list` shows it' },
    help: `
The event is a real, signed one, but it announces no lead: its since and through are the same, so the poll that it
asks for gets none. It shows whether the receiver accepts events; an automation may run without a lead. To see a lead
arrive, use \`leadtap leads send-test\`. A subscription that sends leads gets a test lead, which is not stored. Its
position does not move. If the receiver accepts it, a failing or disabled subscription is active again.

The receiver has 10 seconds; redirects are not followed. If it refuses the event, nothing of the subscription changes.`,
    examples: ['leadtap hooks send-test 8c1f0a62d94e4b7f9d3a5e60c27b1f48'],
    run: sendTest,
  });
}

interface ListOptions {
  readonly company?: string;
  readonly user?: string;
  readonly json?: true;
}

const listHooks = (context: CommandContext, options: ListOptions): Promise<void> =>
  withStore(context, async (store, config) => {
    const { company: companyId, user: userId, json } = options;
    const { stderr, clock } = context;
    const now = clock();
    if (companyId !== undefined) await findCompany(store, companyId);
    if (userId !== undefined) await findUser(store, userId);
    if (!config.hooks) await writeLine(stderr, 'LEADTAP_HOOKS is off: no events are sent.');
    const hooks = await hooksOf(store, config);
    const instance = await readInstance(config);
    const problems = new Set<string>();
    async function* pages() {
      for await (const page of hookPages(hooks, { now, companyId, userId }))
        yield await Promise.all(page.map(async (listed) => ({ ...listed, reason: await reasonOf(listed) })));
    }
    async function reasonOf({ hook, isPending }: ListedHook): Promise<string | null> {
      if (!isPending) return null;
      const problem = findServiceProblem(config, instance, hook.url);
      if (problem) problems.add(problem.message);
      const user = await store.findUser(hook.userId);
      return problem?.reason ?? (user && !mayPoll(user) ? `plan ${user.plan}` : null);
    }
    const count = await printList(context, pages(), json, {
      toJson: (listed) => toJson(listed, now),
      headings: [
        ...['ID', 'STATE', 'STATUS', 'LEADS', 'HOST', 'RETRY', 'SEND', 'LAST EVENT'],
        ...['USER', 'NAME', 'COMPANY', 'ANNOUNCED THROUGH', 'FAILURES'],
      ],
      toRow: (listed) => toRow(listed, now),
      whole: ['ID', 'LEADS'],
    });
    for (const message of problems) await writeHint(context, message);
    const advice =
      '`leadtap hooks add` creates one, and so does a platform when an automation with the instant trigger is switched on.';
    if (count === 0 && !json) await writeLine(stderr, `There is no webhook subscription. ${advice}`);
  });

/** When the event is sent again. Null: it has not failed, or nothing is due until the next lead. */
const retryAtOf = (listed: ListedHook, now: number): number | null =>
  listedStateOf(listed, now) === 'failing' ? listed.hook.checkAt : null;

/** `reason`: why what is pending is not sent. */
type ExplainedHook = ListedHook & { readonly reason: string | null };

function toJson(listed: ExplainedHook, now: number) {
  const { hook, companyId, isPending, reason } = listed;
  return {
    id: hook.id,
    companyId,
    userId: hook.userId,
    tokenId: hook.tokenId,
    name: nameOfHook(listed),
    host: hostOfHook(hook),
    send: hook.send,
    state: listedStateOf(listed, now),
    isPending,
    pendingReason: reason,
    createdAt: toIso(hook.createdAt),
    announcedThrough: toIso(hook.announcedThrough),
    lastEventAt: toIsoOrNull(hook.lastEventAt),
    lastStatus: hook.lastStatus,
    failures: hook.failures,
    failingSince: toIsoOrNull(hook.failingSince),
    retryAt: toIsoOrNull(retryAtOf(listed, now)),
  };
}

function toRow(listed: ExplainedHook, now: number): (string | null)[] {
  const { hook, companyId, isPending, reason } = listed;
  const { lastEventAt, lastStatus } = hook;
  const retryAt = retryAtOf(listed, now);
  return [
    ...[hook.id, listedStateOf(listed, now), lastStatus === null ? null : String(lastStatus)],
    isPending ? ['pending', reason].filter(Boolean).join(': ') : hook.send === 'event' ? 'announced' : 'sent',
    hostOfHook(hook),
    retryAt === null ? null : retryAt <= now ? 'now' : `in ${formatDuration((retryAt - now) / 1000)}`,
    hook.send,
    lastEventAt === null ? 'never' : `${formatDuration((now - lastEventAt) / 1000)} ago`,
    ...[hook.userId, nameOfHook(listed) ?? hook.tokenId, companyId],
    // Before the first lead of the company.
    hook.announcedThrough > 0 ? toIso(hook.announcedThrough) : null,
    String(hook.failures),
  ];
}

const removeHook = (
  context: CommandContext,
  { json, ...flags }: { readonly json?: true } & HandledFlag,
  id: string,
): Promise<void> =>
  withStore(context, async (store, config) => {
    const hook = await findHook(store.hooks, id);
    await settleOwed({ context, store, config }, flags, { userId: hook.userId }, async () => {
      await store.hooks.remove(hook.id);
      if (hasOwnToken(hook)) await store.revokeToken(hook.tokenId ?? '');
    });
    const { userId, url, send, name, announcedThrough } = hook;
    const since = toIso(announcedThrough);
    if (json) return writeJson(context.stdout, { id, userId, url, send, name, since });
    const lines = [
      `Deleted. Nothing more is sent to ${hostOfHook(hook)}.`,
      `To continue after ${since}, run:`,
      addAgainCommand(hook, announcedThrough, context),
    ];
    await writeLine(context.stderr, lines.join('\n'));
  });

const sendTest = (context: CommandContext, _options: object, id: string): Promise<void> =>
  withStore(context, async ({ hooks }, config) => {
    const { signal, stderr } = context;
    const hook = await findHook(hooks, id);
    const keys = await loadSigningKeys(config.signingKey, { create: false });
    if (!isAcceptedKey(hook.keyId, acceptedKeysOf(keys, config.externalTokens)))
      throw new Failure(
        'conflict',
        'nothing is sent to it: the key that signed its token was removed',
        'Delete it with `leadtap hooks remove`, and run the command that this prints.',
      );
    const delivery = createDelivery();
    signal.addEventListener('abort', () => delivery.close());
    const now = await hooks.now();
    const outcome = await postMessage(
      delivery,
      { hook, claimedAt: now },
      testMessage(hook, now, config.publicUrl),
      {
        hosts: allowedHosts(config.hookHosts),
        signingSecrets: secretsOf(keys),
        publicUrl: config.publicUrl,
        version: VERSION,
      },
    );
    delivery.close();
    signal.throwIfAborted();
    if (outcome === 'aborted') return;
    if (outcome.kind !== 'accepted') throw toFailure(outcome, hook);
    const state = hookStateOf(hook);
    if (state !== 'active') await enable(hooks, hook, outcome.status, await hooks.now());
    const again = state === 'active' ? '' : ` The subscription was ${state} and is active again.`;
    const what = hook.send === 'lead' ? 'test lead' : 'event';
    await writeLine(
      stderr,
      `${hostOfHook(hook)} accepted the ${what} with status ${outcome.status}.${again}`,
    );
  });

function testMessage(hook: Hook, now: number, publicUrl: string | undefined): HookMessage {
  if (hook.send === 'lead') return testLeadMessage(now);
  const { announcedThrough: through } = hook;
  return eventMessage(hook, { since: through, through }, now, publicUrl);
}

/** Stores nothing if the service has claimed the hook meanwhile: then it sends an event itself. */
async function enable(hooks: HookStore, hook: Hook, status: number, now: number): Promise<void> {
  const progress = {
    ...{ ...hook, failures: 0, failingSince: null, disabledAt: null },
    ...{ notBefore: now, checkAt: now, lastEventAt: now, lastStatus: status },
  };
  await hooks.settle([{ claimed: hook, progress }]);
}

type FailedOutcome = Exclude<Outcome, { kind: 'accepted' }>;

function toFailure(outcome: FailedOutcome, hook: Hook): Failure {
  const host = hostOfHook(hook);
  switch (outcome.kind) {
    case 'gone':
      return new Failure(
        'bad-input',
        `${host} answered with status 410: the automation does not exist any more`,
        `If it exists again, run this command again. Otherwise delete the subscription: \`leadtap hooks remove ${hook.id}\`.`,
      );
    case 'refused':
      return new Failure(
        'bad-input',
        `${host} did not accept the test: it answered with status ${outcome.status}${outcome.reason ? `: ${outcome.reason}` : ''}`,
        outcome.status < 400
          ? 'Redirects are not followed. Subscribe the new URL.'
          : outcome.status === 401 || outcome.status === 403
            ? 'Set the authentication of its webhook to None in its platform: Leadtap sends none. A program that checks signatures needs the secret of this subscription.'
            : 'Check that the automation, or the program at this address, is running and accepts the request.',
      );
    case 'timeout':
      return new Failure('unavailable', `${host} did not answer within 10 seconds`, 'Try again later.');
    case 'unreachable':
      return new Failure(
        'unavailable',
        `${host} cannot be reached, or its certificate is not valid`,
        'Check that this machine may connect to it: DNS, firewall, proxy.',
      );
    case 'not-allowed':
      return new Failure(
        'bad-input',
        `events may not be sent to ${host}`,
        'Add the host to LEADTAP_HOOK_HOSTS, for the service as well, and start it again.',
      );
  }
}
