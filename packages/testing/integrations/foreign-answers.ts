import { createServer, type RequestListener } from 'node:http';
import { sampleLead } from '@leadtap/contract';
import { onTestFinished } from 'vitest';

/** A 200 of something else than Leadtap: a maintenance page, a sign-in page, another program at a wrong address. */
export interface ForeignAnswer {
  readonly name: string;
  readonly type?: string;
  readonly body: string;
  readonly link?: string;
}

const JSON_TYPE = 'application/json; charset=utf-8';
const HTML_TYPE = 'text/html; charset=utf-8';
const HTML = '<!doctype html><title>Back soon</title>';
const NEXT =
  '<http://127.0.0.1/automation/new-leads?since=2020-01-01T00%3A00%3A00.000Z&limit=100>; rel="next"';
const PREVIOUS = NEXT.replace('next', 'prev');
const LEADS = JSON.stringify([sampleLead]);

/** What no client and no integration may take for a page of leads. */
export const FOREIGN_ANSWERS: readonly ForeignAnswer[] = [
  { name: 'a maintenance page', type: HTML_TYPE, body: HTML, link: '</site.css>; rel="preload"' },
  { name: 'a maintenance page of 52 kB', type: HTML_TYPE, body: HTML.padEnd(52_000, '<p>Back soon</p>') },
  { name: 'an object', type: JSON_TYPE, body: '{}' },
  { name: 'null', type: JSON_TYPE, body: 'null' },
  { name: 'a text in JSON', type: JSON_TYPE, body: '"maintenance"' },
  { name: 'an array without Link', type: JSON_TYPE, body: LEADS },
  { name: 'an empty array without Link', type: JSON_TYPE, body: '[]' },
  { name: 'an array with another Link', type: JSON_TYPE, body: LEADS, link: PREVIOUS },
  { name: 'an array of texts', type: JSON_TYPE, body: '["maintenance"]', link: NEXT },
  { name: 'an array of null', type: JSON_TYPE, body: '[null]', link: NEXT },
  { name: 'an array of other things', type: JSON_TYPE, body: '[{"id":1},{"id":2}]', link: NEXT },
  {
    name: 'an array of things with createdAt alone',
    type: JSON_TYPE,
    body: JSON.stringify([{ id: 1, createdAt: sampleLead.createdAt }]),
    link: NEXT,
  },
  {
    name: 'an array of things with automation_trigger_id alone',
    type: JSON_TYPE,
    body: JSON.stringify([{ id: 1, automation_trigger_id: sampleLead.automation_trigger_id }]),
    link: NEXT,
  },
  { name: 'a lead and something else', type: JSON_TYPE, body: JSON.stringify([sampleLead, {}]), link: NEXT },
  { name: 'an empty body', type: JSON_TYPE, body: '' },
  { name: 'an empty body without a type', body: '' },
  { name: 'a maintenance page that is declared as JSON', type: JSON_TYPE, body: HTML },
];

/** For programs that continue from the `since` in `Link`: these cannot be decoded. */
export const UNDECODABLE_LINKS: readonly ForeignAnswer[] = ['%', '%FF'].map((since) => ({
  name: `a Link with since=${since}`,
  type: JSON_TYPE,
  body: LEADS,
  link: `<http://127.0.0.1/automation/new-leads?since=${since}&limit=100>; rel="next"`,
}));

/** The sentence that people read: what came, and what to check. */
export const NOT_LEADTAP = /answered 200, but not with a list of leads of Leadtap.*base address/;

/** An answer of another status that has no problem of Leadtap's in it, such as that of a proxy. */
export interface OtherAnswer extends Omit<ForeignAnswer, 'name'> {
  readonly status?: number;
}

const headersOf = ({ type, link }: OtherAnswer) => ({
  ...(type !== undefined && { 'content-type': type }),
  ...(link !== undefined && { link }),
});

/** Starts a server that gives this answer to every request, and returns its address. */
export const serveAnswer = (answer: OtherAnswer): Promise<string> =>
  listen((_request, response) =>
    response.writeHead(answer.status ?? 200, headersOf(answer)).end(answer.body),
  );

export interface ForeignProxy {
  readonly url: string;
  /** What the next requests are answered with; undefined: requests go to the service. */
  foreign: ForeignAnswer | undefined;
  /** How many requests still go to the service before the foreign answer comes. */
  passesBefore: number;
}

/** A proxy in front of the service that shows something else for a while. */
export async function startForeignProxy(target: string): Promise<ForeignProxy> {
  const state: Omit<ForeignProxy, 'url'> = { foreign: undefined, passesBefore: 0 };
  const url = await listen(async (request, answer) => {
    const { foreign } = state;
    if (foreign && state.passesBefore-- <= 0)
      return void answer.writeHead(200, headersOf(foreign)).end(foreign.body);
    const { authorization = '', host = '' } = request.headers;
    // The service may stop while a client that has already ended still waits for a page.
    const response = await fetch(target + request.url, { headers: { authorization } }).catch(() => undefined);
    if (!response) return void answer.destroy();
    const body = await response.text();
    const { 'content-type': type = '', link = '' } = Object.fromEntries(response.headers);
    // The next page must come through the proxy too.
    answer
      .writeHead(response.status, { 'content-type': type, link: link.replace(new URL(target).host, host) })
      .end(body);
  });
  return Object.assign(state, { url });
}

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return `http://127.0.0.1:${address.port}`;
}
