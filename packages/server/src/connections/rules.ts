/** What is said of one connection: its state, and the first rule that holds. Pure: time is a parameter. */
import {
  type ConnectionAction,
  type ConnectionLevel,
  countText,
  DOOR_ID,
  dateText,
  dayText,
  IMPORT_FIELDS,
  PHRASES,
  PROBLEMS,
  RATE_LIMITS,
  type TimeContext,
  timeText,
  UNASSIGNED_ID,
} from '@leadtap/contract';
import { fieldOfName } from '../leads/field-names.ts';
import { CUSTOM_FIELD_PREFIX } from '../leads/parse-lead.ts';
import { OTHER_NAME } from '../leads/shown-names.ts';
import { printable, quoteForShell, shorten, toOneLine } from '../lib/escape.ts';
import { formatDuration } from '../lib/formats.ts';
import { usualPauseMs } from './polls.ts';
import type { Connection, ConnectionFacts, MissedReason, StateOfConnection } from './store.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 1440 * MINUTE_MS;
/** So long must it fail, or a lead wait, before it is said. */
const MIN_TROUBLE_MS = 10 * MINUTE_MS;
/** What is longer than so many usual pauses is silence. */
const SILENT_PAUSES = 3;
const PAUSED_MS = 7 * DAY_MS;
const MIN_REPEATED = 3;
const MAX_CAUSES = 3;
const MAX_MAPS = 5;
const MAX_ARGUMENT_LENGTH = 60;

/** When it is judged. */
export interface Moment extends TimeContext {
  /** The newest stamp of the company. */
  readonly lastStamp: number;
  /** When no instance served: that is not the silence of a connection. */
  readonly deadTimes: readonly { readonly from: number; readonly until: number }[];
  readonly silentAfterMs: number;
  /** Figures are of the leads since then. */
  readonly since: number;
  /** Names of several connections: a command needs the id. */
  readonly sharedNames: ReadonlySet<string>;
}

type Facts = Connection & ConnectionFacts & Moment;
type Case = Facts & { readonly state: StateOfConnection['state']; readonly stateSince: number | null };
type Text = (facts: Case) => string;

export interface Rule {
  readonly name: string;
  /** Null: it is not listed. */
  readonly level: ConnectionLevel | null;
  /** Or a state. */
  readonly when: Case['state'] | ((facts: Case) => boolean);
  /** Default: its state. What is owed follows. */
  readonly what?: Text;
  readonly why?: Text;
  /** What to do, before the command. */
  readonly advice?: Text;
  /** What ends it with one click. */
  readonly action?: ConnectionAction;
  /** Of the fix. Default: that of the action. Without one, it shows the log. */
  readonly command?: Command;
}

/** Without our own downtime. */
function elapsedMs(since: number, { now, deadTimes }: Moment): number {
  const dead = deadTimes.map(({ from, until }) => Math.min(until, now) - Math.max(from, since));
  return dead.reduce((rest, ms) => rest - Math.max(0, ms), now - since);
}

const isLongAgo = (time: number, facts: Facts): boolean =>
  elapsedMs(time, facts) > Math.max(facts.silentAfterMs, SILENT_PAUSES * usualPauseMs(facts));

function isRefused(facts: Facts): boolean {
  const { kind, errors, failingSince, lastErrorAt, now } = facts;
  if (kind === 'send' || errors < 2 || failingSince === null) return false;
  if (now - failingSince < MIN_TROUBLE_MS) return false;
  return kind === 'webhook' || !isLongAgo(lastErrorAt ?? failingSince, facts);
}

/** Since when it gets full pages for the same `since`. */
function repeatsSince({ habit: { repeated } }: Facts): number | null {
  const [first, last] = [repeated[0]?.[0], repeated.at(-1)?.[0]];
  if (first === undefined || last === undefined || repeated.length < MIN_REPEATED) return null;
  return last - first >= MIN_TROUBLE_MS ? first : null;
}

/** Since when nothing was heard of it. Null: it is not silent. */
function silentSince(facts: Facts): number | null {
  const { kind, lastAt, lastErrorAt, lastLeadAt, longestPauseMs, eventAt, eventOpenSince } = facts;
  if (kind === 'send') {
    if (lastLeadAt === null || longestPauseMs === null) return null;
    return elapsedMs(lastLeadAt, facts) > Math.max(DAY_MS, SILENT_PAUSES * longestPauseMs)
      ? lastLeadAt
      : null;
  }
  if (kind === 'webhook' || lastAt === null) return null;
  if (eventAt === null) {
    const heardAt = Math.max(lastAt, lastErrorAt ?? 0);
    return isLongAgo(heardAt, facts) ? heardAt : null;
  }
  const isOpen = eventOpenSince !== null && eventOpenSince > lastAt;
  return isOpen && elapsedMs(eventOpenSince, facts) > facts.silentAfterMs ? eventOpenSince : null;
}

function stateOf(facts: Facts): StateOfConnection {
  const { endedAt, pausedAt, workedAt, startedAt, firstAt, failingSince } = facts;
  if (endedAt !== null) return { state: 'ended', since: endedAt };
  if (pausedAt !== null) return { state: 'paused', since: pausedAt };
  if (workedAt === null) return { state: 'new', since: startedAt ?? firstAt };
  if (isRefused(facts)) return { state: 'failing', since: failingSince };
  const [silent, repeats] = [silentSince(facts), repeatsSince(facts)];
  if (silent !== null) return { state: 'silent', since: silent };
  return repeats === null ? { state: 'working', since: null } : { state: 'failing', since: repeats };
}

const join = (parts: readonly (string | false)[], separator = ', '): string =>
  parts.filter(Boolean).join(separator);

/** In a sentence, in one line. */
export const inSentence = (text: string): string => shorten(toOneLine(text)).replaceAll('`', "'");

const isArgument = (text: string): boolean =>
  text.length <= MAX_ARGUMENT_LENGTH && printable(text) === text && /^(?!-)[^`\\]+$/.test(text);

const sum = (counts: readonly number[]): number => counts.reduce((all, count) => all + count, 0);
const missedOf = ({ missed }: Facts): number => sum(Object.values(missed));
export const lostOf = ({ lost }: Pick<Facts, 'lost'>): number => sum(lost.map(({ requests }) => requests));

const owed = (facts: Facts): string =>
  join([
    missedOf(facts) > 0 && PHRASES.missed(missedOf(facts)),
    facts.pruned > 0 && PHRASES.pruned(facts.pruned),
    facts.waiting > 0 && PHRASES.waiting(facts.waiting),
    facts.olderOwed > 0 && PHRASES.older(facts.olderOwed, dateText(facts.since, facts.timeZone)),
    facts.held > 0 && PHRASES.held(facts.held),
    lostOf(facts) > 0 && PHRASES.lost(lostOf(facts)),
  ]);

const day = (facts: Case): string => dayText(facts.stateSince ?? facts.now, facts);
const clock = (facts: Case, time = facts.stateSince): string => timeText(time ?? facts.now, facts);
const TIMES = ['never', 'once', 'twice'];
const times = (count: number): string => TIMES[count] ?? countText(count, 'times');

const STATES: Readonly<Record<Case['state'], Text>> = {
  ended: (facts) => PHRASES.ended(day(facts)),
  paused: (facts) => PHRASES.paused(facts.pausedBy && inSentence(facts.pausedBy), day(facts)),
  new: ({ kind, errors, habit }) =>
    join([
      PHRASES.new,
      errors > 0 ? `refused ${times(errors)}` : kind === 'poll' && `asked ${times(habit.polls)}`,
    ]),
  failing: (facts) => PHRASES.failing(clock(facts)),
  silent: (facts) => {
    const pauseMs = facts.kind === 'poll' && facts.eventAt === null ? usualPauseMs(facts) : 0;
    const every = pauseMs > 0 && PHRASES.usually(formatDuration(pauseMs / 1000));
    return join([PHRASES.silent(clock(facts)), every]);
  },
  working: ({ kind, leads, updated, oldKeyUsedAt, now }) =>
    kind === 'send'
      ? join([
          PHRASES.added(leads),
          updated > 0 && PHRASES.updated(updated),
          oldKeyUsedAt !== null && PHRASES.oldKey(formatDuration((now - oldKeyUsedAt) / 1000)),
        ])
      : PHRASES.sent(leads),
};

const MISSED_WHY: Readonly<Record<MissedReason, Text>> = {
  passed: ({ name }) => `${inSentence(name)} asked past them`,
  moved: () => 'assigned to it too late',
  narrowed: () => 'it may not see them any more',
  'not-recorded': () => 'perhaps sent just before the service stopped',
};
const REASONS = ['passed', 'moved', 'narrowed', 'not-recorded'] as const;
const ENDED_WHY: Readonly<Record<string, string>> = {
  ...{ revoked: 'its key was revoked', removed: 'it was removed', deleted: 'its platform deleted it' },
  ...{ '410': 'its receiver answered 410', 'user-removed': 'its user was removed' },
};

const CORRECT = 'Correct it where it runs';
const ASK_AGAIN = 'Let it send them again';
/** Why requests are refused, and what to do. Of other codes, the title of the problem. */
const CAUSES: Readonly<Record<string, readonly [why: string, advice: string]>> = {
  'token-missing': [
    'its key is in the address, or without Bearer',
    'Set LEADTAP_INTAKE=urls, or correct its header',
  ],
  'token-invalid': [
    'its header is not Bearer and its key',
    'Paste its whole key again, after Bearer and one space',
  ],
  'token-expired': ['its key has expired', 'Give it a new key'],
  'token-revoked': ['its key was revoked', 'Give it a new key'],
  'insufficient-scope': ['its key is for something else', 'Give it a key of its own'],
  'send:insufficient-scope': ['its key may only read', 'Give it a key with the scope leads:write'],
  'user-not-found': ['its user was removed', 'Give it a key of another user'],
  'malformed-request': ['no valid JSON', CORRECT],
  'unsupported-media-type': ['neither JSON nor a form', CORRECT],
  'payload-too-large': ['too large', CORRECT],
  'invalid-lead': ['no name, e-mail address or phone number', CORRECT],
  'no-contact': ['no name, e-mail address or phone number', CORRECT],
  'idempotency-key-reused': ['the Idempotency-Key of another lead', CORRECT],
  'id-of-another-person': ['the id of another person', 'Let it send another id for each person, or none'],
  'rate-limit-exceeded': [`more than ${RATE_LIMITS.intake.quota} a minute, perhaps spam`, ASK_AGAIN],
  'client-closed-request': ['cut off', ASK_AGAIN],
  'request-timeout': ['cut off', ASK_AGAIN],
  'held-too-long': ['held for 30 days, then deleted', ASK_AGAIN],
  'intake-off': ['LEADTAP_INTAKE was off', 'Set LEADTAP_INTAKE=on if it is still off'],
  refused: ['its receiver refuses them', CORRECT],
  timeout: ['its receiver does not answer in time', CORRECT],
  unreachable: ['its receiver is unreachable', CORRECT],
};
function causeOf({ kind }: Case, code = 'refused'): readonly [why: string, advice: string] {
  const title = Object.entries(PROBLEMS).find(([one]) => one === code)?.[1].title ?? code;
  const other = `${title.charAt(0).toLowerCase()}${title.slice(1)}`;
  return CAUSES[`${kind}:${code}`] ?? CAUSES[code] ?? [other, CORRECT];
}
function causes(facts: Case, of: readonly { readonly why: string }[]): string {
  const all = [...new Set(of.map(({ why }) => causeOf(facts, why)[0]))];
  return join([...all.slice(0, MAX_CAUSES), all.length > MAX_CAUSES && 'and others'], '; ');
}
const firstWaiting: Text = (facts) => `the first since ${clock(facts, facts.waitingSince)}`;

const fieldsOf = (facts: Case): readonly string[] => [
  ...new Set(facts.heldWhy.flatMap(({ fields }) => fields)),
];
const CONTACT_FIELDS: readonly string[] = ['fullName', 'firstName', 'lastName', 'email', 'phone1', 'phone2'];
/** The field that each name stands for. A value that does not fit is stored as a custom field. */
const maps: Text = (facts) =>
  fieldsOf(facts)
    .filter((name) => name !== OTHER_NAME && !name.startsWith(CUSTOM_FIELD_PREFIX) && isArgument(name))
    .slice(0, MAX_MAPS)
    .map((name) => {
      const field = IMPORT_FIELDS.some((one) => one.name === name) ? undefined : fieldOfName(name);
      return ` --map ${quoteForShell(`${name}=${field ?? `${CUSTOM_FIELD_PREFIX}${name}`}`)}`;
    })
    .join('');

/** They may be spam, or sent again. */
const TURNED_AWAY: readonly string[] = ['rate-limit-exceeded', 'client-closed-request', 'request-timeout'];

type Command = ConnectionAction | 'log' | 'export' | 'refused';
const COMMANDS: Readonly<Record<Command, string>> = {
  ...{ handled: 'connections handled', renew: 'token renew', resume: 'connections resume' },
  ...{ send: 'connections send --missed', accept: 'leads refused accept --all --connection' },
  ...{ connect: 'connections handled', 'allow-host': 'connections log', log: 'connections log' },
  ...{ export: 'leads export --owed', refused: 'leads refused list --connection' },
};
/** With its name if a person can paste it, else with its id. */
function commandOf(action: Command, facts: Case): string {
  const { id, name, companyId } = facts;
  const isNamed = isArgument(name) && id !== DOOR_ID && id !== UNASSIGNED_ID && !facts.sharedNames.has(name);
  const isOfCompany = id === UNASSIGNED_ID && isArgument(companyId);
  const flags = isOfCompany
    ? ` --company ${quoteForShell(companyId)}`
    : action === 'accept'
      ? maps(facts)
      : '';
  return `\`leadtap ${COMMANDS[action]} ${quoteForShell(isNamed ? name : id)}${flags}\``;
}

const missedWhy: Text = (facts) => {
  const found = REASONS.filter((why) => facts.missed[why] > 0);
  const count = (why: MissedReason) => (found.length > 1 ? ` (${facts.missed[why]})` : '');
  return `${join(found.map((why) => `${MISSED_WHY[why](facts)}${count(why)}`))}. Safe here`;
};
const failingWhy: Text = (facts) => {
  if (!isRefused(facts)) return 'it gets the same leads again and again';
  const next = facts.nextTryAt !== null && `next try at ${clock(facts, facts.nextTryAt)}`;
  return join([causeOf(facts, facts.lastErrorCode ?? undefined)[0], next]);
};
const heldWhy: Text = (facts) => {
  const fields = facts.heldWhy[0]?.why === 'invalid-lead' ? fieldsOf(facts) : [];
  return fields.length > 0 ? `not valid: ${inSentence(join(fields))}` : causes(facts, facts.heldWhy);
};
const longestPause: Text = ({ longestPauseMs }) =>
  `its longest pause was ${formatDuration((longestPauseMs ?? 0) / 1000)}`;

// What several rows share.
type Shared = Omit<Rule, 'name' | 'level' | 'when'>;
const adviceOf = (facts: Case, [first]: readonly { readonly why: string }[]): string =>
  `${causeOf(facts, first?.why)[1]}, then`;
const HELD: Shared = {
  ...{ why: heldWhy, advice: (facts) => adviceOf(facts, facts.heldWhy), action: 'accept' },
};
const NO_CONTACT: Shared = {
  advice: () =>
    'Look for the field of the e-mail address or phone number, and accept them with --map, or delete them:',
  command: 'refused',
};
const LOST: Shared = {
  why: (facts) => causes(facts, facts.lost),
  ...{ advice: (facts) => adviceOf(facts, facts.lost), action: 'handled' },
};
const NEW: Shared = { advice: () => 'If it was a test:', action: 'handled' };
const PRUNED: Shared = { advice: () => 'They are gone:', action: 'handled' };
const SILENT: Shared = {
  advice: () => 'Switch it on where it runs; or if that was on purpose:',
  action: 'handled',
};
const PAUSED: Shared = { advice: () => 'Let it go on with', action: 'resume' };
const RENEW: Shared = { advice: () => 'Paste a new key there:', action: 'renew' };
const KEY: Shared = { what: () => 'its key is no longer accepted', ...RENEW };
const LOG: Shared = {
  advice: ({ kind }) =>
    kind === 'webhook' ? 'See what its receiver answered:' : 'See what it asked for and got:',
};
const FAILING: Shared = { why: failingWhy, ...LOG };
const AHEAD: Shared = {
  what: (facts) => `asks for leads after ${clock(facts, facts.aheadSince)}`,
  why: () => 'it gets none',
  ...{ advice: () => 'Correct the time that it asks for; or if it is not used:', action: 'handled' },
};
const goneWhy: Text = (facts) =>
  `our newest is of ${clock(facts, facts.lastStamp)}, leads are gone from this database`;
const DOWNLOAD: Text = () => 'Download them, then mark them as handled:';
const MISSED: Shared = {
  why: missedWhy,
  advice: DOWNLOAD,
  ...{ action: 'handled', command: 'export' },
};
const STOPPED: Shared = {
  what: ({ stoppedBy }) => `switched off by ${stoppedBy}`,
  advice: ({ host, stoppedBy }) => `Allow ${host} with ${stoppedBy}, then see`,
};
const HOST: Shared = { ...STOPPED, action: 'allow-host' };

const areHooksOff = ({ stoppedBy }: Case): boolean => stoppedBy === 'LEADTAP_HOOKS';
const isOwing = (facts: Case): boolean =>
  facts.state === 'ended' && facts.workedAt !== null && missedOf(facts) + facts.pruned + facts.waiting > 0;
/** An edited automation is deleted and made again within minutes. */
const isBeingMadeAgain = (facts: Case): boolean =>
  isOwing(facts) && facts.endedBy === 'deleted' && facts.now - (facts.endedAt ?? 0) < MIN_TROUBLE_MS;
const isOver = ({ state, startStamp }: Case): boolean => state === 'ended' || startStamp === null;
/** One that polls and is not called may have a new key that it has not used yet. */
const isExpired = ({ kind, source, eventAt, waiting, tokenExpiresAt, now }: Case): boolean => {
  if (source !== 'token' || tokenExpiresAt === null || tokenExpiresAt > now) return false;
  return kind === 'webhook' || eventAt !== null || waiting > 0;
};
const areKeysExpired = ({ keysUntil, workedAt, now }: Case): boolean =>
  workedAt !== null && keysUntil !== null && keysUntil <= now;
const isFailingByKey = ({ state, source, errors, lastErrorCode }: Case): boolean =>
  state === 'failing' && source !== 'provider' && errors > 0 && lastErrorCode?.startsWith('token-') === true;
const isSilentOwing = ({ state, waiting }: Case): boolean => state === 'silent' && waiting > 0;
const isPausedLong = ({ state, stateSince, now }: Case): boolean =>
  state === 'paused' && now - (stateSince ?? now) > PAUSED_MS;
const isLate = (facts: Case): boolean =>
  facts.waitingSince !== null &&
  elapsedMs(facts.waitingSince, facts) > Math.max(MIN_TROUBLE_MS, SILENT_PAUSES * usualPauseMs(facts));
const isNewLong = ({ state, stateSince, waitingSince, now }: Case): boolean =>
  state === 'new' && waitingSince !== null && now - Math.max(waitingSince, stateSince ?? 0) > DAY_MS;
const isKeyLost = ({ isKeyAccepted, state }: Case): boolean =>
  !isKeyAccepted && state !== 'new' && state !== 'ended';
const isLost = ({ lost }: Case): boolean => lost.some(({ why }) => !TURNED_AWAY.includes(why));
/** No name is known to be a field with which a person can be reached: to accept them as they are would be refused again. */
const hasNoContact = (facts: Case): boolean =>
  facts.held > 0 &&
  facts.heldWhy[0]?.why === 'no-contact' &&
  !fieldsOf(facts).some((name) => CONTACT_FIELDS.includes(fieldOfName(name) ?? name));
const isTurnedAway = ({ lost, now }: Case): boolean => lost.some(({ lastAt }) => now - lastAt < DAY_MS);
const isKnocking = ({ lost, now }: Case): boolean =>
  lost.some(({ why, lastAt }) => why === 'token-invalid' && now - lastAt < DAY_MS);

/** In the order of urgency: the first that holds is said. */
export const RULES: Readonly<Record<'in' | 'out' | 'door' | 'unassigned', readonly Rule[]>> = {
  out: [
    {
      name: 'replaced',
      level: 'unknown',
      when: isBeingMadeAgain,
      why: () => 'its platform deleted it just now',
    },
    {
      ...{ name: 'ended', level: 'error', when: isOwing, action: 'handled' },
      why: ({ endedBy }) => ENDED_WHY[endedBy ?? ''] ?? '',
      ...{ advice: DOWNLOAD, command: 'export' },
    },
    { name: 'over', level: null, when: isOver },
    { name: 'future', level: 'error', when: ({ ahead }) => ahead === 'future', ...AHEAD },
    { name: 'gone', level: 'error', when: ({ ahead }) => ahead === 'gone', ...AHEAD, why: goneWhy },
    { name: 'new-long', level: 'warning', when: isNewLong, ...NEW },
    { name: 'new', level: 'unknown', when: 'new', ...NEW },
    { name: 'key', level: 'error', when: isKeyLost, ...KEY },
    { name: 'expired', level: 'error', when: isExpired, why: () => 'its key has expired', ...RENEW },
    { name: 'pruned', level: 'error', when: ({ pruned }) => pruned > 0, ...PRUNED },
    {
      ...{ name: 'missed-webhook', level: 'error', why: missedWhy, action: 'send' },
      when: ({ kind, missed }) => kind === 'webhook' && missed.passed > 0,
      advice: () => 'Send them:',
    },
    { name: 'missed', level: 'error', when: ({ missed }) => missed.passed > 0, ...MISSED },
    {
      name: 'hooks-off',
      level: 'warning',
      when: areHooksOff,
      ...STOPPED,
      advice: () => 'Set LEADTAP_HOOKS=on, then see',
    },
    { name: 'host', level: 'warning', when: ({ stoppedBy }) => stoppedBy !== null, ...HOST },
    { name: 'failing-key', level: 'error', when: isFailingByKey, ...FAILING, ...RENEW },
    { name: 'failing', level: 'error', when: 'failing', ...FAILING },
    { name: 'silent-owing', level: 'error', when: isSilentOwing, ...SILENT },
    { name: 'missed-otherwise', level: 'warning', when: (facts) => missedOf(facts) > 0, ...MISSED },
    { name: 'paused-long', level: 'warning', when: isPausedLong, ...PAUSED },
    { name: 'paused', level: 'unknown', when: 'paused', ...PAUSED },
    { name: 'silent', level: 'warning', when: 'silent', ...SILENT },
    { name: 'late', level: 'warning', when: isLate, why: firstWaiting, ...LOG },
    { name: 'working', level: 'good', when: () => true },
  ],
  in: [
    { name: 'key', level: 'error', when: isKeyLost, ...KEY },
    { name: 'held-unknown', level: 'error', when: hasNoContact, ...HELD, ...NO_CONTACT },
    { name: 'held', level: 'error', when: ({ held }) => held > 0, ...HELD },
    { name: 'lost', level: 'error', when: isLost, ...LOST },
    { name: 'turned-away', level: 'warning', when: isTurnedAway, ...LOST },
    { name: 'over', level: null, when: 'ended' },
    { name: 'expired', level: 'error', when: areKeysExpired, why: () => 'its key has expired', ...RENEW },
    { name: 'silent', level: 'warning', when: 'silent', why: longestPause, ...SILENT },
    { name: 'new', level: 'unknown', when: 'new', ...NEW },
    { name: 'working', level: 'good', when: () => true },
  ],
  door: [
    {
      ...{ name: 'unknown-key', level: 'warning', when: isKnocking, action: 'handled' },
      ...{ why: () => 'perhaps your own form', advice: () => 'If so, paste its whole key again, then' },
    },
    { name: 'figures', level: 'unknown', when: ({ lost }) => lost.length > 0 },
  ],
  unassigned: [
    {
      ...{ name: 'unassigned', level: 'warning', when: ({ waiting }) => waiting > 0, action: 'connect' },
      ...{ why: () => 'safe here', advice: () => 'Connect an automation, send them to it, then' },
    },
  ],
};

const DOOR: Readonly<Record<string, string>> = {
  ...{ 'token-invalid': 'with a wrong key', 'token-missing': 'without a key' },
};
function briefOf({ what }: Rule, facts: Case): string {
  const { id, state, lost, waiting } = facts;
  if (id === UNASSIGNED_ID) return `${PHRASES.lead(waiting)} that no automation gets`;
  if (id !== DOOR_ID) return join([(what ?? STATES[state])(facts), owed(facts)]);
  return join(lost.map((one) => `${PHRASES.request(one.requests)} ${DOOR[one.why] ?? one.why}`));
}

export function rulesOf({ id, kind }: Pick<Connection, 'id' | 'kind'>): readonly Rule[] {
  if (id === DOOR_ID || id === UNASSIGNED_ID) return RULES[id];
  return RULES[kind === 'send' ? 'in' : 'out'];
}

export type Judgement = NonNullable<ReturnType<typeof judge>>;

/** Undefined: it is not listed. `brief` is its message without the reason. */
export function judge(facts: ConnectionFacts, moment: Moment) {
  // In Node.js 20, an object of several spreads takes 100 µs.
  const all: Facts = Object.assign({}, facts.connection, facts, moment);
  const { state, since: stateSince } = stateOf(all);
  const known: Case = Object.assign(all, { state, stateSince });
  const rule = rulesOf(known).find(({ when }) => (typeof when === 'string' ? when === state : when(known)));
  if (rule === undefined || rule.level === null) return undefined;
  const { name, level, why, advice, action = null, command = action ?? 'log' } = rule;
  const brief = briefOf(rule, known);
  const message = join([brief, why?.(known) ?? ''], ': ');
  const fix = advice === undefined ? null : `${advice(known)} ${commandOf(command, known)}.`;
  return { rule: name, state, stateSince, level, brief, message, fix, action };
}
