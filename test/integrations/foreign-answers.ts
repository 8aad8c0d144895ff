import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exampleLead } from '@leadtap/contract';
import { onTestFinished } from 'vitest';

/** A 200 of something that is not Leadtap: a maintenance page, a captive portal, another service. */
export interface ForeignAnswer {
  readonly name: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const HTML = { 'content-type': 'text/html; charset=utf-8' };
const JSON_TYPE = { 'content-type': 'application/json' };
const linkTo = (query: string, rel: string) => ({
  link: `<https://api.example.com/items?${query}>; rel="${rel}"`,
});
const PAGE = '<!doctype html><title>Maintenance</title><h1>Back soon</h1>';
const ITEMS = JSON.stringify([{ id: 1 }, { id: 2 }]);

export const FOREIGN_ANSWERS: readonly ForeignAnswer[] = [
  { name: 'a short HTML page', headers: HTML, body: PAGE },
  { name: 'an HTML page of 52 kB', headers: HTML, body: PAGE.padEnd(52_000, '<p>Back soon</p>') },
  { name: 'an HTML page that is declared as JSON', headers: JSON_TYPE, body: PAGE },
  { name: 'a JSON object', headers: JSON_TYPE, body: '{}' },
  { name: 'null', headers: JSON_TYPE, body: 'null' },
  { name: 'a JSON string', headers: JSON_TYPE, body: '"Back soon"' },
  { name: 'an empty body', headers: {}, body: '' },
  { name: 'an empty body that is declared as JSON', headers: JSON_TYPE, body: '' },
  { name: 'an empty list without Link', headers: JSON_TYPE, body: '[]' },
  { name: 'a list of leads without Link', headers: JSON_TYPE, body: JSON.stringify([exampleLead]) },
  {
    name: 'a list of other things with a Link that is not rel="next"',
    headers: { ...JSON_TYPE, ...linkTo('since=2020-01-01', 'prev') },
    body: ITEMS,
  },
  {
    name: 'a list of other things with a Link to the next page',
    headers: { ...JSON_TYPE, ...linkTo('since=2020-01-01&limit=100', 'next') },
    body: ITEMS,
  },
  {
    name: 'a list of null with a Link to the next page',
    headers: { ...JSON_TYPE, ...linkTo('since=2020-01-01&limit=100', 'next') },
    body: '[null]',
  },
];

export interface ForeignProxy {
  readonly url: string;
  /** What the next requests are answered with; undefined: requests go to the service. */
  foreign: ForeignAnswer | undefined;
  /** How many requests still go to the service before the foreign answer comes. */
  passesBefore: number;
}

/** A proxy in front of the service that shows something else for a while. */
export async function startForeignProxy(target: string): Promise<ForeignProxy> {
  const server = createServer(async (request, answer) => {
    const { foreign } = proxy;
    if (foreign && proxy.passesBefore-- <= 0)
      return void answer.writeHead(200, foreign.headers).end(foreign.body);
    const { authorization = '', host = '' } = request.headers;
    const response = await fetch(target + request.url, { headers: { authorization } });
    const body = await response.text();
    const { 'content-type': type = '', link = '' } = Object.fromEntries(response.headers);
    // The next page must come through the proxy too.
    answer
      .writeHead(response.status, { 'content-type': type, link: link.replace(new URL(target).host, host) })
      .end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const proxy: ForeignProxy = { url: `http://127.0.0.1:${port}`, foreign: undefined, passesBefore: 0 };
  return proxy;
}
