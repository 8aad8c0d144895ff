/**
 * A poll without a store, from the libraries that Leadtap uses: hash of the token, LRU cache, rate limits in memory, `since`, metrics,
 * log, and the headers and the body of one real response (the JSON file in `argv`). The rest of the cost of a poll is our own.
 */
import { hash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { LRUCache } from 'lru-cache';
import { pino } from 'pino';
import { Histogram } from 'prom-client';
import type { Recorded } from './bare.ts';
import { listen } from './listen.ts';

const recorded: Recorded = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'));
const body = recorded.body === '[]' ? recorded.body : Buffer.from(recorded.body);
const names = recorded.headers.map((text, n) => (n % 2 === 0 ? text.toLowerCase() : ''));
const REQUEST_ID = names.indexOf('x-request-id') + 1;
const RATE_LIMIT = names.indexOf('ratelimit') + 1;
const LINK = names.indexOf('link') + 1;

const createLimit = (quota: number, ms: number) => ({ quota, ms, count: 0, endsAt: 0 });
const createAccount = () => ({
  tokenId: randomUUID(),
  lastPollAt: 0,
  minute: createLimit(100, 60_000),
  hour: createLimit(1000, 3_600_000),
});

const accounts = new LRUCache<string, ReturnType<typeof createAccount>>({
  max: 100_000,
  memoMethod: createAccount,
});
const durations = new Histogram({ name: 'poll_seconds', help: 'Polls', buckets: [0.001, 0.01, 0.1, 1] });
const log = pino(pino.destination({ dest: '/dev/null', minLength: 4096 }));

function countPoll(limit: ReturnType<typeof createLimit>, now: number): string {
  if (limit.endsAt <= now) Object.assign(limit, { count: 0, endsAt: now + limit.ms });
  limit.count += 1;
  return `r=${Math.max(0, limit.quota - limit.count)};t=${Math.ceil((limit.endsAt - now) / 1000)}`;
}

function respond({ method, url = '/', headers }: IncomingMessage, response: ServerResponse): void {
  const [startedAt, now, requestId] = [performance.now(), Date.now(), randomUUID()];
  const account = accounts.memo(hash('sha256', headers.authorization ?? '', 'base64'));
  account.lastPollAt = now;
  const [path, query] = url.split('?');
  const since = new Date(new URLSearchParams(query).get('since') ?? now).toISOString();
  const sent = [...recorded.headers];
  sent[REQUEST_ID] = requestId;
  sent[RATE_LIMIT] = `"minute";${countPoll(account.minute, now)}, "hour";${countPoll(account.hour, now)}`;
  sent[LINK] = `<http://${headers.host}${path}?since=${since}&limit=100>; rel="next"`;
  response.once('close', () => {
    const durationMs = performance.now() - startedAt;
    durations.observe(durationMs / 1000);
    log.info({ requestId, method, path, status: 200, durationMs, tokenId: account.tokenId }, 'request');
  });
  response.writeHead(200, sent).end(body);
}

/** The polls of one turn of the event loop are answered together. */
const batch: (() => void)[] = [];
function respondToBatch(): void {
  for (const next of batch.splice(0)) next();
}

listen(
  createServer((request, response) => {
    if (batch.push(() => respond(request, response)) === 1) setImmediate(respondToBatch);
  }),
);
