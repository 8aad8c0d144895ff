// Receives webhook events of Leadtap and polls on each: docs/instant-delivery.md, "Your own receiver".
import { createHmac, timingSafeEqual } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const BASE_URL = 'https://leads.example.com';
const MY_URL = 'https://hooks.example.com/leadtap';
const handle = async (lead) => console.log(lead.createdAt, lead.fullName, lead.phone1 ?? lead.email ?? '');

async function call(url, options) {
  const headers = {
    authorization: `Bearer ${process.env.LEADTAP_TOKEN}`,
    'content-type': 'application/json',
  };
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(30_000), ...options });
  if (!response.ok) {
    const { status } = response;
    throw Object.assign(new Error(`${status} ${await response.text()}`), { status });
  }
  return { body: await response.json(), link: response.headers.get('link') };
}

// What `handle` throws need not be an Error.
const report = (error) => console.error(error?.cause?.message ?? error?.message ?? error);

let hook;
let key;
async function subscribe() {
  const subscription = { method: 'POST', body: JSON.stringify({ url: MY_URL }) };
  ({ body: hook } = await call(`${BASE_URL}/automation/hooks`, subscription));
  key = Buffer.from(hook.secret.slice('whsec_'.length), 'base64');
}

function isGenuine(
  { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signatures = '' },
  body,
) {
  const own = Buffer.from(`v1,${createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64')}`);
  const found = signatures.split(' ').map((signature) => Buffer.from(signature));
  const isSigned = found.some((bytes) => bytes.length === own.length && timingSafeEqual(bytes, own));
  return isSigned && Math.abs(Date.now() / 1000 - at) < 300;
}

function save(url) {
  writeFileSync('next-url.new', url);
  renameSync('next-url.new', 'next-url.txt');
}

async function poll() {
  const first = `${BASE_URL}/automation/new-leads?since=${hook.since}`;
  for (let isFull = true; isFull; ) {
    const { body: leads, link } = await call(
      existsSync('next-url.txt') ? readFileSync('next-url.txt', 'utf8') : first,
    );
    const [, next] = /<([^<>]+)>; rel="next"/.exec(link);
    for (const lead of leads) {
      await handle(lead);
      save(`${BASE_URL}/automation/new-leads?since=${lead.createdAt}`);
    }
    save(next);
    isFull = leads.length === 100;
  }
}

const PAUSES_S = [1, 2, 5, 10];
let polling = Promise.resolve();
let failures = 0;
let timer;
/** One poll at a time. After a failure it tries again by itself, so that no lead waits for the next event. */
function tryToPoll() {
  polling = polling.then(poll).then(
    () => {
      clearTimeout(timer);
      failures = 0;
      return true;
    },
    (error) => {
      report(error);
      clearTimeout(timer);
      timer = setTimeout(tryToPoll, 1000 * PAUSES_S[Math.min(failures, 3)]);
      failures += 1;
      return false;
    },
  );
  return polling;
}

for (let pauseMs = 1000; ; pauseMs = Math.min(60_000, 2 * pauseMs)) {
  try {
    await subscribe();
    break;
  } catch (error) {
    report(error);
    // No retry helps when the token or an address is wrong.
    if (error?.status < 500 && ![408, 429].includes(error.status)) process.exit(1);
    await sleep(pauseMs);
  }
}

createServer(async (request, response) => {
  try {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) {
      body += chunk;
      if (body.length > 10_000) throw new Error('too long');
    }
    if (!isGenuine(request.headers, body)) return response.writeHead(401).end();
    response.writeHead((await tryToPoll()) ? 204 : 500).end();
  } catch (error) {
    report(error);
    response.writeHead(500).end();
  }
}).listen(8080, '127.0.0.1');
tryToPoll();
