/**
 * The sender of events waits for seconds up to an hour, and no setting changes that. The instances of a trial load its modules with
 * shorter times, and with a deliberate defect if one is chosen.
 */
import { changedModules, type Replacement } from '../changed-modules.ts';

/** Of one attempt. */
export const TIMEOUT_MS = 1000;
/** Longer than polls take to be recorded (5 s), so that clients that have polled get no reminder. */
export const REMIND_AFTER_MS = 8000;

export const SHORT_TIMES: readonly Replacement[] = [
  {
    module: 'hooks/rules.js',
    part: 'BACKOFF_MS = [FIRST_BACKOFF_MS, 30 * SECOND_MS, 2 * MINUTE_MS, 5 * MINUTE_MS]',
    by: 'BACKOFF_MS = [250, 1000, 2000]',
  },
  {
    module: 'hooks/rules.js',
    part: 'RESTART_BACKOFF_MS = [FIRST_BACKOFF_MS, 5000, 10_000, 10_000, 20_000, 30_000, 40_000]',
    by: 'RESTART_BACKOFF_MS = [250, 250, 500, 1000]',
  },
  {
    module: 'hooks/rules.js',
    part: 'REMIND_AFTER_MS = [10 * MINUTE_MS, ',
    by: `REMIND_AFTER_MS = [${REMIND_AFTER_MS}, `,
  },
  { module: 'hooks/deliver.js', part: 'TIMEOUT_MS = 10_000', by: `TIMEOUT_MS = ${TIMEOUT_MS}` },
  { module: 'hooks/claim-sender.js', part: 'CLAIM_MS = 15_000', by: `CLAIM_MS = ${3 * TIMEOUT_MS}` },
  { module: 'hooks/claim-sender.js', part: 'MAX_BEGIN_MS = 4000', by: `MAX_BEGIN_MS = ${TIMEOUT_MS}` },
];

export const HOOK_MUTATIONS = {
  /** An event that failed counts as announced. */
  'announced-by-failure': [
    {
      module: 'hooks/rules.js',
      part: 'progressAfterFailure(due.hook, result, context);',
      by: '{ ...progressAfterFailure(due.hook, result, context), announcedThrough: due.through };',
    },
  ],
  /** An accepted event counts for the leads that were committed while it was in flight. */
  'announced-too-far': [
    {
      module: 'hooks/rules.js',
      part: 'Math.max(through, hook.announcedThrough)',
      by: 'Math.max(through, now)',
    },
  ],
  /** The position of a hook that sends leads moves with a request that failed. */
  'moved-by-failure': [
    {
      module: 'hooks/claim-sender.js',
      part: '{ accepted, end: outcome }',
      by: '{ accepted: { createdAt: next.createdAt, status: 500 }, end: outcome }',
    },
  ],
  /** A repetition has another id. */
  'other-repetition': [
    {
      module: 'hooks/event.js',
      part: 'messageId(hook.id, lead.createdAt, message)',
      by: 'messageId(hook.id, lead.createdAt, performance.now())',
    },
  ],
  /** All leads of the company are sent, whatever the user may see. */
  'ignored-access': [
    { module: 'leads/access.js', part: 'return `CASE $', by: "return `CASE coalesce('COMPANY', $" },
    { module: 'leads/access.js', part: '}.access_level $', by: '}.access_level) $' },
  ],
  'no-reminder': [
    {
      module: 'hooks/rules.js',
      part: 'remindAt = nextReminder(due, now)',
      by: 'remindAt = null',
    },
  ],
} satisfies Record<string, readonly Replacement[]>;

export type HookMutation = keyof typeof HOOK_MUTATIONS;

/** The environment of an instance. */
export const changedSender = (mutation?: HookMutation): { readonly NODE_OPTIONS: string } =>
  changedModules([...SHORT_TIMES, ...(mutation ? HOOK_MUTATIONS[mutation] : [])]);
