import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { requestText, sendRawOnce } from '../../../testing/harness/raw-http.ts';
import { startService } from '../../../testing/harness/service.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';
import { writePolls } from './support/status.ts';

const PATHS = ['/status', '/status.json'];

describe('the private address', () => {
  const shared = shareService({ env: { LEADTAP_BASE_PATH: '/api' } });
  const at = (path: string) => `${new URL(shared().statusUrl).origin}${path}`;

  it.each(PATHS)('has %s, which the public address has not', async (path) => {
    expect((await fetch(at(path))).status).toBe(200);
    const { url } = shared();
    for (const base of [url, new URL(url).origin]) expect((await fetch(`${base}${path}`)).status).toBe(404);
  });

  it.each([...PATHS, '/metrics'])('answers GET and HEAD of %s, and no other method', async (path) => {
    const [get, head] = await Promise.all([fetch(at(path)), fetch(at(path), { method: 'HEAD' })]);
    expect(head.status).toBe(200);
    expect(head.headers.get('content-type')).toBe(get.headers.get('content-type'));
    expect(await head.text()).toBe('');
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const refused = await fetch(at(path), { method });
      expect(refused.status).toBe(405);
      expect(refused.headers.get('allow')).toBe('GET, HEAD');
    }
  });

  it('leads from / to the page, and has nothing else', async () => {
    const response = await fetch(at('/'), { redirect: 'manual' });
    expect(response.status).toBe(302);
    expect(new URL(response.headers.get('location') ?? '', response.url).pathname).toBe('/status');
    for (const path of ['/status/', '/statuses', '//status', '/status.html', '/console/', '/index.html'])
      expect((await fetch(at(path))).status, path).toBe(404);
  });

  it('has the documents that the page leads to, with the public address in them', async () => {
    const env = { LEADTAP_PUBLIC_URL: 'https://leads.acme.test', LEADTAP_CONSOLE: 'off' };
    const service = await startService({ env });
    await fetch(`${service.url}/automation/new-leads`);
    const docs = await (await fetch(new URL('docs', service.statusUrl))).text();
    expect(docs).toContain('<h3 id="problem-token-missing">');
    expect(docs).toContain('https://leads.acme.test/automation/new-leads');
  });

  it('allows the page its own files only, and keeps it out of caches and frames', async () => {
    const { headers } = await fetch(at('/status'));
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    );
    expect(headers.get('access-control-allow-origin')).toBeNull();
  });

  it('has the files that the page names, for ever, and no other file of the console', async () => {
    const page = await (await fetch(at('/status'))).text();
    expect(page).toContain('JavaScript is needed; <code>leadtap doctor</code> says the same.');
    const names = [...page.matchAll(/(?:src|href)="\.(\/console\/[^"]+)"/g)].map(([, name = '']) => name);
    expect(names.map((name) => name.replace(/^.*\./, '')).sort()).toEqual(['css', 'js', 'js']);
    for (const name of names) {
      const { status, headers } = await fetch(at(name));
      expect(status).toBe(200);
      expect(headers.get('cache-control')).toContain('immutable');
    }
    const console = await (await fetch(`${shared().url}/`)).text();
    const [, index = ''] = /src="\.(\/console\/index-[^"]+)"/.exec(console) ?? [];
    expect((await fetch(`${shared().url}${index}`)).status).toBe(200);
    expect((await fetch(at(index))).status).toBe(404);
    expect((await fetch(`${shared().url}/status.html`)).status).toBe(404);
  });

  it('is not served on a loopback address under the name of a website (DNS rebinding)', async () => {
    const statusOf = async (path: string, host: string): Promise<number | undefined> => {
      const sent = request(at(path), { headers: { host } }).end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      response.resume();
      return response.statusCode;
    };
    for (const host of [
      'evil.example',
      'evil.example:9464',
      '127.0.0.1.evil.example',
      'localhost.evil.example',
    ])
      for (const path of ['/status', '/status.json', '/metrics'])
        expect(await statusOf(path, host), host).toBe(421);
    for (const host of ['127.0.0.1:9464', 'localhost', 'LOCALHOST:1', '[::1]:9464', 'a.localhost'])
      for (const path of ['/status.json', '/metrics']) expect(await statusOf(path, host), host).toBe(200);
  });

  it.each([
    ['two Hosts', ['Host: localhost', 'Host: evil.example']],
    ['another encoding than chunks', ['Host: localhost', 'Transfer-Encoding: gzip, chunked']],
  ])('refuses %s', async (_what, lines) => {
    for (const path of [...PATHS, '/metrics']) {
      const answer = await sendRawOnce(at('/'), `${requestText(`GET ${path} HTTP/1.1`, ...lines)}0\r\n\r\n`);
      expect(answer.status, path).toBe(400);
      expect(answer.headers['connection']).toBe('close');
    }
  });

  it('has /status.json without a cache', async () => {
    const { headers } = await fetch(at('/status.json'));
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(headers.get('cache-control')).toBe('no-store');
  });
});

describe('the status page', () => {
  it('is off with the metrics', async () => {
    const { statusUrl } = await startService({ env: { LEADTAP_METRICS_ADDRESS: 'off' } });
    expect(statusUrl).toBe('');
  });

  it('has no inline style, script or event handler, and names no other host', async () => {
    const page = await (await fetch((await startService()).statusUrl)).text();
    expect(page).not.toMatch(/\sstyle=|<style|<script>|\son[a-z]+=/);
    expect(page.replaceAll("'http://www.w3.org/2000/svg'", '')).not.toMatch(/\/\//);
  });

  it('has no lead data', async () => {
    const service = await startService();
    await service.add({ fields: { firstName: 'Femke', email: 'femke@example.com', phone1: '+33 1' } });
    await service.poll('boss');
    await writePolls(service);
    const text = await (await fetch(`${service.statusUrl}.json`)).text();
    expect(text).not.toMatch(/Femke|femke|\+33|boss@example/);
    expect(text).toContain('boss');
  });
});
