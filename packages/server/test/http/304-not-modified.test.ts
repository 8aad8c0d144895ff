import type { Organisation } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { ORGANISATION } from '../../../testing/harness/organisation.ts';
import { startService } from '../../../testing/harness/service.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';

const withTag = (tag: string, init: RequestInit = {}): RequestInit => ({
  ...init,
  headers: { 'if-none-match': tag },
});

describe('304: the client has the page already', () => {
  const shared = shareService();

  const currentTag = async () => {
    await shared().add({ id: 'a' });
    return (await shared().poll('boss')).headers.get('etag') ?? '';
  };

  it('every 200 has a strong ETag', async () => {
    expect(await currentTag()).toMatch(/^"[\w-]{20,}"$/);
  });

  it.each<[string, (tag: string) => string]>([
    ['its tag', (tag) => tag],
    ['its tag, marked weak', (tag) => `W/${tag}`],
    ['a list with it', (tag) => `"one", W/"two",${tag} , "three"`],
    ['a list with it, marked weak', (tag) => `"one",W/${tag}`],
    ['*', () => '*'],
  ])('answers If-None-Match with %s', async (_what, make) => {
    const response = await shared().poll('boss', '', withTag(make(await currentTag())));
    expect(response.status).toBe(304);
    expect(await response.text()).toBe('');
  });

  it('answers HEAD with the length of the leads, or without a length', async () => {
    const tag = await currentTag();
    const { headers } = await shared().poll('boss', '', { method: 'HEAD' });
    const known = await shared().poll('boss', '', { method: 'HEAD', headers: { 'if-none-match': tag } });
    expect(known.status).toBe(304);
    expect(known.headers.get('content-length')).toBe(headers.get('content-length'));
  });

  it.each<[string, (tag: string) => string]>([
    ['another tag', () => '"other"'],
    ['its tag without quotes', (tag) => tag.replaceAll('"', '')],
    ['its tag in other case', (tag) => tag.replace(/[a-z]/, (letter) => letter.toUpperCase())],
    ['part of its tag', (tag) => `${tag.slice(0, -2)}"`],
    ['* in quotes', () => '"*"'],
    ['nothing', () => ''],
  ])('does not answer If-None-Match with %s', async (_what, make) => {
    expect((await shared().poll('boss', '', withTag(make(await currentTag())))).status).toBe(200);
  });

  it('has the headers of the 200, except those of a body', async () => {
    const tag = await currentTag();
    const page = await shared().poll('boss', 'since=1970-01-01');
    const { headers } = await shared().poll('boss', 'since=1970-01-01', withTag(tag));
    for (const name of ['etag', 'link', 'cache-control', 'vary', 'ratelimit-policy'])
      expect([name, headers.get(name)]).toEqual([name, page.headers.get(name)]);
    for (const name of ['date', 'x-request-id', 'ratelimit']) expect(headers.has(name)).toBe(true);
    for (const name of ['content-type', 'content-length', 'transfer-encoding'])
      expect([name, headers.get(name)]).toEqual([name, null]);
  });

  it('answers HEAD too', async () => {
    const response = await shared().poll('boss', '', withTag(await currentTag(), { method: 'HEAD' }));
    expect(response.status).toBe(304);
  });

  it('a tag of another page does not match', async () => {
    await shared().add({ id: 'b' }, { id: 'c' });
    const tag = (await shared().poll('boss', 'limit=1')).headers.get('etag') ?? '';
    expect((await shared().poll('boss', 'limit=2', withTag(tag))).status).toBe(200);
  });
});

describe('the ETag changes', () => {
  /** The organisation with every name of `acme` changed as the test says. */
  const changed = (change: (company: Organisation['companies'][number]) => object): Organisation => ({
    companies: ORGANISATION.companies.map((company) =>
      company.id === 'acme' ? { ...company, ...change(company) } : company,
    ),
  });
  const status = { value: 'NEW', label: 'Brand new', color: '#2563eb', final: false };

  it.each<[string, Organisation]>([
    ['the label of a status', changed(() => ({ statuses: [status] }))],
    [
      'the colour of a status',
      changed(() => ({ statuses: [{ ...status, label: 'New', color: '#000000' }] })),
    ],
    ['the name of the company', changed(() => ({ name: 'Acme & Sons' }))],
    [
      'the name of a branch',
      changed(({ branches }) => ({ branches: branches.map((branch) => ({ ...branch, name: 'Renamed' })) })),
    ],
    [
      'the name of a department',
      changed(({ branches }) => ({
        branches: branches.map((branch) => ({
          ...branch,
          departments: branch.departments.map((department) => ({ ...department, name: 'Renamed' })),
        })),
      })),
    ],
  ])('with %s', async (_what, organisation) => {
    const { add, poll, store } = await startService();
    await add({ id: 'a', departmentId: 'sales' });
    const tag = (await poll('boss')).headers.get('etag') ?? '';
    expect((await poll('boss', '', withTag(tag))).status).toBe(304);
    expect(await store.applyOrganisation(organisation)).toMatchObject({ kind: 'applied' });
    expect((await poll('boss', '', withTag(tag))).status).toBe(200);
  });

  it('with any change of a lead, and with a new lead', async () => {
    const { add, poll } = await startService();
    await add({ id: 'a' });
    const tags = [(await poll('boss')).headers.get('etag')];
    for (const change of [
      { id: 'a', fields: { phone1: '555' } },
      { id: 'a', statusValue: 'WON' },
      { id: 'a', branchId: 'south' },
      { id: 'b' },
    ]) {
      await add(change);
      tags.push((await poll('boss')).headers.get('etag'));
    }
    expect(new Set(tags).size).toBe(5);
  });
});
