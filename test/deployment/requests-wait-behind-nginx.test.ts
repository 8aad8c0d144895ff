/** Debian's nginx in front of the service, with the default settings of a reverse proxy: `proxy_pass` alone. */
import { readFileSync } from 'node:fs';
import { newLeads } from '@leadtap/client';
import { type Lead, MAX_WAIT_S } from '@leadtap/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { untilHeld } from '../../packages/testing/harness/long-polls.ts';
import { startService, type TestService } from '../../packages/testing/harness/service.ts';
import { type NginxOptions, startNginx } from '../../packages/testing/servers/nginx.ts';

const BEGIN = '2020-01-01T00:00:00.000Z';

async function ownNginx(options: NginxOptions) {
  const server = await startNginx(options);
  onTestFinished(() => server.remove());
  return server;
}

/** Sends a poll through nginx; `waitS` is the time that the service may wait. */
async function poll(service: TestService, url: string, waitS: number): Promise<Response> {
  const headers = { authorization: `Bearer ${await service.token('boss')}`, prefer: `wait=${waitS}` };
  return fetch(`${url}/automation/new-leads?since=${BEGIN}`, { headers });
}

describe('behind nginx with its defaults', () => {
  it('a waiting request gets a lead as soon as it is there', async () => {
    const service = await startService();
    const nginx = await ownNginx({ upstream: service.url });
    const polling = poll(service, nginx.url, MAX_WAIT_S);
    await untilHeld(service);
    await service.add({ id: 'a' });
    const response = await polling;
    expect(response.status).toBe(200);
    expect(response.headers.get('preference-applied')).toBe(`wait=${MAX_WAIT_S}`);
    const leads = (await response.json()) as Lead[];
    expect(leads.map(({ id }) => id)).toEqual(['a']);
  });

  it('a wait without a lead ends with 200 and an empty page', async () => {
    const service = await startService();
    const nginx = await ownNginx({ upstream: service.url });
    const response = await poll(service, nginx.url, 1);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual([]);
  });

  it('a client that disconnects from nginx frees its place', async () => {
    const service = await startService();
    const nginx = await ownNginx({ upstream: service.url });
    const stop = new AbortController();
    const token = await service.token('boss');
    const loop = newLeads({ baseUrl: nginx.url, token, since: BEGIN, instant: true, signal: stop.signal });
    const next = loop.next();
    await untilHeld(service);
    stop.abort();
    expect(await next).toEqual({ done: true, value: undefined });
    await untilHeld(service, 0);
  });

  it('a thousand leads in a row reach an instant client, each once', async () => {
    const service = await startService();
    const nginx = await ownNginx({ upstream: service.url });
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const token = await service.token('boss');
    let now = 0;
    // Time of its own, so that the pauses for the rate limits do not take time.
    const sleep = async (ms: number) => {
      now += ms;
    };
    const environment = { now: () => now, sleep };
    const options = { baseUrl: nginx.url, token, since: BEGIN, instant: true, environment };
    const ids = Array.from({ length: 1000 }, (_, n) => `lead-${n}`);
    const writing = (async () => {
      for (let n = 0; n < ids.length; n += 20)
        await service.add(...ids.slice(n, n + 20).map((id) => ({ id })));
    })();
    const received: string[] = [];
    for await (const { id } of newLeads({ ...options, signal: stop.signal })) {
      received.push(id);
      if (received.length === ids.length) stop.abort();
    }
    await writing;
    expect(received).toEqual(ids);
  });
});

it('an nginx whose timeout is shorter than the wait ends the request with 504', async () => {
  const service = await startService();
  const nginx = await ownNginx({ upstream: service.url, location: ['proxy_read_timeout 1s;'] });
  const response = await poll(service, nginx.url, MAX_WAIT_S);
  expect(response.status).toBe(504);
  await untilHeld(service, 0);
});

it('the timeout in deploy/nginx is longer than any wait', () => {
  const conf = readFileSync(new URL('../../deploy/nginx/polls.conf', import.meta.url), 'utf8');
  const [, seconds] = /proxy_read_timeout (\d+)s;/.exec(conf) ?? [];
  expect(Number(seconds)).toBeGreaterThanOrEqual(MAX_WAIT_S + 10);
});

it('the headers of deploy/nginx keep the host that a client invents out of Link', async () => {
  const conf = readFileSync(new URL('../../deploy/nginx/polls.conf', import.meta.url), 'utf8');
  const service = await startService({ env: { LEADTAP_TRUST_PROXY: '1' } });
  const nginx = await ownNginx({
    upstream: service.url,
    location: conf.match(/proxy_set_header .+;/g) ?? [],
  });
  const headers = {
    authorization: `Bearer ${await service.token('boss')}`,
    'x-forwarded-host': 'evil.example',
  };
  const response = await fetch(`${nginx.url}/automation/new-leads`, { headers });
  expect(response.headers.get('link')).toContain(`<${nginx.url}/`);
});
