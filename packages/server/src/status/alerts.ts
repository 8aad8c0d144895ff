/** Messages to `LEADTAP_ALERT_URL`: one when a subject, such as a consumer, gets a problem of the diagnosis, and one when that ends. */
import type { Clock } from '../lib/clock.ts';
import { formatDuration } from '../lib/formats.ts';
import {
  CONSUMER_PROBLEMS,
  type ConsumerProblem,
  type ConsumerStatus,
  SENDER_PROBLEMS,
  type StatusProblem,
  type StatusReport,
} from './report.ts';
import { RULES, type Rule } from './rules.ts';
import { countOf } from './sentences.ts';

const CHECK_MS = 60_000;
/** The begins of a subject that come and go are sent once in this time. */
const REPEAT_MS = 3_600_000;
/** More are not remembered: their rule is the subject. */
const MAX_SUBJECTS = 1000;
const MAX_NAMES = 5;

const TEAMS_HOST = /\.(?:webhook\.office\.com|logic\.azure\.com|powerplatform\.com)$/;
const SLACK_HOSTS = ['hooks.slack.com', 'hooks.slack-gov.com', 'chat.googleapis.com'];
/** Mattermost and Rocket.Chat have `/hooks/`; Discord accepts the form of Slack at an address that ends in `/slack`. */
const SLACK_PATH = /\/hooks\/|\/slack$/;

/** In the form that the receiver needs. Decided by the address alone, so that there is no second setting. */
function toBody({ hostname, pathname }: URL, text: string): string | object {
  if (SLACK_HOSTS.includes(hostname) || SLACK_PATH.test(pathname)) return { text };
  if (!TEAMS_HOST.test(hostname)) return text;
  // Workflows of Teams refuse `{ text }`.
  const card = { type: 'AdaptiveCard', version: '1.4', body: [{ type: 'TextBlock', text, wrap: true }] };
  const attachment = { contentType: 'application/vnd.microsoft.card.adaptive', content: card };
  return { type: 'message', attachments: [attachment] };
}

/**
 * The text contains names, which come from people. In their full-width form, these characters mention no one and format nothing,
 * whatever receives the message. Commands are between backticks; in those, chats read only `<!channel>` and `&`.
 */
const withoutMarkup = (text: string): string =>
  text
    .split(/(`[^`]*`)/)
    .map((part, index) => part.replace(index % 2 === 1 ? IN_COMMAND : IN_SENTENCE, toFullWidth))
    .join('');

const IN_COMMAND = /[<>&]/g;
/** An underscore between letters formats nothing. */
const IN_SENTENCE = /[<>&@[\]*~|\\]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu;

const toFullWidth = (character: string): string => String.fromCharCode(character.charCodeAt(0) + 0xfee0);

type Outcome = { readonly kind: string; readonly status?: number } | 'aborted';

export interface AlertTarget {
  /** A secret: who knows it can send messages. */
  readonly alertUrl: string;
  /** Its host names the installation: several may send to one address. */
  readonly publicUrl: string | undefined;
  /** That of webhooks: with a timeout, without redirects. */
  readonly delivery: {
    post(url: URL, headers: Readonly<Record<string, string>>, body: string): Promise<Outcome>;
    close(): void;
  };
  readonly version: string;
}

export function sendAlert(target: AlertTarget, text: string): Promise<Outcome> {
  const { alertUrl, publicUrl, delivery, version } = target;
  const url = new URL(alertUrl);
  const source = publicUrl === undefined ? '' : ` (${new URL(publicUrl).host})`;
  const content = toBody(url, `Leadtap${source}: ${withoutMarkup(text)}`);
  const isText = typeof content === 'string';
  const body = isText ? content : JSON.stringify(content);
  const headers = {
    'content-type': isText ? 'text/plain; charset=utf-8' : 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    'user-agent': `Leadtap/${version}`,
  };
  return delivery.post(url, headers, body);
}

export interface AlertOptions extends AlertTarget {
  readonly readStatus: () => Promise<StatusReport>;
  readonly clock: Clock;
  readonly log: { warn(details: object, message: string): void };
}

/** A problem of one subject, or of none. */
interface Alert {
  readonly kind: StatusProblem['kind'];
  /** Of its subject. Empty: the rule itself. */
  readonly key: string;
  readonly name: string;
  readonly severity: StatusProblem['severity'];
  readonly message: string;
  readonly fix: string;
}

interface SentAlert extends Pick<Alert, 'kind' | 'key' | 'name' | 'severity'> {
  readonly at: number;
}

/** In memory: after a restart, a problem that still exists is sent once more. */
export class Alerts {
  readonly #options: AlertOptions;
  /** Those of which the begin was accepted and the end was not. */
  readonly #open = new Map<string, SentAlert>();
  /** When the last begin of a subject and a severity was accepted, of the last hour. */
  readonly #lastSent = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;

  constructor(options: AlertOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => void this.check(), CHECK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#options.delivery.close();
  }

  /** Never rejects. What could not be sent is tried again with the next check. */
  check(): Promise<void> {
    this.#running ??= this.#check()
      .catch((err) => this.#options.log.warn({ err }, 'the alerts could not be checked'))
      .finally(() => {
        this.#running = undefined;
      });
    return this.#running;
  }

  async #check(): Promise<void> {
    const report = await this.#options.readStatus();
    const now = this.#options.clock();
    // A clock that was set back must not keep a problem from being sent.
    for (const [key, at] of this.#lastSent) if (now < at || now - at >= REPEAT_MS) this.#lastSent.delete(key);
    for (const rule of RULES) {
      const problem = report.problems.find(({ kind }) => kind === rule.name);
      const alerts = problem && problem.severity !== 'unknown' ? this.#alertsOf(problem) : [];
      await this.#sendEnds(rule, alerts, report, now);
      if (problem) await this.#sendBegins(problem, alerts, now);
    }
  }

  /** Those of one rule and severity that begin in the same check are one message. */
  async #sendBegins(problem: StatusProblem, alerts: readonly Alert[], now: number): Promise<void> {
    const begun = alerts.filter((alert) => this.#hasBegun(alert));
    for (const severity of ['error', 'warning'] as const) {
      const [first, ...others] = begun.filter((alert) => alert.severity === severity);
      if (!first || !(await this.#send(toBegin(problem, first, others)))) continue;
      for (const { kind, key, name } of [first, ...others]) {
        this.#open.set(keyOf(kind, key), { kind, key, name, severity, at: now });
        this.#lastSent.set(limitKeyOf({ kind, key, severity }), now);
      }
    }
  }

  /** The rule itself is the subject if it has none, or if there are more than are listed or remembered. */
  #alertsOf(problem: StatusProblem): Alert[] {
    const { kind, severity, message, fix, subjects, hasMoreSubjects = false } = problem;
    const all = (subjects ?? []).map((subject) => ({ kind, ...subject }));
    const isOpen = ({ key }: Pick<Alert, 'key'>): boolean => this.#open.has(keyOf(kind, key));
    const isFull = this.#open.size + all.filter((alert) => !isOpen(alert)).length > MAX_SUBJECTS;
    const known = isFull ? all.filter(isOpen) : all;
    if (subjects && known.length === all.length && !hasMoreSubjects) return known;
    return [{ ...{ kind, key: '', name: '' }, severity, message, fix }, ...known];
  }

  /** Not while it is open, unless it was a warning and is an error now. */
  #hasBegun(alert: Alert): boolean {
    const open = this.#open.get(keyOf(alert.kind, alert.key));
    if (open && (open.severity === 'error' || alert.severity === 'warning')) return false;
    return alert.severity !== 'unknown' && !this.#lastSent.has(limitKeyOf(alert));
  }

  async #sendEnds(rule: Rule, alerts: readonly Alert[], report: StatusReport, now: number) {
    if (!isKnown(rule.name, report)) return;
    const remaining = new Set(alerts.map(({ key }) => key));
    const isRemaining = (key: string): boolean => remaining.has(key) || (key !== '' && remaining.has(''));
    const ended = new Map<string, SentAlert[]>();
    for (const open of this.#open.values()) {
      if (open.kind !== rule.name || isRemaining(open.key)) continue;
      const reason = endReasonOf(open, rule, report);
      if (open.key === '' && alerts.length > 0) this.#open.delete(keyOf(open.kind, ''));
      else if (reason !== undefined) ended.set(reason, [...(ended.get(reason) ?? []), open]);
    }
    for (const [reason, alerts] of ended)
      if (await this.#send(toEnd(reason, alerts, now)))
        for (const { kind, key } of alerts) this.#open.delete(keyOf(kind, key));
  }

  async #send(text: string): Promise<boolean> {
    const { log, alertUrl } = this.#options;
    const outcome = await sendAlert(this.#options, text);
    if (outcome === 'aborted' || outcome.kind === 'accepted') return outcome !== 'aborted';
    const { kind, status } = outcome;
    log.warn({ host: new URL(alertUrl).host, outcome: kind, status }, 'an alert was not accepted');
    return false;
  }
}

const keyOf = (kind: StatusProblem['kind'], subject: string): string => `${kind}\0${subject}`;

/** A consumer that changes from one problem to another is one subject. */
const limitKeyOf = ({ kind, key, severity }: Pick<Alert, 'kind' | 'key' | 'severity'>): string =>
  `${severity}\0${key === '' ? kind : `\0${key}`}`;

function toBegin(problem: StatusProblem, first: Alert, others: readonly Alert[]): string {
  if (first.key === '') return `${problem.severity}: ${problem.message}\n${problem.fix}`;
  const more = others.length;
  const names = others.map(({ name }) => name);
  const same = `${countOf(more, 'more has', 'more have')} the same problem: ${listUpTo(MAX_NAMES - 1, names)}.`;
  return `${first.severity}: ${first.message}${more === 0 ? '' : ` ${same}`}\n${first.fix}`;
}

function toEnd(reason: string, [first, ...others]: readonly SentAlert[], now: number): string {
  if (!first || first.key === '')
    return `ended after ${formatDuration((now - (first?.at ?? now)) / 1000)}: ${reason}.`;
  if (others.length === 0)
    return `ended after ${formatDuration((now - first.at) / 1000)}: ${first.name} ${reason}.`;
  const names = [first, ...others].map(({ name }) => name);
  return `ended: ${listUpTo(MAX_NAMES, names)}: each ${reason}.`;
}

const listUpTo = (max: number, names: readonly string[]): string => {
  const others = names.length - max;
  return others > 0 ? `${names.slice(0, max).join(', ')} and ${others} more` : names.join(', ');
};

/** Undefined: it has not ended, because leads wait, or the subject has another problem instead. */
function endReasonOf({ key }: SentAlert, rule: Rule, { consumers }: StatusReport): string | undefined {
  if (key === '') return rule.title;
  const consumer = consumers?.listed.find((one) => one.key === key);
  const reason = rule.ended ?? `no longer has this problem: ${rule.title}`;
  if (!consumer) return isConsumerProblem(rule.name) ? 'was revoked, removed or forgotten' : reason;
  if (hasLeadsWaiting(consumer)) return undefined;
  return consumer.state === 'inactive' ? 'is no longer in use, and no lead waits for it' : reason;
}

const isConsumerProblem = (kind: StatusProblem['kind']): boolean =>
  CONSUMER_PROBLEMS.some((problem) => problem === kind);

/** With these, the consumer gets its leads. */
const HARMLESS: readonly ConsumerProblem[] = ['leads-skipped', 'tokens-expiring'];

/** Leads that came after its last poll do not count: it has polled as it should. */
function hasLeadsWaiting({ problems, pendingSince, lastPollAt, isStuck, hook }: ConsumerStatus): boolean {
  if (isStuck || problems.some((problem) => !HARMLESS.includes(problem))) return true;
  const lastAt = lastPollAt ?? (hook?.isAccepted ? hook.lastEventAt : null);
  return pendingSince !== null && (lastAt === null || pendingSince <= lastAt);
}

const PARTS: readonly (readonly [keyof Pick<StatusReport, 'hooks' | 'senders'>, readonly string[]])[] = [
  ['hooks', ['hooks-disabled', 'hooks-failing']],
  ['senders', SENDER_PROBLEMS],
];

/** What could not be read has not ended. */
const isKnown = (kind: StatusProblem['kind'], report: StatusReport): boolean =>
  report.database.reachable &&
  (kind !== 'leads-unseen' || report.consumers?.coverage != null) &&
  (kind === 'database-unreachable' ||
    (report.consumers !== null &&
      PARTS.every(([part, kinds]) => report[part] !== null || !kinds.includes(kind))));
