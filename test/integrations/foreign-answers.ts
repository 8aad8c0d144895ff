import { createServer } from 'node:http';
import { exampleLead } from '@leadtap/contract';
import { onTestFinished } from 'vitest';

/** A 200 of something else than Leadtap: a maintenance page, a sign-in page, another program at a wrong address. */
export interface ForeignAnswer {
  readonly name: string;
  readonly type: string;
  readonly body: string;
  readonly link?: string;
}

const NEXT =
  '<http://127.0.0.1/automation/new-leads?since=2020-01-01T00%3A00%3A00.000Z&limit=100>; rel="next"';
const JSON_TYPE = 'application/json; charset=utf-8';

/** What no integration may take for a page of leads. */
export const FOREIGN_ANSWERS: readonly ForeignAnswer[] = [
  {
    name: 'a maintenance page',
    type: 'text/html',
    body: '<!doctype html><title>Back soon</title>',
    link: '</site.css>; rel="preload"',
  },
  { name: 'an object', type: JSON_TYPE, body: '{}' },
  { name: 'null', type: JSON_TYPE, body: 'null' },
  { name: 'a text in JSON', type: JSON_TYPE, body: '"maintenance"' },
  { name: 'an array without Link', type: JSON_TYPE, body: JSON.stringify([exampleLead]) },
  { name: 'an empty array without Link', type: JSON_TYPE, body: '[]' },
  {
    name: 'an array with another Link',
    type: JSON_TYPE,
    body: JSON.stringify([exampleLead]),
    link: NEXT.replace('next', 'prev'),
  },
  { name: 'an array of texts', type: JSON_TYPE, body: '["maintenance"]', link: NEXT },
  { name: 'an empty body', type: JSON_TYPE, body: '' },
];

/** The sentence that people read: what came, and what to check. */
export const NOT_LEADTAP = /answered 200, but not with a list of leads of Leadtap.*base address/;

/** An answer of another status that has no problem of Leadtap's in it, such as that of a proxy. */
export interface OtherAnswer extends Omit<ForeignAnswer, 'name'> {
  readonly status?: number;
}

/** Starts a server that gives this answer to every request, and returns its address. */
export async function serveAnswer({ status = 200, type, body, link }: OtherAnswer): Promise<string> {
  const server = createServer((_request, response) =>
    response.writeHead(status, { 'content-type': type, ...(link && { link }) }).end(body),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return `http://127.0.0.1:${address.port}`;
}
