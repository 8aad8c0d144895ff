/** The sentences of the rules about single consumers: what is wrong with one, and what to do. */
import { toIso } from '../clock.ts';
import { isSameConsumer } from '../consumers/store.ts';
import { formatDuration } from '../formats.ts';
import { isRefusal } from './consumers.ts';
import type { ConsumerProblem, ConsumerStatus, Facts, StatusProblem } from './report.ts';
import {
  consumersCommand,
  countOf,
  describe,
  fixOf,
  issueCommand,
  listNames,
  revokeCommand,
  secondsSince,
  subjectOf,
} from './sentences.ts';

/** In words, and what to do. The level and the page of the documents are those of the rule if they are missing. */
export type Found = Pick<StatusProblem, 'message' | 'fix'> &
  Partial<Pick<StatusProblem, 'severity' | 'docs'>>;

const LIMITED_LONG_S = 15 * 60;
const RECENT_REFUSAL_S = 3600;

/** Describes the first consumer with this problem, in the order of `sortKey`, and names the others. */
export function findConsumers(
  facts: Facts,
  problem: ConsumerProblem,
  describeFirst: (consumer: ConsumerStatus, facts: Facts) => Found,
  sortKey: (consumer: ConsumerStatus) => string = () => '',
): Found | undefined {
  const { consumers } = facts;
  const [first, ...others] = (consumers?.listed ?? [])
    .filter(({ problems }) => problems.includes(problem))
    .sort((a, b) => Number(sortKey(a) > sortKey(b)) - Number(sortKey(a) < sortKey(b)));
  if (!consumers || !first) return undefined;
  const found = describeFirst(first, facts);
  const more = consumers.problems[problem] - 1;
  if (more === 0) return found;
  const names = `${countOf(more, 'more has', 'more have')} the same problem: ${listNames(others, more)}.`;
  return { ...found, message: `${found.message} ${names}` };
}

export function describeSkipped(consumer: ConsumerStatus, { generatedAt }: Facts): Found {
  const { skipped, skippedSince, confirmedThrough } = consumer;
  const usesSince = confirmedThrough !== null;
  const leads = countOf(skipped, 'lead', 'leads');
  const reason = usesSince ? 'it asked for what comes after' : 'more leads came than fit into its page';
  const hint = usesSince ? 'It' : 'Without `since`, a poll returns only the newest leads: it';
  // A page begins after its `since`.
  const since = toIso(Date.parse(skippedSince ?? generatedAt) - 1);
  return {
    message: `${subjectOf(consumer)} has skipped ${leads}: ${reason}, so ${skipped === 1 ? 'it was' : 'they were'} never sent to it.`,
    fix: `Let ${describe(consumer)} poll once with \`since=${since}\`: this returns them. ${hint} must continue with the address in \`Link\`, or with the \`createdAt\` of the last lead that it has got, never with its own clock.`,
  };
}

const ENDINGS = {
  revoked: 'was revoked',
  expired: 'has expired',
  'key-removed': 'was signed with a key that was removed',
} as const;

export function describeEnded(consumer: ConsumerStatus): Found {
  const ending = consumer.tokenEnded ?? 'revoked';
  return {
    message: `${subjectOf(consumer)} polls with a token that ${ENDINGS[ending]}: it is refused with 401.`,
    fix: `Put the new token into the automation, or switch the automation off. To issue one: ${issueCommand(consumer)}.`,
    ...(ending === 'expired' && { docs: 'docs/errors.md#token-expired' }),
  };
}

/** `403 professional-plan-required`, and what to do about it. Undefined if the last poll was not refused. */
function lastRefusalOf({ refusals }: Facts, consumer: ConsumerStatus) {
  if (!isRefusal(consumer.lastStatus)) return undefined;
  // Only the instance that refused it knows the code.
  const code = refusals.find(
    ({ status, consumers }) =>
      status === consumer.lastStatus && consumers.some((other) => isSameConsumer(other, consumer)),
  )?.code;
  return {
    text: `${consumer.lastStatus}${code ? ` ${code}` : ''}`,
    fix: code ? fixOf(code, consumer.userId) : 'The table of refusals has the codes.',
    docs: code ? `docs/errors.md#${code}` : 'docs/errors.md',
  };
}

const stoppedFix = (consumer: ConsumerStatus): string =>
  `Look in its platform whether the automation is switched on and what its last run says. If it was switched off for good, revoke its token: ${revokeCommand(consumer)}.`;

const renewFix = (consumer: ConsumerStatus): string =>
  `Issue a new token and put it into the automation: ${issueCommand(consumer)}.`;

export function describeStale(consumer: ConsumerStatus, facts: Facts): Found {
  const { lastPollAt, tokenExpiresAt, usualIntervalSeconds } = consumer;
  const silence = formatDuration(secondsSince(facts, lastPollAt ?? ''));
  const sentence = (reason: string) => `${subjectOf(consumer)} has not polled for ${silence}${reason}.`;
  if (tokenExpiresAt !== null && secondsSince(facts, tokenExpiresAt) >= 0) {
    const expired = formatDuration(secondsSince(facts, tokenExpiresAt));
    return {
      message: sentence(`; its token expired ${expired} ago`),
      fix: renewFix(consumer),
      docs: 'docs/errors.md#token-expired',
    };
  }
  const refusal = lastRefusalOf(facts, consumer);
  if (refusal)
    return {
      message: sentence(`; its last poll was refused with ${refusal.text}`),
      fix: refusal.fix,
      docs: refusal.docs,
    };
  const usual = usualIntervalSeconds === null ? '' : formatDuration(usualIntervalSeconds);
  return {
    message: sentence(usual && `; it usually polls every ${usual}`),
    fix: stoppedFix(consumer),
  };
}

/** How long the oldest lead has been waiting. */
const waitOf = (facts: Facts, { waitingSince, unconfirmedSince }: ConsumerStatus): number =>
  secondsSince(facts, waitingSince ?? unconfirmedSince ?? facts.generatedAt);

export function describeWaiting(consumer: ConsumerStatus, facts: Facts): Found {
  const { waiting, state } = consumer;
  const refusal = lastRefusalOf(facts, consumer);
  const leads = waiting === 0 ? 'Leads wait' : countOf(waiting, 'lead waits', 'leads wait');
  const oldest = formatDuration(waitOf(facts, consumer));
  const behindFix = `It polls, but does not get them: it must follow the address in \`Link\` until a page is empty. ${consumersCommand(consumer)} shows how far it has come.`;
  return {
    message: `${leads} for ${describe(consumer)}, the oldest for ${oldest}; ${lastPollOf(consumer, facts)}.`,
    fix: refusal?.fix ?? (state === 'active' ? behindFix : stoppedFix(consumer)),
    ...(refusal && { docs: refusal.docs }),
  };
}

function lastPollOf(consumer: ConsumerStatus, facts: Facts): string {
  if (consumer.lastPollAt === null) return 'it accepts webhook events, but has never polled';
  const refusal = lastRefusalOf(facts, consumer);
  if (refusal) return `its last poll was refused with ${refusal.text}`;
  if (consumer.isStuck) return 'it polls from the same place again and again';
  return `its last poll was ${formatDuration(secondsSince(facts, consumer.lastPollAt))} ago`;
}

export function describeLimited(consumer: ConsumerStatus, facts: Facts): Found {
  const wait = waitOf(facts, consumer);
  return {
    severity: wait > LIMITED_LONG_S ? 'error' : 'warning',
    message: `${subjectOf(consumer)} polls too often: its last poll was refused with 429, and leads have been waiting for ${formatDuration(wait)}.`,
    fix: `Let it poll less often, or with \`Prefer: wait=50\`. All tokens of a user share the limits: ${consumersCommand(consumer)} lists them.`,
  };
}

export function describeRefused(consumer: ConsumerStatus, facts: Facts): Found {
  const { text = '', fix = '', docs = 'docs/errors.md' } = lastRefusalOf(facts, consumer) ?? {};
  return { message: `${subjectOf(consumer)} polls, but is refused with ${text}.`, fix, docs };
}

/** The tokens of removed users are no consumers any more. Only the instance that refuses them knows that they are used. */
export function findRefusedWithoutUser(facts: Facts): Found | undefined {
  for (const { code, status, consumers } of facts.refusals) {
    if (code !== 'user-not-found' && code !== 'token-revoked') continue;
    const first = consumers.find(
      (one) =>
        secondsSince(facts, one.lastAt) < RECENT_REFUSAL_S &&
        !facts.consumers?.listed.some((other) => isSameConsumer(one, other)),
    );
    if (first)
      return {
        message: `${subjectOf(first)} polls, but is refused with ${status} ${code}.`,
        fix: fixOf(code, first.userId),
        docs: `docs/errors.md#${code}`,
      };
  }
  return undefined;
}

export function describeExpiring(consumer: ConsumerStatus, facts: Facts): Found {
  const left = formatDuration(-secondsSince(facts, consumer.tokenExpiresAt ?? ''));
  return {
    message: `The token of ${describe(consumer)} expires in ${left}.`,
    fix: `${renewFix(consumer)} The automation keeps its position.`,
  };
}

/** All of them together: it is not their fault. */
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
  return {
    message: `The service was down for ${duration}, until ${formatDuration(ended)} ago: ${awaited}`,
    fix: 'Wait: a consumer that does not poll within one and a half of its usual intervals is then named.',
  };
}
