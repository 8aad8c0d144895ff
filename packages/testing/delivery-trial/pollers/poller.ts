import type { Lead } from '@leadtap/contract';
import { findUndeclared, type ReceivedResponse } from '../declared.ts';
import type { Page, SeenLead } from '../judge/history.ts';
import type { Recorder } from '../judge/recorder.ts';
import { HttpCaller, type Installation } from './http-caller.ts';
import type { PollerSetup } from './profiles.ts';

/** An answer without a page. */
export class PollFailedError extends Error {
  readonly status: number;
  readonly isDeclared: boolean;

  constructor(response: ReceivedResponse) {
    super(`a poll was answered with ${response.status}: ${response.text}`);
    this.status = response.status;
    this.isDeclared = findUndeclared(response) === undefined;
  }
}

interface Answer {
  readonly page: Page;
  /** The query that `Link` gives. */
  readonly next: string;
  readonly etag: string;
}

const EPOCH = '1970-01-01T00:00:00.000Z';

/** One client over HTTP. Every page that it gets is recorded. */
export class TrialPoller {
  readonly setup: PollerSetup;
  readonly #recorder: Recorder;
  readonly #caller: HttpCaller;
  #query: string;
  #round: Promise<void> = Promise.resolve();
  #cached: { readonly query: string; readonly answer: Answer } | undefined;

  constructor(installation: Installation, setup: PollerSetup, recorder: Recorder) {
    this.setup = setup;
    this.#recorder = recorder;
    this.#caller = new HttpCaller(installation, setup.userIds);
    const { memory, startsWithoutSince = memory === 'ids' } = setup.profile;
    this.#query = this.#queryFrom(startsWithoutSince ? undefined : EPOCH);
  }

  /** One round of an automation: everything that is new, up to a page that is not full. One round at a time. */
  poll(): Promise<void> {
    const round = this.#round.then(() => this.#poll());
    this.#round = round.catch(() => undefined);
    return round;
  }

  async #poll(): Promise<void> {
    const { memory, limit } = this.setup.profile;
    for (let isFull = true; isFull; ) {
      const answer = await this.#ask();
      const { leads, since, date } = answer.page;
      isFull = leads.length === limit && memory !== 'ids';
      const last = since === undefined ? leads[0] : leads.at(-1);
      if (memory === 'link') this.#query = answer.next;
      else if (memory !== 'ids' && isFull && last) this.#query = this.#queryFrom(iso(last.createdAt));
      else if (memory === 'createdAt' && last) this.#query = this.#queryFrom(iso(last.createdAt));
      else if (memory === 'date') this.#query = this.#queryFrom(iso(date));
    }
  }

  #queryFrom(since: string | undefined): string {
    const { limit } = this.setup.profile;
    return since === undefined ? `limit=${limit}` : `since=${since}&limit=${limit}`;
  }

  async #ask(): Promise<Answer> {
    const query = this.#query;
    const cached = this.#cached?.query === query ? this.#cached.answer : undefined;
    const { validates, waitS } = this.setup.profile;
    const headers: Record<string, string> = validates && cached ? { 'if-none-match': cached.etag } : {};
    const prefer: Record<string, string> = waitS === undefined ? {} : { prefer: `wait=${waitS}` };
    if (validates === 'head') {
      const begun = this.#recorder.next();
      const response = await this.#request('HEAD', query, headers);
      await response.arrayBuffer();
      if (response.status === 304 && cached) return this.#repeat(cached, begun, response);
    }
    const begun = this.#recorder.next();
    const response = await this.#request('GET', query, { ...prefer, ...(validates === 'etag' && headers) });
    if (response.headers.has('preference-applied')) this.#recorder.count('answers to waiting clients');
    if (response.status === 304 && cached) return this.#repeat(cached, begun, response);
    const leads = ((await response.json()) as Lead[]).map(toSeen);
    const since = new URLSearchParams(query).get('since');
    const page: Page = {
      client: this.setup.client,
      begun,
      ended: this.#recorder.next(),
      since: since === null ? undefined : Date.parse(since),
      limit: this.setup.profile.limit,
      date: Date.parse(response.headers.get('date') ?? ''),
      leads,
    };
    const answer = { page, next: nextQuery(response), etag: response.headers.get('etag') ?? '' };
    this.#recorder.page(page);
    this.#cached = { query, answer };
    return answer;
  }

  /** 304: the page that is cached is also the page of now. */
  #repeat(cached: Answer, begun: number, response: Response): Answer {
    this.#recorder.count('answers 304');
    const date = Date.parse(response.headers.get('date') ?? '');
    const page = { ...cached.page, begun, ended: this.#recorder.next(), date };
    this.#recorder.page(page);
    return { ...cached, page };
  }

  async #request(method: 'GET' | 'HEAD', query: string, headers: Record<string, string>): Promise<Response> {
    const response = await this.#caller.request(method, query, headers);
    if (response.status === 200 || response.status === 304) return response;
    const text = method === 'HEAD' ? undefined : await response.text();
    throw new PollFailedError({ status: response.status, headers: response.headers, text });
  }
}

const iso = (ms: number): string => new Date(ms).toISOString();

const toSeen = (lead: Lead): SeenLead => ({
  id: lead.id,
  version: lead.firstName ?? '',
  createdAt: Date.parse(lead.createdAt),
  triggerId: lead.automation_trigger_id,
  automationCreatedAt: lead.automation_created_at,
});

function nextQuery(response: Response): string {
  const next = /^<(.+)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1];
  return new URL(next ?? '').search.slice(1);
}
