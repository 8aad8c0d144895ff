import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { LEADS_PATH, MAX_INTAKE_BYTES } from '@leadtap/contract';
import { issueToken, type TokenScope } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { sendLeads } from '../../../testing/harness/intake.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';

/** Webhooks as the services send them: their documentation, with other people. */
const readWebhook = (source: string): string =>
  readFileSync(new URL(`./support/webhooks/${source}.json`, import.meta.url), 'utf8');

const service = shareService({ env: { LEADTAP_INTAKE: 'urls' } });

const tokenFor = (
  { service: { keys } }: TestService,
  source: string | undefined,
  map: Readonly<Record<string, string>> = {},
  scopes: readonly TokenScope[] = ['leads:write'],
): Promise<string> =>
  issueToken(keys, {
    ...{ userId: 'boss', tokenId: randomUUID(), scopes },
    ...{ issuedAt: Date.now() - 1000, expiresAt: Date.now() + 3_600_000 },
    ...(source !== undefined && { source: { name: source, map } }),
  });

const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';

async function send(
  source: string,
  body: string,
  { map = {}, type = JSON_TYPE }: { map?: Readonly<Record<string, string>>; type?: string } = {},
): Promise<Response> {
  const authorization = `Bearer ${await tokenFor(service(), source, map)}`;
  return fetch(`${service().url}${LEADS_PATH}`, {
    method: 'POST',
    headers: { authorization, 'content-type': type },
    body,
  });
}

async function leadOf(answer: Response) {
  expect(answer.status, await answer.clone().text()).toBe(201);
  const { leads } = (await answer.json()) as { leads: readonly { id: string }[] };
  const all = await service().leads('boss');
  return all.find(({ id }) => id === leads[0]?.id);
}

const FEMKE = { firstName: 'Femke', lastName: 'Moreau', email: 'femke@example.com', phone1: '+33612345678' };

describe('a token that was issued for a source', () => {
  it('sends webhooks of Tally: choices by their texts, hidden fields, files, no empty answers', async () => {
    const lead = await leadOf(await send('tally', readWebhook('tally')));
    expect(lead).toMatchObject({ id: '2wgx4n', ...FEMKE });
    expect(lead?.customFields).toEqual({
      Roof: 'Tile',
      'Interested in': 'Panels, Battery',
      'A photo of the roof': 'https://storage.example/roof.jpg',
      utm_source: 'newsletter',
    });
  });

  it('sends webhooks of Typeform: the map names a question by its title or its reference', async () => {
    const map = { surname: 'lastName', 'Which roof do you have?': 'customFields.roof' };
    const lead = await leadOf(await send('typeform', readWebhook('typeform'), { map }));
    expect(lead).toMatchObject({ id: 'a3a12ec67a1365927098a606107fac15', ...FEMKE });
    expect(lead?.customFields).toEqual({
      roof: 'Tile',
      'What would you like?': 'Panels, Battery',
      'Do you own the house?': 'true',
      'How many rooms?': '5',
      utm_campaign: 'spring',
      score: '9',
    });
  });

  it('sends webhooks of Webflow', async () => {
    const lead = await leadOf(await send('webflow', readWebhook('webflow')));
    expect(lead).toMatchObject({ ...FEMKE, id: '6321ca84df3949bfc6752327', phone1: '33612345678' });
    expect(lead?.customFields).toEqual({ Roof: 'Tile' });
  });

  it('sends webhooks of Google Ads, without the secret key in them', async () => {
    const lead = await leadOf(await send('google-ads', readWebhook('google-ads')));
    const { email, phone1 } = FEMKE;
    expect(lead).toMatchObject({ fullName: 'Femke Moreau', email, phone1, postalCode: '59000' });
    expect(lead?.id).toBe('TeSter-123-ABCDEFGHIJKLMNOPQRSTUVWXYZ');
    expect(lead?.customFields).toEqual({
      'Which roof do you have?': 'Tile',
      campaign_id: '123456789',
      form_id: '40000000000',
      gcl_id: 'Cj0KCQ',
      is_test: 'true',
    });
  });

  it('sends leads of Facebook as the Graph API has them, which have the ids of the CSV file without l:', async () => {
    const fields = {
      full_name: 'Femke Moreau',
      email: FEMKE.email,
      phone_number: FEMKE.phone1,
      roof: 'Tile',
    };
    const body = {
      ...{ id: '4280180252203503', created_time: '2026-09-12T15:05:13+0000', form_id: '2013' },
      field_data: Object.entries(fields).map(([name, value]) => ({ name, values: [value] })),
    };
    const lead = await leadOf(await send('facebook', JSON.stringify(body)));
    const { email, phone1 } = FEMKE;
    expect(lead).toMatchObject({ id: body.id, fullName: 'Femke Moreau', email, phone1 });
    expect(lead?.customFields).toEqual({ roof: 'Tile', created_time: body.created_time, form_id: '2013' });
    const errors = await sendLeads(service(), body).then((answer) => expectProblem(answer, 'invalid-lead'));
    expect(JSON.stringify(errors)).toContain('--source facebook');
  });

  it('sends webhooks of Calendly, with the appointment', async () => {
    const lead = await leadOf(await send('calendly', readWebhook('calendly')));
    expect(lead).toMatchObject({ id: 'BBBBBBBBBBBBBBBB', fullName: 'Femke Moreau', email: FEMKE.email });
    expect(lead).toMatchObject({
      phone1: '+33 6 12 34 56 78',
      appointmentDateTime: '2026-12-01T09:00:00.000Z',
    });
    expect(lead?.customFields).toEqual({
      event: 'Site visit',
      'Which roof do you have?': 'Tile',
      utm_source: 'newsletter',
    });
  });

  it.each([
    ['plain', { Name: 'Femke Moreau', 'E-mail': FEMKE.email, Phone: FEMKE.phone1, Roof: 'Tile' }],
    [
      'advanced',
      Object.fromEntries(
        [
          ['name', 'Name', 'Femke Moreau'],
          ['email', 'E-mail', FEMKE.email],
          ['field_1', 'Phone', FEMKE.phone1],
          ['field_2', 'Roof', 'Tile'],
        ].flatMap(([key = '', title = '', value = '']) => [
          [`fields[${key}][id]`, key],
          [`fields[${key}][title]`, title],
          [`fields[${key}][value]`, value],
        ]),
      ),
    ],
  ])('sends forms of Elementor, %s', async (_kind, fields: Record<string, string>) => {
    const body = new URLSearchParams({ ...fields }).toString();
    const lead = await leadOf(await send('elementor', body, { type: FORM_TYPE }));
    const { email, phone1 } = FEMKE;
    expect(lead).toMatchObject({ fullName: 'Femke Moreau', email, phone1, customFields: { Roof: 'Tile' } });
  });

  it('sends multipart forms of Jotform, with the answers as JSON in a field', async () => {
    const form = new FormData();
    for (const [name, value] of Object.entries(JSON.parse(readWebhook('jotform'))))
      form.set(name, typeof value === 'string' ? value : JSON.stringify(value));
    const encoded = new Response(form);
    const type = encoded.headers.get('content-type') ?? '';
    const lead = await leadOf(await send('jotform', await encoded.text(), { type }));
    expect(lead).toMatchObject({
      ...{ id: '6055023196465256193', firstName: 'Femke', lastName: 'Moreau', fullName: 'Femke Moreau' },
      ...{ email: FEMKE.email, phone1: '(033) 612-3456' },
      ...{ address: '1 rue Haute Lille 59000 France', postalCode: '59000' },
      appointmentDateTime: '2026-12-01T09:00:00.000Z',
    });
    expect(lead?.customFields).toEqual({
      typeOfRoof: 'Tile, Slate',
      photo: 'https://www.jotform.com/uploads/acme/roof.jpg',
    });
  });

  it('sends any form with names of its own, as a form or as JSON', async () => {
    const fields = {
      Vorname: 'Femke',
      Nachname: 'Moreau',
      PLZ: '59000',
      Dach: 'Ziegel',
      'Ihre Nachricht': '',
    };
    for (const [body, type] of [
      [new URLSearchParams(fields).toString(), FORM_TYPE],
      [JSON.stringify(fields), JSON_TYPE],
    ] as const) {
      const lead = await leadOf(await send('form', body, { type }));
      expect(lead).toMatchObject({ firstName: 'Femke', lastName: 'Moreau', postalCode: '59000' });
      expect(lead?.customFields).toEqual({ Dach: 'Ziegel' });
    }
  });

  it('keeps all values of checkboxes, which have one name, and texts that no database stores', async () => {
    const body = 'Name=Ada&Wants=Roof&Wants=Solar&Empty=&Empty=&Note=a%00b';
    const lead = await leadOf(await send('form', body, { type: FORM_TYPE }));
    expect(lead?.customFields).toEqual({ Wants: 'Roof, Solar', Note: 'ab' });
    const label = `${'x'.repeat(199)}😀`;
    const cut = await leadOf(await send('form', JSON.stringify({ Name: 'Ada', [label]: 'y\ud800' })));
    expect(cut?.customFields).toEqual({ [`${'x'.repeat(199)}\ufffd`]: 'y\ufffd' });
    const file = { url: 'https://example.com/a\0b\ud800' };
    const upload = await leadOf(await send('form', JSON.stringify({ Name: 'Ada', Photo: file })));
    expect(upload?.customFields).toEqual({ Photo: 'https://example.com/ab\ufffd' });
  });

  it('adds no second lead when the service repeats a webhook', async () => {
    const webhook = readWebhook('webflow').replace('6321ca84df3949bfc6752327', randomUUID());
    expect((await send('webflow', webhook)).status).toBe(201);
    expect((await send('webflow', webhook)).status).toBe(200);
  });

  it('loses no lead because of one answer: what its field does not accept becomes a custom field', async () => {
    const fields = { name: 'Femke Moreau', email: 'femke at example', Termin: 'next week', Rückruf: 'ja' };
    const map = { Rückruf: 'sameDay', Termin: 'appointmentDateTime' };
    const lead = await leadOf(await send('form', JSON.stringify(fields), { map }));
    expect(lead).toMatchObject({ fullName: 'Femke Moreau', email: null, appointmentDateTime: null });
    expect(lead?.customFields).toEqual({ email: 'femke at example', Termin: 'next week', Rückruf: 'ja' });
  });

  it('loses no lead because of a mapped status or place that does not exist', async () => {
    const map = {
      Ref: 'id',
      Where: 'branchId',
      Team: 'departmentId',
      Firm: 'companyId',
      State: 'statusValue',
    };
    const fields = {
      Name: 'Femke',
      Ref: randomUUID(),
      Where: 'nowhere',
      Team: 'none',
      Firm: 'x',
      State: 'won',
    };
    const lead = await leadOf(await send('form', JSON.stringify(fields), { map }));
    expect(lead).toMatchObject({
      id: fields.Ref,
      branchName: null,
      departmentName: null,
      statusValue: 'WON',
    });
    expect(lead?.customFields).toEqual({ Where: 'nowhere', Team: 'none', Firm: 'x' });
    const status = { Name: 'Femke', Where: 'north', State: 'unheard of' };
    const placed = await leadOf(await send('form', JSON.stringify(status), { map }));
    expect(placed).toMatchObject({ branchName: 'North', statusValue: 'NEW' });
    expect(placed?.customFields).toEqual({ State: 'unheard of' });
  });

  it('loses no lead because of a text that is too long: it is cut, and says so', async () => {
    const fields = {
      Name: 'Femke',
      Roof: 'Tile',
      Message: 'ä'.repeat(100_000),
      Other: 'ß'.repeat(90_000),
    };
    const lead = await leadOf(await send('form', JSON.stringify(fields)));
    const { Roof, Message, Other } = lead?.customFields ?? {};
    expect(Roof).toBe('Tile');
    for (const text of [Message, Other]) expect(text).toMatch(/^(ä{6000,}|ß{6000,})… \(cut\)$/);
  });

  const formOf = (count: number, label: (n: number) => string, answer: string) =>
    JSON.stringify({
      firstName: 'Ada',
      ...Object.fromEntries(Array.from({ length: count }, (_, n) => [label(n), answer])),
    });

  it.each([
    ['90 Japanese answers', 'form', formOf(90, (n) => `質問 ${n} ${'長'.repeat(60)}`, 'あ'.repeat(300))],
    ['250 answers', 'form', formOf(250, (n) => `${n} ${'?'.repeat(120)}`, 'x'.repeat(3000))],
    ['200 long questions', 'form', formOf(200, (n) => `質問 ${n} ${'長'.repeat(300)}`, 'あ'.repeat(100))],
    ['200 questions that are long as JSON', 'form', formOf(200, (n) => `${n}${'\u0001'.repeat(300)}`, 'x')],
    [
      'an answer with 5,000 commas',
      'jotform',
      JSON.stringify({
        submissionID: randomUUID(),
        rawRequest: JSON.stringify({ q1_a: ', '.repeat(5000) + 1, q2_name: 'Ada' }),
      }),
    ],
  ])('loses no lead because of its length: %s', async (_what, source, body) => {
    expect(body.length).toBeLessThan(MAX_INTAKE_BYTES);
    const { customFields = {} } = (await leadOf(await send(source, body))) ?? {};
    const questions = source === 'form' ? Object.keys(JSON.parse(body)).slice(1) : ['a'];
    // PostgreSQL has an order of its own.
    const begins = (names: readonly string[]) => names.map((name) => name.slice(0, 40)).sort();
    expect(begins(Object.keys(customFields))).toEqual(begins(questions.slice(0, 199)));
  });

  it('keeps an erased lead erased, although the map names its id', async () => {
    const body = '{"Name":"Femke","Ref":"E-1"}';
    const map = { Ref: 'id' };
    await leadOf(await send('form', body, { map }));
    const { removal } = service().store;
    expect(await removal.erase(await removal.findByIds(['E-1']))).toBe(1);
    await expectProblem(await send('form', body, { map }), 'invalid-lead');
  });

  it('shows the texts of a matrix of Tally', async () => {
    const fields = [
      { key: 'a', label: 'Name', type: 'INPUT_TEXT', value: 'Femke' },
      {
        ...{ key: 'b', label: 'When', type: 'MATRIX', value: { r1: ['c2'], r2: ['c1', 'c2'], r3: [] } },
        rows: ['Monday', 'Friday', 'Sunday'].map((text, index) => ({ id: `r${index + 1}`, text })),
        columns: ['Morning', 'Evening'].map((text, index) => ({ id: `c${index + 1}`, text })),
      },
    ];
    const data = { responseId: randomUUID(), fields };
    const lead = await leadOf(await send('tally', JSON.stringify({ eventType: 'FORM_RESPONSE', data })));
    expect(lead?.customFields).toEqual({ When: 'Monday: Evening; Friday: Morning, Evening' });
  });

  it('keeps all answers of a form that repeats a label, or has none', async () => {
    const answer = (label: string, value: string) => ({ key: '', label, type: 'INPUT_TEXT', value });
    const fields = [
      answer('email', 'femke at example'),
      answer('email', 'femke@example.com'),
      answer('\u200b', 'x'),
      answer('Roof', 'Tile'),
      answer('Roof', 'Slate'),
    ];
    const data = { responseId: randomUUID(), fields };
    const lead = await leadOf(await send('tally', JSON.stringify({ eventType: 'FORM_RESPONSE', data })));
    expect(lead?.email).toBe('femke@example.com');
    expect(lead?.customFields).toEqual({
      email: 'femke at example',
      'answer 3': 'x',
      Roof: 'Tile',
      'Roof 2': 'Slate',
    });
  });

  it('lets an answer neither change another lead nor choose its place or status, unless the map says so', async () => {
    const other = await leadOf(await send('form', '{"Name":"Ada"}'));
    const fields = { Name: 'Femke', id: other?.id, branchId: 'lyon', statusValue: 'WON' };
    const lead = await leadOf(await send('form', JSON.stringify(fields)));
    expect(lead?.id).not.toBe(other?.id);
    expect(lead).toMatchObject({ branchName: null, statusValue: 'NEW' });
    const mapped = await leadOf(await send('form', '{"Name":"Femke","Ref":"R-1"}', { map: { Ref: 'id' } }));
    expect(mapped?.id).toBe('R-1');
  });

  it.each([
    ['tally', '{"eventType":"FORM_RESPONSE"}'],
    ['typeform', readWebhook('tally')],
    ['calendly', readWebhook('calendly').replace('invitee.created', 'invitee.canceled')],
    ['google-ads', '{}'],
    ['jotform', '{"rawRequest":"{}"}'],
    ['jotform', '{"submissionID":"1","rawRequest":"q3_name"}'],
    ['jotform', JSON.stringify({ submissionID: '1', rawRequest: `{"q1_a":${'['.repeat(100_000)}` })],
    ['webflow', '[]'],
    ['form', '"text"'],
    ['form', '{}'],
    ['unknown', '{"Name":"Femke"}'],
  ])('refuses what is not a new submission of %s, and stores nothing', async (source, body) => {
    const before = await service().leads('boss');
    await expectProblem(await send(source, body), 'invalid-lead');
    expect(await service().leads('boss')).toEqual(before);
  });

  it.each(['__proto__', 'constructor', 'toString'])('takes %s for the label of an answer', async (label) => {
    const lead = await leadOf(await send('form', `{"Name":"Femke","${label}":"x"}`));
    expect(Object.entries(lead?.customFields ?? {})).toEqual([[label, 'x']]);
  });
});

describe('a token in the URL', () => {
  const sendTo = (test: TestService, token: string, headers: Record<string, string> = {}) =>
    fetch(`${test.url}${LEADS_PATH}?access_token=${token}`, {
      method: 'POST',
      headers: { 'content-type': JSON_TYPE, ...headers },
      body: readWebhook('webflow').replace('6321ca84df3949bfc6752327', randomUUID()),
    });

  it('is accepted with LEADTAP_INTAKE=urls, and is in no log line', async () => {
    const lines: string[] = [];
    const test = await startService({
      env: { LEADTAP_INTAKE: 'urls' },
      logTo: { write: (line) => lines.push(line) },
    });
    const token = await tokenFor(test, 'webflow');
    expect((await sendTo(test, token)).status).toBe(201);
    await expectProblem(await sendTo(test, `${token}x`), 'token-invalid');
    expect(lines.join('')).toContain(LEADS_PATH);
    expect(lines.join('')).not.toContain(token.slice(0, 20));
  });

  it('is refused if it is there twice', async () => {
    const token = await tokenFor(service(), 'webflow');
    const before = await service().leads('boss');
    const url = `${token}&access_token=${token}`;
    const { detail } = await expectProblem(await sendTo(service(), url), 'malformed-request');
    expect(detail).toBe('Send one `access_token`, not several.');
    expect(await service().leads('boss')).toEqual(before);
  });

  it('is refused otherwise', async () => {
    const test = await startService();
    const answer = await sendTo(test, await tokenFor(test, 'webflow'));
    const { detail } = await expectProblem(answer, 'token-missing');
    expect(detail).toContain('`LEADTAP_INTAKE=urls`');
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="leadtap"');
  });

  it('is refused if it may read leads: addresses are written to logs', async () => {
    for (const scopes of [['leads:read', 'leads:write'], ['leads:read'], undefined] as const)
      await expectProblem(
        await sendTo(service(), await tokenFor(service(), 'webflow', {}, scopes ?? ['leads:read'])),
        'token-invalid',
      );
  });

  it('reads no leads', async () => {
    const token = await tokenFor(service(), undefined);
    const answer = await fetch(`${service().url}/automation/new-leads?access_token=${token}`);
    await expectProblem(answer, 'token-missing');
  });
});

describe('a form in which no name, e-mail address or phone number is recognised', () => {
  const QUESTIONS = { 'Wie heissen Sie': 'Ada Lovelace', 'Ihr Dach': 'flat', leer: '' };
  const form = new URLSearchParams(QUESTIONS).toString();

  it('is refused with its questions, and not with its answers', async () => {
    const answer = await send('form', form, { type: FORM_TYPE });
    const problem = await expectProblem(answer, 'no-contact');
    const fields = (problem.errors ?? []).map((error) => 'field' in error && error.field);
    expect(fields).toEqual(['Wie heissen Sie', 'Ihr Dach']);
    expect(JSON.stringify(problem)).not.toMatch(/Ada|flat/);
  });

  it('is accepted with a token that maps one of them, and is held until then', async () => {
    const map = { 'Wie heissen Sie': 'fullName' };
    expect(await leadOf(await send('form', form, { map, type: FORM_TYPE }))).toMatchObject({
      fullName: 'Ada Lovelace',
    });
    await service().service.refusedLeads.flush();
    expect(await service().store.refusedLeads.list({ limit: 100 })).not.toContainEqual(
      expect.objectContaining({ code: 'no-contact' }),
    );
  });

  it('leaves JSON of a program as it is', async () => {
    const token = await tokenFor(service(), undefined);
    const headers = { authorization: `Bearer ${token}`, 'content-type': JSON_TYPE };
    const body = '{"customFields":{"wish":"call back"}}';
    const answer = await fetch(`${service().url}${LEADS_PATH}`, { method: 'POST', headers, body });
    expect(answer.status).toBe(201);
  });
});
