import type { LeadError, Problem } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import { type SendOptions, sendBody, sendForm, sendLeads } from '../../../testing/harness/intake.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';
import { parseLead } from '../../src/leads/parse-lead.ts';

const service = shareService();

async function errorsOf(answer: Response): Promise<Problem['errors']> {
  expect(answer.headers.get('ratelimit')).toMatch(/^"intake";/);
  const { errors } = await expectProblem(answer, 'invalid-lead');
  expect(await service().leads('boss', 'limit=100')).toEqual([]);
  return errors;
}

const rejected = async (leads: unknown, options?: SendOptions) =>
  errorsOf(await sendLeads(service(), leads, options));

describe('422: a body that is not leads', () => {
  it.each(['7', '"Ada"', 'true', 'null'])('%s', async (body) => {
    expect(await errorsOf(await sendBody(service(), body))).toEqual([
      { index: 0, field: null, detail: 'the body must be an object, or an array of 1 to 1,000 objects' },
    ]);
  });

  it('an empty array', async () => {
    expect(await rejected([])).toEqual([
      { index: 0, field: null, detail: 'the array is empty; send one lead, or an array of 1 to 1,000 leads' },
    ]);
  });

  it('1,001 leads', async () => {
    const leads = Array.from({ length: 1001 }, () => ({}));
    expect(await rejected(leads)).toEqual([
      {
        index: 1000,
        field: null,
        detail: 'is one too many: the array has 1,001 leads; send at most 1,000 in one request',
      },
    ]);
  });

  it('items that are not objects, each by its index', async () => {
    const errors = await rejected([{ firstName: 'Ada' }, 7, [], null]);
    expect(errors).toEqual(
      [1, 2, 3].map((index) => ({
        index,
        field: null,
        detail: 'must be an object, such as {"firstName":"Ada"}',
      })),
    );
  });
});

describe('422: every error of every lead is named', () => {
  /** Each of these is wrong in one way; the messages are those of `leads import`. */
  const WRONG: Readonly<Record<string, unknown>>[] = [
    { firstName: true },
    { email: 'ada' },
    { customFields: { big: 2 ** 60 } },
    { frstName: 'Ada' },
    { createdAt: '2026-03-02T09:30:00Z' },
  ];

  it('with the messages of leads import', async () => {
    const parsed = WRONG.map((lead) =>
      parseLead({ companyId: 'acme', ...lead }, { historical: false, clock: Date.now }),
    );
    expect(await rejected(WRONG)).toEqual(
      parsed.flatMap(({ issues = [] }, index) => issues.map((issue) => ({ index, ...issue }))),
    );
    expect(parsed.every(({ issues }) => issues?.length === 1)).toBe(true);
  });

  it('several in one lead, together with those that only the database finds', async () => {
    const errors = await rejected([
      { firstName: 'Ada' },
      { email: 'ada', branchId: 'west', departmentId: 'it', statusValue: 'UNKNOWN' },
    ]);
    expect(errors).toEqual([
      { index: 1, field: 'email', detail: '"ada" is not an e-mail address; write it like ada@example.com' },
      {
        index: 1,
        field: 'statusValue',
        detail:
          'unknown status "UNKNOWN"; use one of NEW, CONTACTED, APPOINTMENT, QUOTED, WON, LOST, or add it with leadtap org apply',
      },
      { index: 1, field: 'branchId', detail: 'unknown branch "west"; create it with leadtap org apply' },
      {
        index: 1,
        field: 'departmentId',
        detail: 'unknown department "it"; create it with leadtap org apply',
      },
    ]);
  });

  it('a name of another program: says the field', async () => {
    expect(await rejected({ name: 'Bo Li' })).toEqual([
      { index: 0, field: 'name', detail: 'is not a field of a lead; did you mean fullName?' },
    ]);
  });

  it('two leads with the same id', async () => {
    const leads = [
      { id: 'a', firstName: 'Ada' },
      { id: 'b', firstName: 'Ada' },
      { id: 'a', firstName: 'Ada' },
      { id: 'a', firstName: 'Ada' },
    ];
    const detail = 'is also the id of lead 0; send each lead once';
    expect(await rejected(leads)).toEqual([
      { index: 2, field: 'id', detail },
      { index: 3, field: 'id', detail },
    ]);
  });

  it('names that JavaScript treats specially', async () => {
    const errors = await errorsOf(await sendBody(service(), '{"__proto__":{"id":"x"},"constructor":1}'));
    expect(errors?.map((error) => 'field' in error && error.field)).toEqual(['__proto__', 'constructor']);
  });

  it('up to 1,000 errors, so that a body full of errors is answered soon', async () => {
    const many = Array.from({ length: 499 }, () => ({ a: 1, b: 1 }));
    expect(await rejected(many)).toHaveLength(998);
    const wide = Object.fromEntries(Array.from({ length: 9000 }, (_, n) => [`x${n}`, 1]));
    expect(await rejected(wide)).toEqual([
      { index: 0, field: null, detail: 'has 9,000 fields; put your own fields under customFields' },
    ]);
    const most = Array.from({ length: 1000 }, () =>
      Object.fromEntries([...'abcdefghijklmnopqrstu'].map((n) => [n, 1])),
    );
    expect(await rejected(most)).toHaveLength(1000);
    const unplaced = Array.from({ length: 600 }, () => ({ branchId: 'west', statusValue: 'UNKNOWN' }));
    expect(await rejected(unplaced)).toHaveLength(1000);
  });
});

describe('422: the fields of a form', () => {
  const ofForm = async (text: string): Promise<Problem['errors']> =>
    errorsOf(await sendForm(service(), text));
  const error = (field: string, detail: unknown): LeadError => ({
    index: 0,
    field,
    detail: detail as string,
  });

  it.each([
    [
      'a field that is there twice',
      'firstName=Ada&firstName=Eve',
      [error('firstName', 'is there twice; send it once')],
    ],
    [
      'custom fields in brackets',
      'customFields[a]=1&customFields[]=1',
      ['customFields[a]', 'customFields[]'].map((field) =>
        error(field, 'write it as customFields.name, with the name of the field'),
      ),
    ],
  ])('%s', async (_what, text, errors) => {
    expect(await ofForm(text)).toEqual(errors);
  });
});

it('the name of a field is shortened in the response', async () => {
  const errors = await rejected({ ['x'.repeat(100_000)]: 1 });
  expect(errors?.[0]).toMatchObject({ field: `${'x'.repeat(60)}…` });
  const form = `customFields[${'x'.repeat(100_000)}]=1`;
  const answer = await sendForm(service(), form);
  expect((await answer.text()).length).toBeLessThan(1000);
});
