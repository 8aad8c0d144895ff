/** Messages to `LEADTAP_ALERT_URL`: when a connection or the installation gets red or amber, and when that ends. */
import type { StatusProblem } from '@leadtap/contract';
import { shownName } from '../connections/report.ts';
import { inSentence } from '../connections/rules.ts';
import type { Clock } from '../lib/clock.ts';
import { formatDuration } from '../lib/formats.ts';
import type { StatusReport } from './report.ts';
import { isUnread, RULES } from './rules.ts';
import { withCommands } from './status-json.ts';

const CHECK_MS = 60_000;
/** The begins of a subject that come and go are sent once in this time. */
const REPEAT_MS = 3_600_000;
/** Of one message. */
const MAX_SUBJECTS = 5;

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
  /** Undefined: the last one was accepted. */
  readonly onOutcome: (failure: string | undefined) => void;
  /** How the person started this program. */
  readonly invocation: string;
  readonly clock: Clock;
  readonly log: { warn(details: object, message: string): void };
}

/** A connection, or a problem of the installation. */
interface Subject {
  readonly key: string;
  /** Undefined: of the installation. */
  readonly name?: string | undefined;
  readonly level: 'error' | 'warning';
  readonly message: string;
  readonly fix: string | null;
}

interface OpenSubject extends Pick<Subject, 'key' | 'name' | 'level'> {
  readonly at: number;
}

/** In memory: after a restart, a problem that still exists is sent once more. */
export class Alerts {
  readonly #options: AlertOptions;
  /** Those of which the begin was accepted and the end was not. */
  readonly #open = new Map<string, OpenSubject>();
  /** When the last begin of a subject and a level was accepted, of the last hour. */
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
    const subjects = new Map(subjectsOf(report).map((one) => [one.key, one]));
    await this.#sendEnds(subjects, report, now);
    await this.#sendBegins([...subjects.values()], now);
    for (const open of this.#open.values()) {
      const level = subjects.get(open.key)?.level ?? open.level;
      this.#open.set(open.key, { ...open, level });
    }
  }

  /** Those that begin in the same check are one message. */
  async #sendBegins(subjects: readonly Subject[], now: number): Promise<void> {
    const begun = subjects.filter((one) => this.#hasBegun(one));
    if (begun.length === 0 || !(await this.#send(listUpTo(begun.map(toBegin), begun)))) return;
    for (const { key, name, level } of begun) {
      this.#open.set(key, { key, name, level, at: now });
      this.#lastSent.set(`${level} ${key}`, now);
    }
  }

  /** Not while it is open, unless it was a warning and is an error now. */
  #hasBegun({ key, level }: Subject): boolean {
    const open = this.#open.get(key);
    if (open && (open.level === 'error' || level === 'warning')) return false;
    return !this.#lastSent.has(`${level} ${key}`);
  }

  async #sendEnds(subjects: ReadonlyMap<string, Subject>, report: StatusReport, now: number): Promise<void> {
    const ended = [...this.#open.values()].filter(({ key }) => !subjects.has(key) && isRead(key, report));
    const texts = ended.map((one) => toEnd(one, report, now));
    if (ended.length === 0 || !(await this.#send(listUpTo(texts, ended)))) return;
    for (const { key } of ended) this.#open.delete(key);
  }

  async #send(text: string): Promise<boolean> {
    const { log, alertUrl, invocation, onOutcome } = this.#options;
    const outcome = await sendAlert(this.#options, withCommands(text, invocation));
    if (outcome === 'aborted') return false;
    const { kind, status } = outcome;
    const isAccepted = kind === 'accepted';
    onOutcome(isAccepted ? undefined : `${status ?? FAILURES[kind] ?? kind}`);
    if (!isAccepted)
      log.warn({ host: new URL(alertUrl).host, outcome: kind, status }, 'an alert was not accepted');
    return isAccepted;
  }
}

const FAILURES: Readonly<Record<string, string>> = { timeout: 'no answer in time' };

/** No alert says that alerts do not get out. */
const isAlerted = ({ kind }: StatusProblem): boolean => kind !== 'alerts-failing';

const isBad = (level: string): level is Subject['level'] => level === 'error' || level === 'warning';

/** The worst first. */
function subjectsOf({ problems, connections }: StatusReport): readonly Subject[] {
  const all = [
    ...problems.filter(isAlerted).map(({ kind, ...problem }) => ({ key: kind, ...problem })),
    ...(connections?.rows ?? []).map((row) => ({ key: keyOf(row), name: nameOf(row), ...row.judgement })),
  ];
  const bad = all.flatMap(({ level, ...one }): Subject[] => (isBad(level) ? [{ ...one, level }] : []));
  return [...bad.filter(({ level }) => level === 'error'), ...bad.filter(({ level }) => level === 'warning')];
}

type Row = NonNullable<StatusReport['connections']>['rows'][number];

/** Leads that no automation gets are a row of each company. Problems have no colon in their names. */
const keyOf = ({ facts: { connection } }: Row): string => `${connection.companyId}:${connection.id}`;
const nameOf = ({ facts: { connection } }: Row): string => inSentence(shownName(connection));

const ruleOf = (key: string) => RULES.find(({ name }) => name === key);

/** What could not be read has not ended. */
function isRead(key: string, report: StatusReport): boolean {
  const rule = ruleOf(key);
  return rule ? !isUnread(rule, report) : report.connections !== null;
}

const toBegin = ({ level, name, message, fix }: Subject): string =>
  `${level}: ${name === undefined ? '' : `${name}: `}${message}${fix === null ? '' : `\n${fix}`}`;

/** With what is said of it now. */
function toEnd({ key, name, at }: OpenSubject, { connections }: StatusReport, now: number): string {
  const message = connections?.rows.find((row) => keyOf(row) === key)?.judgement.message;
  const text = ruleOf(key)?.title ?? `${name}${message === undefined ? '' : `: ${message}`}`;
  return `ended after ${formatDuration((now - at) / 1000)}: ${text}.`;
}

function listUpTo(texts: readonly string[], subjects: readonly Pick<Subject, 'key' | 'name'>[]): string {
  const others = subjects.slice(MAX_SUBJECTS).map(({ key, name }) => name ?? key);
  const names = others.slice(0, MAX_SUBJECTS).join(', ');
  const more = others.length > MAX_SUBJECTS ? `${names} …` : names;
  const last = others.length === 0 ? [] : [`${others.length} more on the status page: ${more}`];
  return [...texts.slice(0, MAX_SUBJECTS), ...last].join('\n');
}
