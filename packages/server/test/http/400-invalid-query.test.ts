import { NEW_LEADS_PATH, SINCE_EXAMPLE } from '@leadtap/contract';
import { openApiDocument } from '@leadtap/contract/openapi';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { injectPoll, makeEndpoint, noLimit } from '../../../testing/harness/endpoint.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';

describe('400 invalid-query', () => {
  const shared = shareService();
  const errorsOf = async (query: string) =>
    (await expectProblem(await shared().poll('boss', query), 'invalid-query')).errors;

  it('names every bad parameter at once', async () => {
    expect(await errorsOf('since=yesterday&limit=0')).toEqual([
      { parameter: 'limit', detail: 'Give a whole number of at least 1; above 100 it counts as 100.' },
      { parameter: 'since', detail: `Give an ISO 8601 date-time, such as ${SINCE_EXAMPLE}.` },
    ]);
  });

  it('rejects what is outside the limits of the OpenAPI document', async () => {
    const { parameters } = openApiDocument('1.0.0').paths[NEW_LEADS_PATH];
    const { minimum = Number.NaN } = parameters.find(({ name }) => name === 'limit')?.schema ?? {};
    expect((await shared().poll('boss', `limit=${minimum}`)).status).toBe(200);
    expect(await errorsOf(`limit=${minimum - 1}`)).toMatchObject([{ parameter: 'limit' }]);
  });

  it('names only the bad parameter', async () => {
    expect(await errorsOf('since=2026-03-02&limit=ten')).toMatchObject([{ parameter: 'limit' }]);
    expect(await errorsOf('since=now&limit=10')).toMatchObject([{ parameter: 'since' }]);
  });

  it('checks all parameters, however many others are before them', async () => {
    const others = 'a&'.repeat(1500);
    expect(await errorsOf(`${others}limit=0&since=yesterday`)).toMatchObject([
      { parameter: 'limit' },
      { parameter: 'since' },
    ]);
  });

  it.each([
    ['since', 'since=2026-03-02&since=2026-03-02'],
    ['limit', 'limit=5&limit=5'],
    ['limit', 'limit=5&limit='],
  ])('rejects %s given twice, even with the same value: %s', async (parameter, query) => {
    expect(await errorsOf(query)).toEqual([
      { parameter, detail: expect.stringMatching(/^Give it once, such as /) },
    ]);
  });

  it('rejects both given twice', async () => {
    expect(await errorsOf('limit=5&since=2026-03-02&limit=6&since=2026-03-02')).toHaveLength(2);
  });

  it.each(['limit', 'limit=', 'since', 'since=', 'limit&since', '=&limit='])(
    'refuses a parameter without a value: ?%s',
    async (query) => {
      const names = ['limit', 'since'].filter((name) => query.includes(name));
      expect((await errorsOf(query))?.map((error) => 'parameter' in error && error.parameter)).toEqual(names);
    },
  );

  it.each([
    'foo=bar',
    'LIMIT=0',
    'Limit=0',
    'Since=yesterday',
    'limit[]=0',
    'limit%00=0',
    'since[0]=x',
    '__proto__=1&constructor=2',
    'limi=0&limits=0',
    '&&&',
    'a=%ZZ',
  ])('is not caused by an unknown parameter: ?%s', async (query) => {
    expect((await shared().poll('boss', query)).status).toBe(200);
  });

  it('does not repeat the value, which may be a misplaced secret', async () => {
    const response = await shared().poll('boss', 'since=s3cr3t&limit=s3cr3t');
    expect(await response.text()).not.toContain('s3cr3t');
  });
});

describe('400 invalid-query: limit', () => {
  const endpoint = () => makeEndpoint({}, { limiter: noLimit });
  const limitIn = (link: unknown) =>
    new URL(/<(.*)>/.exec(String(link))?.[1] ?? '').searchParams.get('limit');

  it.each([
    '0',
    '00',
    '-1',
    '-0',
    '+5',
    '1.5',
    '1.0',
    '1e2',
    '0x10',
    '5 ',
    ' 5',
    '5,0',
    'ten',
    'NaN',
    'Infinity',
  ])('rejects %j', async (limit) => {
    const answer = await injectPoll(endpoint(), `limit=${encodeURIComponent(limit)}`);
    const { errors } = await expectProblem(answer, 'invalid-query');
    expect(errors).toMatchObject([{ parameter: 'limit' }]);
  });

  it('rejects every text that is not a positive whole number', async () => {
    const app = endpoint();
    const text = fc
      .oneof(fc.string({ unit: 'binary' }), fc.string({ unit: fc.constantFrom(...'0123456789+-. eExX') }))
      .filter((given) => !/^[0-9]*[1-9][0-9]*$/.test(given));
    await fc.assert(
      fc.asyncProperty(text, async (given) => {
        const answer = await injectPoll(app, `limit=${encodeURIComponent(given)}`);
        expect(answer.statusCode).toBe(400);
      }),
    );
  });

  it('accepts every positive whole number, and uses 100 for more', async () => {
    const app = endpoint();
    const limit = fc.tuple(fc.bigInt({ min: 1n }), fc.nat(3));
    await fc.assert(
      fc.asyncProperty(limit, async ([number, zeros]) => {
        const answer = await injectPoll(app, `limit=${'0'.repeat(zeros)}${number}`);
        expect(limitIn(answer.headers['link'])).toBe(String(number > 100n ? 100 : number));
      }),
    );
  });
});
