import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Environment, type LeadToSend, type SendLeadsOptions, sendLeads } from '@leadtap/client';
import { onTestFinished } from 'vitest';
import type { MadeUpAnswer } from './answering.ts';

/** A request to `POST /leads`, as a server sees it. */
export interface ReceivedRequest {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly leads: readonly LeadToSend[];
  readonly bytes: number;
}

export type Reply = MadeUpAnswer | 'hang up' | 'never';

/** Confirms every lead of a request, as the service does. */
export const confirm = ({ leads }: ReceivedRequest): MadeUpAnswer => ({
  status: 201,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    leads: leads.map((lead, index) => ({
      id: lead.id ?? `made-${index}`,
      createdAt: '2026-03-02T09:30:00.001Z',
      result: 'added',
    })),
  }),
});

export const problem = (status: number, code: string, rest: object = {}, headers = {}): MadeUpAnswer => ({
  status,
  headers: { 'content-type': 'application/problem+json', ...headers },
  body: JSON.stringify({ status, code, detail: 'Why.', requestId: 'r-1', ...rest }),
});

/** A server that records the requests and replies in turn, then confirms every lead. */
export async function receiving(...replies: readonly (Reply | ((request: ReceivedRequest) => Reply))[]) {
  const waiting = [...replies];
  const requests: ReceivedRequest[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const received = {
      path: `${request.method} ${request.url}`,
      headers: request.headers,
      leads: body.length === 0 ? [] : JSON.parse(body.toString()),
      bytes: body.length,
    };
    requests.push(received);
    const next = waiting.shift() ?? confirm;
    const reply = typeof next === 'function' ? next(received) : next;
    if (reply === 'hang up') response.destroy();
    else if (reply !== 'never') response.writeHead(reply.status, reply.headers).end(reply.body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, requests, keys: () => requests.map(({ headers }) => headers['idempotency-key']) };
}

/** Sends with a clock that only the waits of the client advance. */
export function sender(baseUrl: string, options: Partial<SendLeadsOptions> = {}) {
  const waits: number[] = [];
  let now = 0;
  const environment: Partial<Environment> = {
    now: () => now,
    random: () => 0.5,
    sleep: async (ms) => {
      waits.push(ms);
      now += ms;
    },
    ...options.environment,
  };
  return {
    waits,
    send: (leads: LeadToSend | readonly LeadToSend[]) =>
      sendLeads(leads, { baseUrl, token: 'any', ...options, environment }),
  };
}
