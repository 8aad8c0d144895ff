// A source for Pipedream: `pd deploy new-lead.mjs`. docs/integrations/pipedream.md says how.
import { createHmac, timingSafeEqual } from 'node:crypto';

/** A page never holds more; one that holds as many may not be the last. */
const FULL_PAGE = 100;

/** Far below 100 requests a minute. What is left waits for the next run. */
const MAX_PAGES = 20;

/** Leadtap waits 10 seconds for a response. */
const MAX_READING_MS = 7000;

const SAMPLES = 10;

const TIMEOUT_MS = 20_000;

function addressOf(baseUrl, path) {
  const address = `${baseUrl.trim().replace(/(?<!\/)\/+$/, '')}/automation/${path}`;
  if (!/^https?:\/\/[^/\s]/i.test(address) || !URL.canParse(address))
    throw new Error(
      `"${baseUrl}" is not a base address. It begins with https:// and looks like https://leads.example.com or https://example.com/api.`,
    );
  return new URL(address);
}

async function send(address, token, { method = 'GET', body } = {}) {
  const bearer = token.trim();
  if (!/^[\x21-\x7e]+$/.test(bearer))
    throw new Error(
      'The access token is empty or has a space, a line break or a character that is not ASCII in it. Paste it whole.',
    );
  try {
    const headers = { authorization: `Bearer ${bearer}`, accept: 'application/json' };
    if (body) headers['content-type'] = 'application/json';
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const answer = await fetch(address, { method, headers, body: body && JSON.stringify(body), signal });
    return {
      status: answer.status,
      link: answer.headers.get('link') ?? '',
      retryAfter: answer.headers.get('retry-after'),
      text: await answer.text(),
    };
  } catch (error) {
    throw new Error(
      `Leadtap cannot be reached at ${address.host} (${reasonOf(error)}). Check the base address: https or http, the name (is it in DNS?), the port, the certificate; and that it can be reached from the internet.`,
    );
  }
}

/** The reason is in the cause: the message of `fetch` itself is just "fetch failed". */
const reasonOf = ({ name, message, cause }) =>
  name === 'TimeoutError'
    ? `no answer in ${TIMEOUT_MS / 1000} s`
    : (cause?.code ?? cause?.message ?? message);

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The `since` of the next poll. Undefined where there is none, or none that can be decoded. */
function nextSinceOf(link) {
  const [, target = ''] = /<([^<>]*)>\s*;\s*rel="next"/.exec(link) ?? [];
  const [, since] = /[?&]since=([^&]+)/.exec(target) ?? [];
  try {
    return since && decodeURIComponent(since);
  } catch {
    return undefined;
  }
}

const isLead = (lead) =>
  typeof lead?.createdAt === 'string' && typeof lead.automation_trigger_id === 'string';

function explainRefusal({ host }, status, retryAfter, body) {
  const reason =
    typeof body?.detail === 'string'
      ? `Leadtap answered ${status}: ${body.detail}`
      : `${host} answered ${status}, but not as Leadtap does. Check the base address, and what stands before Leadtap, such as a proxy.`;
  return retryAfter ? `${reason} The request passes in ${retryAfter} s; nothing is lost.` : reason;
}

/**
 * Whether the event is from Leadtap: a signature as in Standard Webhooks. Its age does not matter: an event that is repeated
 * causes a poll, and nothing else.
 */
function isSigned({ headers, bodyRaw }, { secret }) {
  const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${bodyRaw}`;
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const expected = Buffer.from(`v1,${createHmac('sha256', key).update(content).digest('base64')}`);
  return String(headers['webhook-signature'])
    .split(' ')
    .map((signature) => Buffer.from(signature))
    .some((given) => given.length === expected.length && timingSafeEqual(given, expected));
}

export default {
  key: 'leadtap-new-lead',
  name: 'New Lead (Leadtap)',
  description: 'Emits each new lead once, as soon as it arrives, oldest first.',
  version: '0.2.0',
  type: 'source',
  // Compares the last hundred ids: a second guard, should a run end before it could remember where it was.
  dedupe: 'unique',
  props: {
    baseUrl: {
      type: 'string',
      label: 'Base address',
      description: 'Such as `https://leads.example.com` or `https://example.com/api`',
    },
    token: {
      type: 'string',
      label: 'Access token',
      description: 'The operator of Leadtap issues it.',
      secret: true,
    },
    http: { type: '$.interface.http', customResponse: true },
    timer: {
      type: '$.interface.timer',
      label: 'Safety net',
      description: 'Leads come at once. A poll on this schedule finds those whose event was lost.',
      default: { intervalSeconds: 15 * 60 },
    },
    db: '$.service.db',
  },
  methods: {
    /** One request. Whatever is not a page is thrown as an error whose message says what to do. */
    async readPage(query) {
      const address = addressOf(this.baseUrl, 'new-leads');
      address.search = new URLSearchParams(query).toString();
      const { status, link, retryAfter, text } = await send(address, this.token);
      const body = parse(text);
      if (status !== 200) throw new Error(explainRefusal(address, status, retryAfter, body));
      const nextSince = nextSinceOf(link);
      if (nextSince === undefined || !Array.isArray(body) || !body.every(isLead))
        throw new Error(
          `${address.host} answered 200, but not with a list of leads of Leadtap. Check the base address: another page or program answers there.`,
        );
      return { leads: body, nextSince };
    },
    emitAll(leads) {
      for (const lead of leads)
        this.$emit(lead, {
          id: lead.automation_trigger_id,
          summary: lead.fullName || lead.email || lead.id,
          ts: Date.parse(lead.createdAt),
        });
    },
    /** The newest leads as samples; what comes after them is new. */
    async start() {
      const { leads, nextSince } = await this.readPage({ limit: SAMPLES });
      this.emitAll(leads.toReversed());
      this.db.set('since', nextSince);
    },
    /** Emits a page, and remembers where it ends only then. Not if a run at the same time has come further. */
    async takePage(since) {
      const { leads, nextSince } = await this.readPage({ since });
      this.emitAll(leads);
      if (nextSince > this.db.get('since')) this.db.set('since', nextSince);
      return leads.length === FULL_PAGE;
    },
    /** The same URL again is the same hook, enabled again. If there can be none, the timer still finds every lead. */
    async subscribe() {
      try {
        const address = addressOf(this.baseUrl, 'hooks');
        const body = { url: this.http.endpoint, since: this.db.get('since') };
        const { status, retryAfter, text } = await send(address, this.token, { method: 'POST', body });
        const { id, secret, ...answer } = parse(text) ?? {};
        if (typeof secret !== 'string') throw new Error(explainRefusal(address, status, retryAfter, answer));
        this.db.set('hook', { id, secret });
      } catch (error) {
        console.log(`Leads come on the schedule of the timer only. ${error.message}`);
      }
    },
    async unsubscribe() {
      const hook = this.db.get('hook');
      this.db.set('hook', null);
      try {
        if (hook) await send(addressOf(this.baseUrl, `hooks/${hook.id}`), this.token, { method: 'DELETE' });
      } catch {
        // The source can be deleted all the same. Leadtap disables hooks whose events are not accepted.
      }
    },
  },
  hooks: {
    async deploy() {
      await this.start();
    },
    async activate() {
      await this.subscribe();
    },
    async deactivate() {
      await this.unsubscribe();
    },
  },
  /** For an event of Leadtap, and for the timer. Both poll from the position of the source. */
  async run(event) {
    const respond = (status) => event.headers && this.http.respond({ status });
    const hook = this.db.get('hook');
    if (event.headers && !(hook && isSigned(event, hook))) return respond(401);
    const endsAt = Date.now() + MAX_READING_MS;
    let isFull;
    try {
      const since = this.db.get('since');
      // `deploy` may have failed, or never have run for a source that was made through the API.
      isFull = since === undefined ? await this.start() : await this.takePage(since);
    } catch (error) {
      // Leadtap sends the event again.
      respond(503);
      throw error;
    }
    try {
      for (let pages = 1; isFull && pages < MAX_PAGES && Date.now() < endsAt; pages += 1)
        isFull = await this.takePage(this.db.get('since'));
    } catch {
      // A run that fails might not keep what it remembered. The next one continues here, and says what is wrong, if it still is.
      return respond(200);
    }
    // Not before the last page: until then Leadtap sends no other event, whose run could begin with an older `db` and emit the same leads.
    respond(200);
    // The hook may have been disabled or deleted meanwhile.
    if (!event.headers) await this.subscribe();
  },
};
