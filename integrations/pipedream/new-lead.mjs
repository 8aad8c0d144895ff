// A source for Pipedream: `pd deploy new-lead.mjs`. docs/integrations/pipedream.md says how.

/** A page never holds more; one that holds as many may not be the last. */
const FULL_PAGE = 100;

/** Far below 100 requests a minute. What is left waits for the next run. */
const MAX_PAGES = 20;

const SAMPLES = 10;

export default {
  key: 'leadtap-new-lead',
  name: 'New Lead (Leadtap)',
  description: 'Emits each new lead once, oldest first.',
  version: '0.1.0',
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
      description: 'Whoever runs Leadtap issues it.',
      secret: true,
    },
    timer: { type: '$.interface.timer', default: { intervalSeconds: 120 } },
    db: '$.service.db',
  },
  methods: {
    /** One request. Whatever is not a page is thrown as an error whose message says what to do. */
    async readPage(query) {
      const address = `${this.baseUrl.replace(/\/+$/, '')}/automation/new-leads?${new URLSearchParams(query)}`;
      const answer = await fetch(address, { headers: { authorization: `Bearer ${this.token}` } });
      const body = await answer.json().catch(() => ({}));
      if (!answer.ok)
        throw new Error(`Leadtap answered ${answer.status}: ${body.detail ?? 'check the base address.'}`);
      const [, since] = /[?&]since=([^&>]+)/.exec(answer.headers.get('link') ?? '') ?? [];
      if (!since) throw new Error('This is not the answer of a Leadtap. Check the base address.');
      return { leads: body, nextSince: decodeURIComponent(since) };
    },
    emitAll(leads) {
      for (const lead of leads)
        this.$emit(lead, {
          id: lead.automation_trigger_id,
          summary: lead.fullName || lead.email || lead.id,
          ts: Date.parse(lead.createdAt),
        });
    },
    /** Emits a page, and remembers where it ends only then. */
    async takePage(since) {
      const { leads, nextSince } = await this.readPage({ since });
      this.emitAll(leads);
      this.db.set('since', nextSince);
      return leads.length === FULL_PAGE;
    },
  },
  hooks: {
    /** The newest leads as samples; what comes after them is new. */
    async deploy() {
      const { leads, nextSince } = await this.readPage({ limit: SAMPLES });
      this.emitAll(leads.toReversed());
      this.db.set('since', nextSince);
    },
  },
  async run() {
    let isFull = await this.takePage(this.db.get('since'));
    for (let pages = 1; isFull && pages < MAX_PAGES; pages += 1) {
      try {
        isFull = await this.takePage(this.db.get('since'));
      } catch {
        // A run that fails might not keep what it remembered. The next one goes on here, and says what is wrong, if it still is.
        return;
      }
    }
  },
};
