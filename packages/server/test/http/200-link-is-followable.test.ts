import { type Lead, NEW_LEADS_PATH } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { requestText, sendRaw } from '../../../testing/harness/raw-http.ts';
import { startService } from '../../../testing/harness/service.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';

function nextOf(response: Response): URL {
  const [, address = ''] = /^<([^<>]+)>; rel="next"$/.exec(response.headers.get('link') ?? '') ?? [];
  return new URL(address);
}

const many = (count: number) => Array.from({ length: count }, (_, i) => ({ id: `lead-${i}` }));

describe('Link: rel="next"', () => {
  it('followed from the first page returns each lead exactly once, and can be followed further', async () => {
    const { add, poll, token } = await startService();
    await add(...many(25));
    const headers = { authorization: `Bearer ${await token('boss')}` };
    const seen: string[] = [];
    let response = await poll('boss', 'since=1970-01-01&limit=7');
    for (;;) {
      const page = (await response.json()) as Lead[];
      if (page.length === 0) break;
      seen.push(...page.map(({ id }) => id));
      response = await fetch(nextOf(response), { headers });
    }
    expect(seen).toEqual(many(25).map(({ id }) => id));

    await add({ id: 'late' });
    expect(await (await fetch(nextOf(response), { headers })).json()).toMatchObject([{ id: 'late' }]);
  });

  it('followed from a page without since continues after its newest lead', async () => {
    const { add, poll, token } = await startService();
    await add(...many(5));
    const first = await poll('boss', 'limit=2');
    expect(await first.json()).toMatchObject([{ id: 'lead-4' }, { id: 'lead-3' }]);
    await add({ id: 'next-1' }, { id: 'next-2' }, { id: 'next-3' });
    const headers = { authorization: `Bearer ${await token('boss')}` };
    const second = await fetch(nextOf(first), { headers });
    expect(await second.json()).toMatchObject([{ id: 'next-1' }, { id: 'next-2' }]);
  });

  it('followed from an empty feed misses no lead, even of the same millisecond', async () => {
    const { add, poll, token } = await startService({ clock: manualClock() });
    const first = await poll('boss');
    expect(await first.json()).toEqual([]);
    await add({ id: 'a' });
    const headers = { authorization: `Bearer ${await token('boss')}` };
    expect(await (await fetch(nextOf(first), { headers })).json()).toMatchObject([{ id: 'a' }]);
  });

  it('followed from an empty feed returns every lead after the clock was set back', async () => {
    const clock = manualClock();
    const { add, poll, token } = await startService({ clock });
    const first = await poll('boss');
    expect(await first.json()).toEqual([]);
    clock.advance(-3_600_000);
    for (const lead of many(6)) await add(lead);
    const headers = { authorization: `Bearer ${await token('boss')}` };
    const next = (await (await fetch(nextOf(first), { headers })).json()) as Lead[];
    expect(next.map(({ id }) => id)).toEqual(many(6).map(({ id }) => id));
  });

  it('starts in 1970 for a company that has never had a lead', async () => {
    const { poll } = await startService();
    expect(nextOf(await poll('boss')).searchParams.get('since')).toBe('1970-01-01T00:00:00.000Z');
  });

  it("starts at the company's last stamp for a user who sees none of its leads", async () => {
    const { add, database, poll } = await startService({ clock: manualClock() });
    const [stamp = 0] = await add({ id: 'south', branchId: 'south' });
    const sinceOf = async (userId: string) => nextOf(await poll(userId)).searchParams.get('since');
    expect(await sinceOf('north-lead')).toBe(new Date(stamp).toISOString());
    await database.deleteLead('acme', 'south');
    expect(await sinceOf('north-lead')).toBe(new Date(stamp).toISOString());
    expect(await sinceOf('boss')).toBe(new Date(stamp).toISOString());
  });

  it("starts at the company's last stamp although a writer holds the lock", async () => {
    const { add, database, poll, token } = await startService({ clock: manualClock() });
    const [stamp = 0] = await add({ id: 'south', branchId: 'south' });
    const release = await database.holdLock('acme');
    const first = await poll('north-lead');
    await release();
    expect(nextOf(first).searchParams.get('since')).toBe(new Date(stamp).toISOString());
    await add({ id: 'north', branchId: 'north' });
    const headers = { authorization: `Bearer ${await token('north-lead')}` };
    expect(await (await fetch(nextOf(first), { headers })).json()).toMatchObject([{ id: 'north' }]);
  });

  it('has the limit that was used, and the given since if the page is empty', async () => {
    const { poll } = await startService();
    const queryOf = async (query: string) =>
      Object.fromEntries(nextOf(await poll('boss', query)).searchParams);
    const since = '2026-03-02T09:30:00.000Z';
    expect(await queryOf('since=2026-03-02T11:30:00%2B02:00')).toEqual({ since, limit: '100' });
    expect(await queryOf('since=2026-03-02T09:30:00&limit=5')).toEqual({ since, limit: '5' });
    expect(await queryOf('since=2026-03-02T09:30:00&limit=500')).toEqual({ since, limit: '100' });
    const edge = '9999-12-31T23:59:59.999Z';
    expect(await queryOf(`since=${edge}`)).toEqual({ since: edge, limit: '100' });
  });

  it('has no other parameters', async () => {
    const { poll } = await startService();
    const { searchParams } = nextOf(await poll('boss', 'utm=x&access_token=secret'));
    expect([...searchParams.keys()]).toEqual(['since', 'limit']);
  });
});

describe('the base URL in Link', () => {
  it('is the one that the request was sent to', async () => {
    const { poll, url } = await startService();
    expect(nextOf(await poll('boss')).href.split('?')[0]).toBe(`${url}${NEW_LEADS_PATH}`);
  });

  it('has the base path', async () => {
    const { poll, url } = await startService({ env: { LEADTAP_BASE_PATH: '/api/v1' } });
    const next = nextOf(await poll('boss'));
    expect(next.pathname).toBe(`/api/v1${NEW_LEADS_PATH}`);
    expect(next.href.startsWith(url)).toBe(true);
  });

  it.each([
    ['https://leads.example.com', {}, 'https://leads.example.com'],
    ['https://leads.example.com/', { LEADTAP_BASE_PATH: '/api' }, 'https://leads.example.com/api'],
    ['https://example.com/leads/', { LEADTAP_BASE_PATH: '/api' }, 'https://example.com/leads'],
  ])('is LEADTAP_PUBLIC_URL if it is set: %s', async (publicUrl, env, base) => {
    const { poll } = await startService({ env: { LEADTAP_PUBLIC_URL: publicUrl, ...env } });
    const headers = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http' };
    expect(nextOf(await poll('boss', '', { headers })).href.split('?')[0]).toBe(`${base}${NEW_LEADS_PATH}`);
  });

  it.each(['https', 'HTTPS'])('is the forwarded one of a trusted proxy: %s', async (protocol) => {
    const { poll } = await startService({ env: { LEADTAP_TRUST_PROXY: '1' } });
    const headers = { 'x-forwarded-host': 'leads.example.com', 'x-forwarded-proto': protocol };
    expect(nextOf(await poll('boss', '', { headers })).origin).toBe('https://leads.example.com');
  });

  it('is not the forwarded one of any other client', async () => {
    const { poll, url } = await startService();
    const headers = { 'x-forwarded-host': 'leads.example.com', 'x-forwarded-proto': 'https' };
    expect(nextOf(await poll('boss', '', { headers })).origin).toBe(url);
  });
});

describe('a hostile request cannot end the URL in Link early', () => {
  const shared = shareService({ env: { LEADTAP_TRUST_PROXY: '1' } });

  const linkFor = async (...lines: readonly string[]) => {
    const [answer] = await sendRaw(
      shared().url,
      requestText(
        `GET ${NEW_LEADS_PATH} HTTP/1.1`,
        'Connection: close',
        `Authorization: Bearer ${await shared().token('boss')}`,
        ...lines,
      ),
    );
    return answer?.headers['link'] ?? '';
  };

  const HOSTILE = [
    'x>; rel="prev", <http://evil.example',
    'x/path?query',
    'user@evil.example',
    'x:99999999',
    'x y',
    'x\\evil',
    '"x"',
    '[::1',
    '',
  ];

  it.each(HOSTILE)('by the Host %j', async (host) => {
    expect(await linkFor(`Host: ${host}`)).toMatch(
      new RegExp(`^<${shared().url}${NEW_LEADS_PATH}\\?since=[\\w:.-]+&limit=100>; rel="next"$`),
    );
  });

  it.each(HOSTILE.filter((host) => host !== ''))('by the X-Forwarded-Host %j', async (host) => {
    expect(await linkFor('Host: good.example', `X-Forwarded-Host: ${host}`)).toMatch(
      /^<http:\/\/[\w.:]+\/automation\/new-leads\?[\w:.=&-]+>; rel="next"$/,
    );
  });

  it.each(['evil>; rel="prev"; <https', 'javascript', 'https://evil.example/', 'https x'])(
    'by the X-Forwarded-Proto %j',
    async (protocol) => {
      expect(await linkFor('Host: good.example', `X-Forwarded-Proto: ${protocol}`)).toMatch(
        /^<http:\/\/good\.example\/automation\/new-leads\?[\w:.=&-]+>; rel="next"$/,
      );
    },
  );

  it.each(['good.example', 'good.example:8080', '127.0.0.1', '[::1]:3000', 'a_b-c.example'])(
    'but a decent Host stays: %s',
    async (host) => {
      expect((await linkFor(`Host: ${host}`)).startsWith(`<http://${host}${NEW_LEADS_PATH}?`)).toBe(true);
    },
  );
});
