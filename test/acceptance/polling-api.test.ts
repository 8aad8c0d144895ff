import process from 'node:process';
import type { Problem } from '@leadtap/contract';
import { Lead } from '@leadtap/contract/schemas';
import { Compile } from 'typebox/compile';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Caller, findTarget, type Target } from './support/target.ts';

let target: Target;
beforeAll(async () => {
  target = await findTarget(process.env);
});
afterAll(() => target?.stop());

const endpoint = (query = '') => `${target.baseUrl}/automation/new-leads${query && `?${query}`}`;

const poll = (caller: Caller, query?: string, init: RequestInit = {}) =>
  fetch(endpoint(query), {
    ...init,
    headers: { authorization: `Bearer ${target.tokens[caller]}`, ...init.headers },
  });

async function leadsOf(response: Response): Promise<Lead[]> {
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toMatch(/^application\/json\b/);
  return (await response.json()) as Lead[];
}

const leads = async (query?: string, caller: Caller = 'COMPANY') => leadsOf(await poll(caller, query));

async function problemOf(response: Response): Promise<Problem> {
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  const problem = (await response.json()) as Problem;
  expect(problem.status).toBe(response.status);
  expect(problem.requestId).toBe(response.headers.get('x-request-id'));
  return problem;
}

const createdAt = (lead: Lead) => lead.createdAt;
const rising = (list: readonly Lead[]) =>
  list.every((lead, index) => index === 0 || lead.createdAt > (list[index - 1]?.createdAt ?? ''));

describe('access', () => {
  it('without a token: 401', async () => {
    const response = await fetch(endpoint());
    expect(response.headers.get('www-authenticate')).toMatch(/^Bearer\b(?!.*error=)/);
    expect(await problemOf(response)).toMatchObject({ status: 401, code: 'token-missing' });
  });

  it('with a token that is not valid: 401', async () => {
    const response = await fetch(endpoint(), { headers: { authorization: 'Bearer invented' } });
    expect(response.headers.get('www-authenticate')).toContain('error="invalid_token"');
    expect(await problemOf(response)).toMatchObject({ status: 401, code: 'token-invalid' });
  });

  it('with a valid token whose user is not in the database: 404', async () => {
    expect(await problemOf(await poll('UNKNOWN_USER'))).toMatchObject({
      status: 404,
      code: 'user-not-found',
    });
  });

  it('for a user without the Professional plan: 403', async () => {
    const problem = await problemOf(await poll('OTHER_PLAN'));
    expect(problem).toMatchObject({ status: 403, code: 'professional-plan-required' });
  });

  it('each access level sees only its leads', async () => {
    // The narrowest first: a lead that is added meanwhile is then only in the wider lists.
    const department = await leads('', 'DEPARTMENT');
    const branch = await leads('', 'BRANCH');
    const company = await leads('', 'COMPANY');
    expect(new Set(branch.map(({ branchName }) => branchName)).size).toBeLessThanOrEqual(1);
    expect(new Set(department.map(({ departmentName }) => departmentName)).size).toBeLessThanOrEqual(1);
    expect(new Set(company.map(({ companyName }) => companyName)).size).toBe(1);
    const within = (narrow: readonly Lead[], wide: readonly Lead[]) => {
      const ids = new Set(wide.map(({ id }) => id));
      const oldest = wide.at(-1)?.createdAt ?? '';
      return narrow.filter((lead) => lead.createdAt >= oldest).every(({ id }) => ids.has(id));
    };
    expect(within(department, branch)).toBe(true);
    expect(within(branch, company)).toBe(true);
  });
});

describe('the response', () => {
  it('is a JSON array of leads with the fields of the contract', async () => {
    const page = await leads();
    const lead = Compile(Lead);
    expect(page.length).toBeGreaterThan(0);
    for (const each of page) {
      expect([...lead.Errors(each)]).toEqual([]);
      expect(Object.keys(each)).toEqual(Object.keys(Lead.properties));
    }
  });

  it('has times in UTC with milliseconds', async () => {
    const times = (await leads()).flatMap((lead) => [
      lead.createdAt,
      lead.updatedAt,
      lead.automation_created_at,
      ...(lead.appointmentDateTime === null ? [] : [lead.appointmentDateTime]),
    ]);
    for (const time of times) expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it('has a unique automation_trigger_id for each lead', async () => {
    const ids = (await leads()).map((lead) => lead.automation_trigger_id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('has the newest leads, newest first, without since', async () => {
    const page = await leads();
    expect(rising(page.toReversed())).toBe(true);
  });

  it('is the same for a request with a Content-Type', async () => {
    const response = await poll('COMPANY', '', { headers: { 'content-type': 'application/json' } });
    expect((await leadsOf(response)).length).toBeGreaterThan(0);
  });

  it('has an ETag: 304 if nothing changed, and HEAD has no body', async () => {
    const since = 'since=2999-01-01T00:00:00Z';
    const etag = (await poll('COMPANY', since)).headers.get('etag') ?? '';
    expect(etag).toMatch(/^"/);
    expect((await poll('COMPANY', since, { headers: { 'if-none-match': etag } })).status).toBe(304);
    const head = await poll('COMPANY', since, { method: 'HEAD' });
    expect([head.status, head.headers.get('etag'), await head.text()]).toEqual([200, etag, '']);
  });
});

describe('limit', () => {
  it('omitted: up to 100 leads', async () => {
    expect((await leads()).length).toBeLessThanOrEqual(100);
  });

  it('given: at most that many, and never more than 100', async () => {
    expect(await leads('limit=1')).toHaveLength(1);
    expect(await leads('limit=2')).toHaveLength(2);
    expect((await leads('limit=100000')).length).toBeLessThanOrEqual(100);
  });

  it('not a whole number of at least 1: 400', async () => {
    for (const limit of ['', '0', '-1', '1.5', 'ten', '1&limit=2']) {
      const problem = await problemOf(await poll('COMPANY', `limit=${limit}`));
      expect(problem).toMatchObject({ status: 400, code: 'invalid-query', errors: [{ parameter: 'limit' }] });
    }
  });
});

describe('since', () => {
  it('given: only leads created after it, oldest first', async () => {
    const [newest, second, third] = await leads('limit=3');
    const page = await leads(`since=${third?.createdAt}`);
    expect(page.map(createdAt).slice(0, 2)).toEqual([second?.createdAt, newest?.createdAt]);
    expect(rising(page)).toBe(true);
  });

  it('with any offset means the same time', async () => {
    const [newest, second] = await leads('limit=2');
    const at = new Date(Date.parse(second?.createdAt ?? '') + 2 * 3_600_000).toISOString();
    const [first] = await leads(`since=${encodeURIComponent(at.replace('Z', '+02:00'))}`);
    expect(first?.id).toBe(newest?.id);
  });

  it('in the future: an empty array', async () => {
    expect(await leads('since=2999-01-01T00:00:00Z')).toEqual([]);
  });

  it('not ISO 8601: 400', async () => {
    for (const since of ['', 'yesterday', '1700000000', '2026-02-30T00:00:00Z']) {
      const problem = await problemOf(await poll('COMPANY', `since=${since}`));
      expect(problem).toMatchObject({ status: 400, code: 'invalid-query', errors: [{ parameter: 'since' }] });
    }
  });

  it('following the Link header returns every lead once', async () => {
    const known = (await leads('limit=10')).toReversed();
    const [start, ...expected] = known.map(createdAt);
    const walked: string[] = [];
    let next = endpoint(`since=${start}&limit=4`);
    for (let full = true; full; ) {
      const headers = { authorization: `Bearer ${target.tokens.COMPANY}` };
      const response = await fetch(next, { headers });
      const page = await leadsOf(response);
      walked.push(...page.map(createdAt));
      full = page.length === 4;
      next = /^<([^>]+)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1] ?? '';
    }
    expect(walked.slice(0, expected.length)).toEqual(expected);
    expect(new Set(walked).size).toBe(walked.length);
  });
});

describe('everything else', () => {
  it('another method: 405', async () => {
    const response = await poll('COMPANY', '', { method: 'POST' });
    expect(response.headers.get('allow')).toBe('GET, HEAD');
    expect(await problemOf(response)).toMatchObject({ status: 405, code: 'method-not-allowed' });
  });

  it('another path: 404', async () => {
    const response = await fetch(`${target.baseUrl}/automation/old-leads`);
    expect(await problemOf(response)).toMatchObject({ status: 404, code: 'no-such-resource' });
  });

  it('the service describes itself', async () => {
    const response = await fetch(`${target.baseUrl}/openapi.json`);
    const description = (await response.json()) as { paths: object };
    expect(Object.keys(description.paths)).toContain('/automation/new-leads');
  });
});

describe('the limits of a user', () => {
  it('are 100 requests a minute and 1000 an hour, then 429', async () => {
    const first = await poll('UNKNOWN_USER');
    expect(first.headers.get('ratelimit-policy')).toBe('"minute";q=100;w=60, "hour";q=1000;w=3600');
    const left = Number(/"minute";r=(\d+)/.exec(first.headers.get('ratelimit') ?? '')?.[1]);
    for (let request = 0; request < left; request += 1) expect((await poll('UNKNOWN_USER')).status).toBe(404);
    const refused = await poll('UNKNOWN_USER');
    expect(refused.headers.get('retry-after')).toMatch(/^([1-9]|[1-5]\d|60)$/);
    expect(await problemOf(refused)).toMatchObject({
      status: 429,
      code: 'rate-limit-exceeded',
      violatedPolicies: ['minute'],
    });
  });

  it('do not affect another user', async () => {
    expect((await poll('COMPANY')).status).toBe(200);
  });
});
