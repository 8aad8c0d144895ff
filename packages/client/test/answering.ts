import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LeadtapError } from '@leadtap/client';
import { onTestFinished } from 'vitest';

/** What tells a page of Leadtap from any other 200. */
export const NEXT_LINK = '<https://leads.example.com/automation/new-leads?since=2026-03-02>; rel="next"';

export interface MadeUpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A server that gives these answers in turn, then the last one for ever, for what the service never says. */
export async function answering(...answers: readonly (MadeUpAnswer | 'never')[]): Promise<string> {
  const waiting = [...answers];
  const { url } = await serving(() => (waiting.length > 1 ? waiting.shift() : waiting[0]) ?? 'never');
  return url;
}

export async function serving(answerTo: (request: IncomingMessage) => MadeUpAnswer | 'never') {
  const server = createServer((request, response) => {
    const answer = answerTo(request);
    if (answer !== 'never') response.writeHead(answer.status, answer.headers).end(answer.body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  onTestFinished(close);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

/** An address without a listener. */
export async function closed(): Promise<string> {
  const { url, close } = await serving(() => 'never');
  close();
  return url;
}

/** What a poll or a loop fails with, which must be an error of the client. */
export async function thrownBy(work: Promise<unknown>): Promise<LeadtapError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof LeadtapError) return error;
  throw new Error(`no error of the client but ${error}`);
}
