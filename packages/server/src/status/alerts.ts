/** Messages to `LEADTAP_ALERT_URL`: one when a problem of the diagnosis begins, and one when it ends. */
import type { Clock } from '../lib/clock.ts';
import { formatDuration } from '../lib/formats.ts';
import type { StatusProblem, StatusReport } from './report.ts';
import { RULES } from './rules.ts';

const CHECK_MS = 60_000;
/** A problem that comes and goes is sent once in this time. */
const REPEAT_MS = 3_600_000;

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

/** In memory: after a restart, a problem that still exists is sent once more. */
export class Alerts {
  readonly #options: AlertOptions;
  /** The problems of which the begin was accepted, and whether the end is still to be sent. */
  readonly #sent = new Map<StatusProblem['kind'], { readonly at: number; readonly isOpen: boolean }>();
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
    for (const { name, title } of RULES) {
      const problem = report.problems.find(({ kind }) => kind === name);
      const sent = this.#sent.get(name);
      if (problem && problem.severity !== 'unknown') {
        // A clock that was set back must not keep a problem from being sent.
        const isRecent = sent !== undefined && now >= sent.at && now - sent.at < REPEAT_MS;
        if (sent?.isOpen || isRecent) continue;
        if (await this.#send(`${problem.severity}: ${problem.message}\n${problem.fix}`))
          this.#sent.set(name, { at: now, isOpen: true });
      } else if (sent?.isOpen && isKnown(name, report)) {
        if (await this.#send(`ended after ${formatDuration((now - sent.at) / 1000)}: ${title}.`))
          this.#sent.set(name, { at: sent.at, isOpen: false });
      }
    }
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

/** What could not be read has not ended. */
const isKnown = (kind: StatusProblem['kind'], { database, consumers, hooks }: StatusReport): boolean =>
  database.reachable &&
  (kind === 'database-unreachable' || (consumers !== null && (hooks !== null || !kind.startsWith('hooks-'))));
