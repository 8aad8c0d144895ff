/**
 * The limit: `node:http` and nothing else. It sends the status, headers and body of one real response (the JSON file in
 * `argv`) from constants. Node.js adds `connection` and `keep-alive` itself, for the service as for this server.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { listen } from './listen.ts';

export interface Recorded {
  /** Names and values by turns, in the order in which the service sent them. */
  readonly headers: readonly string[];
  readonly body: string;
}

const recorded: Recorded = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'));
const headers = [...recorded.headers];
// The service sends an empty page as a string and leads as bytes.
const body = recorded.body === '[]' ? recorded.body : Buffer.from(recorded.body);

listen(createServer((_request, response) => response.writeHead(200, headers).end(body)));
