import { NEW_LEADS_PATH, SINCE_FORMS } from '@leadtap/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { injectPoll, makeEndpoint, noLimit } from '../../../testing/harness/endpoint.ts';
import { requestText, sendRaw } from '../../../testing/harness/raw-http.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';

/** The Link of an empty page repeats the given `since`, so it shows how the service has parsed it. */
const readMoment = (link: unknown) =>
  new URL(/<(.*)>/.exec(String(link))?.[1] ?? '').searchParams.get('since');

/** A second implementation of the rule; undefined if the text is invalid. */
function expectedMoment(text: string): string | undefined {
  const form =
    /^(.{10})(?:[Tt ](\d\d:\d\d)(?:(:\d\d)(\.\d{1,9})?)?(?:[Zz]|([-+ ])(\d\d)(?::?(\d\d))?)?)?$/s.exec(text);
  const [, date = '', time = '00:00', seconds = ':00', fraction = '', sign, hours = '00', minutes = '00'] =
    form ?? [];
  const local = `${date}T${time}${seconds}.${fraction.slice(1, 4).padEnd(3, '0')}Z`;
  const at = /^\d{4}-\d\d-\d\dT/.test(local) ? Date.parse(local) : Number.NaN;
  // For a day or an hour that does not exist, Date returns another one.
  if (Number.isNaN(at) || new Date(at).toISOString() !== local) return undefined;
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined;
  const offsetMs = (Number(hours) * 60 + Number(minutes)) * 60_000;
  return new Date(sign === '-' ? at + offsetMs : at - offsetMs).toISOString();
}

const two = (value: number) => String(value).padStart(2, '0');

const form = fc
  .record({
    date: fc
      .date({ min: new Date('1000-01-01'), max: new Date('9990-01-01'), noInvalidDate: true })
      .map((date) => date.toISOString().slice(0, 10)),
    separator: fc.constantFrom('T', 't', ' '),
    time: fc.tuple(fc.nat(23), fc.nat(59)).map((parts) => parts.map(two).join(':')),
    seconds: fc.stringMatching(/^(:[0-5]\d(\.\d{1,9})?)?$/),
    offset: fc.oneof(fc.constantFrom('', 'Z', 'z'), fc.stringMatching(/^[-+ ](0\d|1\d|2[0-3])(:?[0-5]\d)?$/)),
  })
  .map(({ date, separator, time, seconds, offset }) => `${date}${separator}${time}${seconds}${offset}`);

const dateAlone = form.map((text) => text.slice(0, 10));
const legal = fc.oneof({ weight: 4, arbitrary: form }, { weight: 1, arbitrary: dateAlone });

/** One character added, removed or replaced: mostly invalid, sometimes still valid. */
const nearMiss = fc
  .tuple(legal, fc.nat(), fc.nat(2), fc.constantFrom(...'0123456789-:.,+TtZz W/\n\t\0é٣'))
  .map(([text, position, kind, character]) => {
    const at = position % (text.length + 1);
    const kept = text.slice(kind === 0 ? at : at + 1);
    return `${text.slice(0, at)}${kind === 2 ? '' : character}${kept}`;
  });

describe('since', () => {
  const read = async (app: ReturnType<typeof makeEndpoint>, query: string) => {
    const { statusCode, headers } = await injectPoll(app, query);
    return statusCode === 200 ? readMoment(headers['link']) : statusCode;
  };

  it('is parsed in every valid form', async () => {
    const app = makeEndpoint({}, { limiter: noLimit });
    await fc.assert(
      fc.asyncProperty(legal, async (text) => {
        const expected = expectedMoment(text);
        expect(expected).toBeDefined();
        expect(await read(app, `since=${encodeURIComponent(text)}`)).toBe(expected);
      }),
      { numRuns: 100 },
    );
  });

  it('may be sent without percent-encoding, also of plus and colon', async () => {
    const app = makeEndpoint({}, { limiter: noLimit });
    const unencoded = legal.filter((text) => !text.includes(' '));
    await fc.assert(
      fc.asyncProperty(unencoded, async (text) => {
        expect(await read(app, `since=${text}`)).toBe(expectedMoment(text));
      }),
    );
  });

  it('is rejected in every other form', async () => {
    const app = makeEndpoint({}, { limiter: noLimit });
    const text = fc.oneof(
      { weight: 8, arbitrary: nearMiss },
      fc.string({ unit: 'binary' }),
      fc.nat().map(String),
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
    );
    await fc.assert(
      fc.asyncProperty(text, async (given) => {
        expect(await read(app, `since=${encodeURIComponent(given)}`)).toBe(expectedMoment(given) ?? 400);
      }),
      { numRuns: 200 },
    );
  });
});

describe('since, over the wire', () => {
  const shared = shareService();

  it.each(SINCE_FORMS)('$form: $example', async ({ example, readAs }) => {
    const { headers } = await shared().poll('boss', `since=${encodeURIComponent(example)}`);
    expect(readMoment(headers.get('link'))).toBe(readAs);
  });

  it('accepts a plus that was not encoded', async () => {
    const [answer] = await sendRaw(
      shared().url,
      requestText(
        `GET ${NEW_LEADS_PATH}?since=2026-03-02T11:30:00+02:00 HTTP/1.1`,
        'Host: x',
        'Connection: close',
        `Authorization: Bearer ${await shared().token('boss')}`,
      ),
    );
    expect(readMoment(answer?.headers['link'])).toBe('2026-03-02T09:30:00.000Z');
  });

  it('is truncated to milliseconds, so that the lead of that millisecond is returned again', async () => {
    const [first = 0] = await shared().add({ id: 'a' }, { id: 'b' });
    const before = new Date(first - 1).toISOString().replace('Z', '999999Z');
    expect(await shared().leads('boss', `since=${before}`)).toMatchObject([{ id: 'a' }, { id: 'b' }]);
  });

  it('in the future is valid and returns an empty page', async () => {
    const response = await shared().poll('boss', 'since=9999-12-31T23:59:59.999Z');
    expect([response.status, await response.text()]).toEqual([200, '[]']);
  });
});
