/** The sentences of the rules about single consumers: what is wrong with one, and what to do. */
import { PROBLEMS } from '@leadtap/contract';
import { tokenKeyText } from '../accounts/token-key.ts';
import { isSameConsumer } from '../consumers/store.ts';
import { hasEnded } from '../hooks/store.ts';
import { toIso } from '../lib/clock.ts';
import { formatDuration } from '../lib/formats.ts';
import { STALE_INTERVALS } from './consumer-states.ts';
import { isRefusal } from './consumers.ts';
import type { ConsumerProblem, ConsumerStatus, Facts, StatusProblem } from './report.ts';
import {
  agoOf,
  consumersCommand,
  countOf,
  countUpTo,
  describe,
  fixOf,
  forgetCommand,
  hooksCommand,
  hostOf,
  issueCommand,
  listNames,
  pendingText,
  refusalText,
  revokeCommand,
  secondsSince,
  subjectOf,
} from './sentences.ts';

/** In words, and what to do. The level and the page of the documents are those of the rule if they are missing. */
export type Found = Pick<StatusProblem, 'message' | 'fix'> &
  Partial<Pick<StatusProblem, 'severity' | 'docs' | 'subjects' | 'hasMoreSubjects'>>;

/** For the user of the token, who has no commands. */
export interface ConsumerRow extends Partial<Pick<StatusProblem, 'severity'>> {
  /** Stands beside the name of the consumer. */
  readonly row: string;
  /** For the operator. Default: `userFix`. */
  readonly fix?: string;
  readonly userFix: string;
}

export type FoundConsumer = Found & ConsumerRow;

/** What the sentences about one consumer need beside it. */
export type Moment = Pick<Facts, 'generatedAt' | 'refusals' | 'hookHosts'>;

export type DescribeConsumer = (consumer: ConsumerStatus, moment: Moment) => FoundConsumer;

const PLAN = 'professional-plan-required';
const LIMITED_LONG_S = 15 * 60;
/** Of a webhook that sends leads. */
const PENDING_LONG_S = 3600;
/** As in the alerts of most services: a receiver that is restarted fails for some minutes. */
export const FAILING_LONG_S = 15 * 60;
const RECENT_REFUSAL_S = 3600;

interface ConsumerSearch {
  readonly problem: ConsumerProblem;
  /** If the description has none. */
  readonly severity: StatusProblem['severity'];
  readonly describe: DescribeConsumer;
  readonly sortKey?: ((consumer: ConsumerStatus) => string) | undefined;
}

/** Describes the first consumer with this problem, errors before warnings, in the order of `sortKey`, and names the others. */
export function findConsumers(
  facts: Facts,
  { problem, severity, describe: describeOne, sortKey = () => '' }: ConsumerSearch,
): Found | undefined {
  const { consumers } = facts;
  const all = (consumers?.listed ?? [])
    .filter(({ problems }) => problems.includes(problem))
    .map((consumer) => ({ consumer, found: describeOne(consumer, facts), order: sortKey(consumer) }))
    .sort((a, b) => Number(a.order > b.order) - Number(a.order < b.order))
    .sort((a, b) => Number(a.found.severity === 'warning') - Number(b.found.severity === 'warning'));
  const [first] = all;
  if (!consumers || !first) return undefined;
  const { row: _, userFix: __, ...found } = first.found;
  const subjects = all.map(({ consumer, found: { severity: own = severity, message, fix } }) => ({
    ...{ key: consumer.key, name: describe(consumer), severity: own, message, fix },
  }));
  const more = consumers.problems[problem] - 1;
  if (more === 0) return { ...found, subjects };
  const others = all.slice(1).map(({ consumer }) => consumer);
  const names = `${countOf(more, 'more has', 'more have')} the same problem: ${listNames(others, more)}.`;
  const message = `${found.message} ${names}`;
  return { ...found, message, subjects, hasMoreSubjects: more > others.length };
}

/** The row as a sentence that begins with the name. */
const messageOf = (consumer: ConsumerStatus, row: string): string => `${subjectOf(consumer)} ${row}.`;

export const describeSkipped: DescribeConsumer = (consumer, { generatedAt }) => {
  const { skippedLeads, skippedSince, confirmedThrough, missedLeads } = consumer;
  if (missedLeads > 0) return describeMissed(consumer);
  const usesSince = confirmedThrough !== null;
  const leads = countOf(skippedLeads, 'lead', 'leads');
  const reason = usesSince ? 'it asked for what comes after' : 'more leads came than fit into its page';
  const hint = usesSince ? 'It' : 'Without `since`, a poll returns only the newest leads: it';
  // A page begins after its `since`.
  const since = toIso(Date.parse(skippedSince ?? generatedAt) - 1);
  const row = `has skipped ${leads}: ${reason}, so ${skippedLeads === 1 ? 'it was' : 'they were'} never sent to it`;
  const fixFor = (whom: string): string =>
    `Let ${whom} poll once with \`since=${since}\`: this returns them. ${hint} must continue with the address in \`Link\`, or with the \`createdAt\` of the last lead that it has got, never with its own clock.`;
  return { message: messageOf(consumer, row), row, fix: fixFor(describe(consumer)), userFix: fixFor('it') };
};

/** Perhaps beside others that were never sent to it: the fix is the same. */
function describeMissed(consumer: ConsumerStatus): FoundConsumer {
  const { skippedLeads, skippedSince, missedLeads } = consumer;
  const since = toIso(Date.parse(skippedSince ?? '') - 1);
  const which = missedLeads < skippedLeads ? `${missedLeads} of them` : skippedLeads === 1 ? 'it' : 'them';
  const row = `may not have received ${countUpTo(skippedLeads)} ${skippedLeads === 1 ? 'lead' : 'leads'}: it could not see ${which} when it got later leads, because of a move or of its access level`;
  const found = { message: messageOf(consumer, row), row };
  const hint = 'Assign the branch before you add a lead, or use a user who sees the whole company.';
  if (hostOf(consumer) !== null)
    return {
      ...found,
      fix: `To send all leads since then again: ${removeHookCommand(consumer)}, then the command that it prints, with \`--since ${since}\`. ${hint}`,
      userFix: `Delete the subscription, and subscribe again with \`since\` \`${since}\`: all leads since then are sent again. ${hint}`,
    };
  const fixFor = (whom: string): string =>
    `Let ${whom} poll once with \`since=${since}\`: this returns them. ${hint}`;
  return { ...found, fix: fixFor(describe(consumer)), userFix: fixFor('it') };
}

const ENDINGS = {
  revoked: 'was revoked',
  expired: 'has expired',
  'key-removed': 'was signed with a key that was removed',
} as const;

const ASK_FOR_TOKEN = 'Ask the operator for a new token, and put it into the automation.';

/** Of a webhook: it has ended with its token. */
export const endOf = ({ tokenExpiresAt, tokenEnded }: ConsumerStatus): string =>
  tokenEnded === 'key-removed'
    ? 'the key that signed its token was removed'
    : `its token expired on ${tokenExpiresAt?.slice(0, 10)}`;

/** Not with the id itself: a program that knows it may delete the subscription, and the diagnosis is also sent to chats. */
const removeHookCommand = (consumer: ConsumerStatus): string =>
  `\`leadtap hooks remove ID\` (${hooksCommand(consumer)} shows the id)`;

export const describeEnded: DescribeConsumer = (consumer) => {
  if (consumer.hook && hasEnded(consumer.hook.state)) {
    const row = `${endOf(consumer)}: ${pendingText(consumer.pendingLeads)}, and none is sent`;
    return {
      ...{ message: `${subjectOf(consumer)}: ${row}.`, row },
      fix: `Delete it: ${removeHookCommand(consumer)}. If it is still needed, run the command that this prints: all leads that wait are then sent.`,
      userFix: `Subscribe the same URL again with a new token, and with \`since\` \`${consumer.hook?.announcedThrough}\`: all leads that wait are then sent, in order. If you no longer need it, delete the subscription.`,
    };
  }
  const ending = consumer.tokenEnded ?? 'revoked';
  const row = `polls with a token that ${ENDINGS[ending]}: its requests are refused (401)`;
  return {
    ...{ message: messageOf(consumer, row), row },
    fix: `Put the new token into the automation, or switch the automation off. To issue one: ${issueCommand(consumer)}.`,
    userFix: `${ASK_FOR_TOKEN} If you no longer need the automation, switch it off.`,
    ...(ending === 'expired' && { docs: '/docs#problem-token-expired' }),
  };
};

type Fixes = Pick<FoundConsumer, 'fix' | 'userFix' | 'docs'>;

/** ` (400)` or `: the query is not valid (400 invalid-query)`, and what to do about it. Undefined if the last poll was not refused. */
function lastRefusalOf(
  { refusals }: Moment,
  consumer: ConsumerStatus,
): { readonly text: string; readonly fixes: Fixes } | undefined {
  if (!isRefusal(consumer.lastStatus)) return undefined;
  // Only the instance that refused it has the code.
  const code = refusals.find(
    ({ status, consumers }) =>
      status === consumer.lastStatus && consumers.some((other) => isSameConsumer(other, consumer)),
  )?.code;
  if (!code)
    return {
      text: ` (${consumer.lastStatus})`,
      fixes: {
        fix: 'The table of refusals has the codes.',
        userFix: 'The last run of the automation in its platform shows the answer, which says what to do.',
        docs: '/docs#problems',
      },
    };
  const { integrator: userFix } = PROBLEMS[code];
  const fixes = { fix: fixOf(code, consumer.userId), userFix, docs: `/docs#problem-${code}` };
  return { text: refusalText(code), fixes };
}

const LOOK = 'Look in its platform whether the automation is switched on and what its last run says.';

/** A renewed token is a new consumer: the old one stays stopped until a person says so. */
const WHEN_UNUSED = 'If the automation has a new token now, or was switched off for good';
const ASK_TO_REVOKE = `${WHEN_UNUSED}, ask the operator to revoke the old token.`;

/** A token without an id cannot be revoked alone. */
const endFix = (consumer: ConsumerStatus): string =>
  consumer.tokenId === null
    ? `${WHEN_UNUSED}, forget the consumer: ${forgetCommand(consumer)}.`
    : `${WHEN_UNUSED}, revoke the old token: ${revokeCommand(consumer)}, or keep the token, and forget the consumer: ${forgetCommand(consumer)}.`;

const stoppedFixes = (consumer: ConsumerStatus): Fixes => ({
  fix: `${LOOK} ${endFix(consumer)}`,
  userFix: `${LOOK} ${ASK_TO_REVOKE}`,
});

const renewFix = (consumer: ConsumerStatus): string =>
  `Issue a new token and put it into the automation: ${issueCommand(consumer)}.`;

export const describeStale: DescribeConsumer = (consumer, moment) => {
  const { lastPollAt, tokenExpiresAt, usualIntervalSeconds } = consumer;
  const silence = formatDuration(secondsSince(moment, lastPollAt ?? ''));
  const found = (reason: string, fixes: Fixes): FoundConsumer => {
    const { pendingLeads, isUnrecorded } = consumer;
    const leads = pendingLeads === 0 ? '' : `; ${isUnrecorded ? 'up to ' : ''}${pendingText(pendingLeads)}`;
    const verb = isUnrecorded ? 'has no recorded poll' : 'has not polled';
    const cause = isUnrecorded ? ', for a part of which LEADTAP_CONSUMERS was off' : '';
    const row = `${verb} for ${silence}${cause}${reason}${leads}`;
    return { message: messageOf(consumer, row), row, ...fixes };
  };
  if (tokenExpiresAt !== null && secondsSince(moment, tokenExpiresAt) >= 0)
    return found(`; its token expired ${agoOf(moment, tokenExpiresAt)}`, {
      ...{
        fix: `${endFix(consumer)} Otherwise: ${renewFix(consumer)}`,
        userFix: `${ASK_TO_REVOKE} Otherwise: ${ASK_FOR_TOKEN}`,
      },
      docs: '/docs#problem-token-expired',
    });
  const cause = notAllowedCause(consumer, moment);
  if (cause) return found(`; ${cause}`, notSentFixes(consumer, moment));
  const refusal = lastRefusalOf(moment, consumer);
  if (refusal) return found(`; its last poll was refused${refusal.text}`, refusal.fixes);
  const usual = usualIntervalSeconds === null ? '' : formatDuration(usualIntervalSeconds);
  return found(usual && `; it usually polls every ${usual}`, stoppedFixes(consumer));
};

/** How long the oldest lead has been pending. For a webhook that sends leads: since its subscription at most. */
function pendingSecondsOf(moment: Moment, consumer: ConsumerStatus): number {
  const { pendingSince, unconfirmedSince, firstPollAt } = consumer;
  const pendingS = secondsSince(moment, pendingSince ?? unconfirmedSince ?? moment.generatedAt);
  if (hostOf(consumer) === null || firstPollAt === null) return pendingS;
  return Math.min(pendingS, secondsSince(moment, firstPollAt));
}

const FOLLOW_LINKS =
  'It polls, but does not get them: it must follow the address in `Link` until a page is empty.';

const CONTINUE = 'It must continue with the address in `Link`, not with the same `since` again.';

/** It was sent all leads, and sends the same `since` again and again. */
const describeStuck: DescribeConsumer = (consumer, moment) => {
  const since = formatDuration(secondsSince(moment, consumer.unconfirmedSince ?? moment.generatedAt));
  const row = `has received leads and does not confirm them, the oldest for ${since}: it polls from the same place again and again`;
  const fix = `${CONTINUE} ${consumersCommand(consumer)} shows how far it has come.`;
  return { ...{ message: messageOf(consumer, row), row }, fix, userFix: CONTINUE };
};

/** Also one with webhook events that never polled, but not one that polls once a day. */
function pollsNoMore({ lastPollAt, usualIntervalSeconds }: ConsumerStatus, moment: Moment): boolean {
  const usualS = STALE_INTERVALS * (usualIntervalSeconds ?? 0);
  return lastPollAt === null || secondsSince(moment, lastPollAt) > Math.max(PENDING_LONG_S, usualS);
}

export const describePending: DescribeConsumer = (consumer, moment) => {
  const { pendingLeads, state, hook } = consumer;
  const refusal = lastRefusalOf(moment, consumer);
  if (consumer.isStuck && pendingLeads === 0) return describeStuck(consumer, moment);
  const leads = pendingLeads === 0 ? 'Leads wait' : pendingText(pendingLeads);
  const pendingS = pendingSecondsOf(moment, consumer);
  const oldest = formatDuration(pendingS);
  const lastPoll = lastPollOf(consumer, moment);
  const behindFixes = {
    fix: `${FOLLOW_LINKS} ${consumersCommand(consumer)} shows how far it has come.`,
    userFix: FOLLOW_LINKS,
  };
  return {
    message: `${leads} for ${describe(consumer)}, the oldest for ${oldest}; ${lastPoll}.`,
    row: `${leads}, the oldest for ${oldest}: ${lastPoll}`,
    ...(hostOf(consumer) !== null
      ? {
          ...notSentFixes(consumer, moment),
          severity: pendingS > PENDING_LONG_S ? ('error' as const) : ('warning' as const),
        }
      : {
          ...(hook?.isAllowed === false
            ? notSentFixes(consumer, moment)
            : (refusal?.fixes ?? (pollsNoMore(consumer, moment) ? stoppedFixes(consumer) : behindFixes))),
          // A token that was only tried, and not since yesterday.
          ...(state === 'stale' && { severity: 'warning' as const }),
        }),
  };
};

function notSentFixes(consumer: ConsumerStatus, { hookHosts }: Moment): Fixes {
  if (hookHosts === null)
    return {
      fix: `Remove LEADTAP_HOOKS=off, and start the service again: leads that wait are then sent, in order. If it is no longer needed: ${removeHookCommand(consumer)}.`,
      userFix: 'Ask the operator to remove `LEADTAP_HOOKS=off`: leads that wait are then sent, in order.',
    };
  if (consumer.hook?.isAllowed === false)
    return {
      fix: `Add its host (${hooksCommand(consumer)} shows it) to LEADTAP_HOOK_HOSTS, and start the service again. If it is no longer needed: ${removeHookCommand(consumer)}.`,
      userFix: 'Ask the operator to add its host to `LEADTAP_HOOK_HOSTS`.',
    };
  return {
    fix: `Leads are sent by themselves, in order. If none was sent for some minutes, \`leadtap hooks send-test ID\` says why (${hooksCommand(consumer)} shows the id).`,
    userFix:
      'Leads are sent by themselves, in order. If none was sent for some minutes, ask the operator why.',
  };
}

/** Why this service does not send to the webhook of a consumer. Undefined: it has none, or may send to it. */
export function notAllowedCause(consumer: ConsumerStatus, { hookHosts }: Moment): string | undefined {
  if (consumer.hook?.isAllowed !== false) return undefined;
  if (hookHosts === null) return 'webhooks are switched off (LEADTAP_HOOKS)';
  // That of a webhook that is sent events is not in the diagnosis.
  const host = hostOf(consumer) ?? 'the host of its webhook';
  return `this service may not send to ${host}: LEADTAP_HOOK_HOSTS`;
}

function lastPollOf(consumer: ConsumerStatus, moment: Moment): string {
  const { hook } = consumer;
  const cause = notAllowedCause(consumer, moment);
  const lastEventAt = hook?.lastEventAt ?? null;
  if (hook && hook.send !== 'event') {
    if (cause) return cause;
    if (lastEventAt === null) return 'nothing was sent yet';
    return `${hook.isAccepted ? 'the last was sent' : 'the last attempt was'} ${agoOf(moment, lastEventAt)}`;
  }
  if (consumer.lastPollAt === null && cause) return cause;
  if (consumer.lastPollAt === null)
    return lastEventAt === null
      ? 'no webhook event was sent to it, and it has never polled'
      : 'it accepts webhook events, but has never polled';
  const refusal = lastRefusalOf(moment, consumer);
  if (refusal) return `its last poll was refused${refusal.text}`;
  if (cause) return cause;
  if (consumer.isStuck) return 'it has received the leads before them and does not confirm them';
  return `its last poll was ${agoOf(moment, consumer.lastPollAt)}`;
}

export const describeLimited: DescribeConsumer = (consumer, moment) => {
  const pendingS = pendingSecondsOf(moment, consumer);
  const row = `polls too often: its last poll was refused (429), and leads have been waiting for ${formatDuration(pendingS)}`;
  const userFix = 'Let it poll less often, or with `Prefer: wait=50`. All tokens of a user share the limits';
  return {
    severity: pendingS > LIMITED_LONG_S ? 'error' : 'warning',
    ...{ message: messageOf(consumer, row), row },
    fix: `${userFix}: ${consumersCommand(consumer)} lists them.`,
    userFix: `${userFix}.`,
  };
};

export const describeRefused: DescribeConsumer = (consumer, moment) => {
  if (hostOf(consumer) !== null) {
    const row = 'gets no leads: the plan of its user does not include it';
    const { integrator: userFix } = PROBLEMS[PLAN];
    const fixes = { fix: fixOf(PLAN, consumer.userId), userFix, docs: `/docs#problem-${PLAN}` };
    return { message: messageOf(consumer, row), row, ...fixes };
  }
  if (consumer.state === 'stale') {
    const row = `has not polled for ${formatDuration(secondsSince(moment, consumer.lastPollAt ?? ''))}; the plan of its user does not include it; ${pendingText(consumer.pendingLeads)}`;
    const fix = `${fixOf(PLAN, consumer.userId)} ${endFix(consumer)}`;
    const { integrator: userFix } = PROBLEMS[PLAN];
    return { message: messageOf(consumer, row), row, fix, userFix, docs: `/docs#problem-${PLAN}` };
  }
  const { text = '', fixes = stoppedFixes(consumer) } = lastRefusalOf(moment, consumer) ?? {};
  const row = `polls, but is refused${text}`;
  return { message: messageOf(consumer, row), row, ...fixes };
};

/** The tokens of removed users are no consumers any more. Only the instance that refuses them has counted them. */
export function findRefusedWithoutUser(facts: Facts): Found | undefined {
  for (const { code, consumers } of facts.refusals) {
    if (code !== 'user-not-found' && code !== 'token-revoked') continue;
    const first = consumers.find(
      (one) =>
        secondsSince(facts, one.lastAt) < RECENT_REFUSAL_S &&
        ![...(facts.consumers?.listed ?? []), ...(facts.senders?.listed ?? [])].some((other) =>
          isSameConsumer(one, other),
        ),
    );
    if (first) {
      const verb = first.sendsLeads ? 'sends leads' : 'polls';
      const message = `${subjectOf(first)} ${verb}, but is refused${refusalText(code)}.`;
      const found = { message, fix: fixOf(code, first.userId) };
      const subject = { key: tokenKeyText(first), name: describe(first), severity: 'warning' as const };
      return { ...found, docs: `/docs#problem-${code}`, subjects: [{ ...subject, ...found }] };
    }
  }
  return undefined;
}

export const describeExpiring: DescribeConsumer = (consumer, moment) => {
  const left = formatDuration(-secondsSince(moment, consumer.tokenExpiresAt ?? ''));
  if (hostOf(consumer) !== null)
    return {
      message: `The token of ${describe(consumer)} expires in ${left}. Its webhook ends with it: no more leads are sent then.`,
      row: `its token expires in ${left}, and its webhook ends with it`,
      fix: `Before then, replace it: ${removeHookCommand(consumer)}, then the command that it prints.`,
      userFix: 'Ask the operator for a new token, and subscribe the same URL again with it before then.',
    };
  return {
    message: `The token of ${describe(consumer)} expires in ${left}.`,
    row: `its token expires in ${left}`,
    fix: `${renewFix(consumer)} The automation continues where it stopped. Then revoke the old one: ${revokeCommand(consumer)}.`,
    userFix: `${ASK_FOR_TOKEN} It continues where it stopped. Then ask for the old one to be revoked.`,
  };
};

/** Of a webhook that does not accept what is sent. */
const HOOK_FIXES = {
  leads: {
    disabled:
      'When the receiver works again, subscribe the same URL again: all leads that wait are then sent, in order.',
    failing: 'Leads wait, and are sent again by themselves: nothing is lost.',
  },
  events: {
    disabled:
      'Switch the automation off and on again in its platform: it then subscribes again. Leads wait until it polls.',
    failing: 'Events are sent again by themselves, and leads wait until the next poll.',
  },
};

/** What to do first about a webhook that answers so. */
export const authenticationFix = (status: number | null): string | undefined =>
  status === 401 || status === 403
    ? 'Set the authentication of its webhook to None in its platform: Leadtap sends none. A program that checks signatures needs the secret of this subscription.'
    : undefined;

export function hookFix(
  what: keyof typeof HOOK_FIXES,
  state: 'disabled' | 'failing',
  status: number | null,
): string {
  const look = state === 'failing' ? 'Look in its platform whether the automation is switched on.' : '';
  return `${authenticationFix(status) ?? look} ${HOOK_FIXES[what][state]}`.trim();
}

export function describeHook(consumer: ConsumerStatus, moment: Moment): FoundConsumer {
  const described = describeHookRow(consumer, moment);
  const cause = notAllowedCause(consumer, moment);
  if (cause) {
    const row = `${described.row}; ${cause}`;
    return {
      ...described,
      row,
      message: `${subjectOf(consumer)}: ${row}.`,
      ...notSentFixes(consumer, moment),
    };
  }
  const test =
    consumer.hook?.state === 'disabled'
      ? 'enables it again if its receiver accepts requests'
      : 'shows what the receiver answers';
  return {
    ...{ ...described, message: `${subjectOf(consumer)}: ${described.row}.` },
    fix: `${described.userFix} \`leadtap hooks send-test ID\` ${test} (${hooksCommand(consumer)} shows the id).`,
  };
}

function describeHookRow(consumer: ConsumerStatus, moment: Moment): ConsumerRow {
  const { state, lastStatus = null, failingSince = null } = consumer.hook ?? {};
  const what = hostOf(consumer) === null ? 'events' : 'leads';
  const leads = consumer.pendingLeads > 0 ? `; ${pendingText(consumer.pendingLeads)}` : '';
  const answer = `${lastStatus === null ? 'did not answer' : `answered with ${lastStatus}`}${leads}`;
  if (state === 'disabled') {
    const reason = what === 'leads' ? answer : `accepted no event for 3 days, and ${answer}`;
    return { row: `its webhook is disabled: it ${reason}`, userFix: hookFix(what, state, lastStatus) };
  }
  const failingS = failingSince === null ? 0 : secondsSince(moment, failingSince);
  const isLong = failingS >= FAILING_LONG_S;
  const failed = isLong
    ? `has accepted no ${what} for ${formatDuration(failingS)}`
    : `does not accept ${what}`;
  return {
    severity: isLong ? 'error' : 'warning',
    row: `its webhook ${failed}: it ${answer}`,
    userFix: hookFix(what, 'failing', lastStatus),
  };
}

/** The operator has one sentence for all of them. */
export const describeAwaited = (
  { lastPollAt, isUnrecorded }: ConsumerStatus,
  moment: Moment,
): ConsumerRow => ({
  row:
    lastPollAt !== null && secondsSince(moment, lastPollAt) < 0
      ? 'the clock of the service was set back since its last poll'
      : isUnrecorded
        ? 'has not polled since polls are recorded again (LEADTAP_CONSUMERS was off)'
        : 'has not polled since the service was unavailable',
  userFix: 'Wait for its next poll.',
});

/** All of them together: the cause is the service or its clock. */
export function findAwaited(facts: Facts): Found | undefined {
  const { downtime = null, listed = [], problems } = facts.consumers ?? {};
  const count = problems?.['consumers-awaited'] ?? 0;
  if (count === 0) return undefined;
  const awaited = `waiting for ${countOf(count, 'consumer', 'consumers')} to poll.`;
  const isAhead = listed.some(
    (one) =>
      one.problems.includes('consumers-awaited') &&
      one.lastPollAt !== null &&
      secondsSince(facts, one.lastPollAt) < 0,
  );
  if (isAhead || !downtime)
    return {
      message: `The clock was set back since the last polls: ${awaited}`,
      fix: 'Check the clock of this machine. If it is right, wait for the next polls.',
    };
  const ended = secondsSince(facts, downtime.until);
  const duration = formatDuration(secondsSince(facts, downtime.from) - ended);
  const cause = listed.some(({ isUnrecorded }) => isUnrecorded)
    ? 'Polls were not recorded (LEADTAP_CONSUMERS=off)'
    : 'The service was down';
  return {
    message: `${cause} for ${duration}, until ${formatDuration(ended)} ago: ${awaited}`,
    fix: 'Wait: a consumer that does not poll within one and a half of its usual intervals is then named.',
  };
}
