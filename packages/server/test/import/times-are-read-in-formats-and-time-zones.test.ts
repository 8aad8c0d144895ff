import { describe, expect, test } from 'vitest';
import { createDateFormat, createLeadTimes, DateFormatGuess } from '../../src/leads/lead-times.ts';
import { terminalWithUsers } from '../cli/terminal.ts';

function parse(text: string, timeZone?: string, ...formats: string[]): string | undefined {
  const dateFormats = formats
    .map((format) => createDateFormat(format))
    .filter((format) => format !== undefined);
  expect(dateFormats).toHaveLength(formats.length);
  const at = createLeadTimes({ timeZone, dateFormats }).parse(text);
  return at === undefined ? undefined : new Date(at).toISOString();
}

describe('formats', () => {
  test.each([
    ['DD.MM.YYYY HH:mm', '02.11.2026 14:03', '2026-11-02T14:03:00.000Z'],
    ['D.M.YY', '2.11.26', '2026-11-02T00:00:00.000Z'],
    ['D.M.YY', '2.11.69', '1969-11-02T00:00:00.000Z'],
    ['M/D/YYYY h:mm A', '11/2/2026 2:03 PM', '2026-11-02T14:03:00.000Z'],
    ['M/D/YYYY h:mm A', '11/2/2026 12:00 am', '2026-11-02T00:00:00.000Z'],
    ['M/D/YYYY h:mm A', '11/2/2026 12:00 p.m.', '2026-11-02T12:00:00.000Z'],
    ['M/D/YYYY, h:mm A', '11/2/2026, 2:03\u202fPM', '2026-11-02T14:03:00.000Z'],
    ['YYYY-MM-DD HH:mm:ss', '2026-11-02 14:03:09', '2026-11-02T14:03:09.000Z'],
    ['YYYY-MM-DDTHH:mm:ss.SSS', '2026-11-02T14:03:09.123', '2026-11-02T14:03:09.123Z'],
    ['DD-MMM-YY', '02-nov-26', '2026-11-02T00:00:00.000Z'],
    ['MMMM D, YYYY', 'November 2, 2026', '2026-11-02T00:00:00.000Z'],
  ])('%s reads %s', (format, text, expected) => {
    expect(parse(text, undefined, format)).toBe(expected);
  });

  test.each([
    ['DD.MM.YYYY', '2.11.2026'],
    ['DD.MM.YYYY', '30.02.2026'],
    ['DD.MM.YYYY', '02.13.2026'],
    ['DD.MM.YYYY', '02.11.2026 14:03'],
    ['DD.MM.YYYY HH:mm', '02.11.2026 24:00'],
    ['M/D/YYYY h:mm A', '11/2/2026 13:00 PM'],
    ['M/D/YYYY h:mm A', '11/2/2026 0:30 AM'],
    ['DD.MM.YYYY', '2026-11-02'],
  ])('%s does not read %s', (format, text) => {
    expect(parse(text, undefined, format)).toBeUndefined();
  });

  test.each([
    '',
    'DD.MM',
    'DD.MM.YYYY hh:mm',
    'DD.MM.YYYY HH:mm A',
    'DD.MM.YYYY :mm',
    'DD.DD.YYYY',
    'dd.mm.yyyy',
    'tomorrow',
  ])('%j is not a format', (format) => {
    expect(createDateFormat(format)).toBeUndefined();
  });

  test('the first of several formats that fits is used, and a time with an offset is ISO 8601', () => {
    const formats = ['DD.MM.YYYY HH:mm', 'DD.MM.YYYY'];
    expect(parse('02.11.2026', undefined, ...formats)).toBe('2026-11-02T00:00:00.000Z');
    expect(parse('2026-11-02T14:03+01:00', 'America/New_York', ...formats)).toBe('2026-11-02T13:03:00.000Z');
    expect(parse('2026-11-02T14:03', undefined, ...formats)).toBeUndefined();
  });
});

describe('time zones', () => {
  test.each([
    ['Europe/Berlin', '2026-11-02T14:03', '2026-11-02T13:03:00.000Z'],
    ['Europe/Berlin', '2026-07-02T14:03', '2026-07-02T12:03:00.000Z'],
    ['Europe/Berlin', '2026-11-02', '2026-11-01T23:00:00.000Z'],
    ['Europe/Berlin', '2026-11-02T14:03Z', '2026-11-02T14:03:00.000Z'],
    ['America/New_York', '2026-11-02 14:03:00', '2026-11-02T19:03:00.000Z'],
    ['Asia/Kolkata', '2026-11-02 00:00', '2026-11-01T18:30:00.000Z'],
  ])('in %s, %s is %s', (timeZone, text, expected) => {
    expect(parse(text, timeZone)).toBe(expected);
  });

  test.each([
    ['a time that is missing is moved forward', '2026-03-29 02:30', '2026-03-29T01:30:00.000Z'],
    ['a time that comes twice is the first of the two', '2026-10-25 02:30', '2026-10-25T00:30:00.000Z'],
  ])('%s', (_what, text, expected) => {
    expect(parse(text, 'Europe/Berlin')).toBe(expected);
  });

  test.each(['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe'])(
    'every half hour of a year in %s is the first moment at which its clocks show it',
    (timeZone) => {
      const clock = new Intl.DateTimeFormat('sv', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
      const { parse: parseTime } = createLeadTimes({ timeZone });
      const firsts = new Map<string, number>();
      for (let utc = Date.UTC(2026, 0, 1); utc < Date.UTC(2027, 0, 1); utc += 1_800_000) {
        const shown = clock.format(utc);
        if (!firsts.has(shown)) firsts.set(shown, utc);
      }
      const wrong = [...firsts].filter(([shown, utc]) => parseTime(shown) !== utc);
      expect(wrong).toEqual([]);
    },
  );
});

describe('the format of times is guessed', () => {
  test.each([
    [['02.11.2026 14:03', '25.12.2026 09:00'], false, ['DD.MM.YYYY HH:mm']],
    [['2.11.2026', '25.12.2026'], false, ['D.M.YYYY']],
    [['3/15/2024', '3/5/2024'], true, ['M/D/YYYY']],
    [['05/10/2026'], true, ['DD/MM/YYYY', 'MM/DD/YYYY']],
    [['05/10/2026'], false, ['MM/DD/YYYY', 'DD/MM/YYYY']],
    [['11/2/2026 2:03 PM'], false, ['M/D/YYYY h:mm A', 'D/M/YYYY h:mm A']],
    [['soon', '02.11.2026'], false, []],
    [[], false, []],
  ])('%j', (texts, isDayFirst, formats) => {
    const guess = new DateFormatGuess();
    for (const text of texts) guess.add(text);
    expect(guess.likely(isDayFirst)).toEqual(formats);
  });
});

describe('leads import', () => {
  const CSV =
    'companyId,id,firstName,appointmentDateTime\nacme,1,Ada,02.11.2026 14:03\nacme,2,Bo,29.03.2026 02:30\nacme,3,Cy,\n';
  const parts = { timeZone: 'Europe/Berlin' };

  test('the dry run suggests the options, which work when pasted', async () => {
    const shell = await terminalWithUsers();
    shell.save('leads.csv', CSV);
    const tried = await shell.run('leads import leads.csv --dry-run', { parts });
    expect(tried.stdout).toContain('1 added, 0 updated, 2 rejected\n');
    const [, flags = ''] = /To read appointmentDateTime, add (.*)\n/.exec(tried.stderr) ?? [];
    expect(flags).toBe("--date-format 'DD.MM.YYYY HH:mm' --time-zone Europe/Berlin");
    const words = ['--date-format', 'DD.MM.YYYY HH:mm', '--time-zone', 'Europe/Berlin'];
    const imported = await shell.run(['leads', 'import', 'leads.csv', ...words]);
    expect(imported.stdout).toBe('3 added, 0 updated, 0 rejected\n');
    const times = JSON.parse((await shell.run('leads list --since 1970-01-01 --json')).stdout);
    expect(times).toMatchObject([
      { appointmentDateTime: '2026-11-02T13:03:00.000Z' },
      { appointmentDateTime: '2026-03-29T01:30:00.000Z' },
      { appointmentDateTime: null },
    ]);
  });

  test('without --time-zone it is LEADTAP_TIME_ZONE', async () => {
    const shell = await terminalWithUsers();
    shell.save('.env', 'LEADTAP_TIME_ZONE=Europe/Berlin\n');
    shell.save('leads.csv', CSV);
    const words = ['--date-format', 'DD.MM.YYYY HH:mm'];
    await shell.run(['leads', 'import', 'leads.csv', ...words]);
    const [lead] = JSON.parse((await shell.run('leads list --since 1970-01-01 --json')).stdout);
    expect(lead.appointmentDateTime).toBe('2026-11-02T13:03:00.000Z');
  });

  test('times that fit no format get no suggestion, and an ambiguous one says so', async () => {
    const shell = await terminalWithUsers();
    shell.save('leads.csv', 'companyId,id,appointmentDateTime\nacme,1,soon\n');
    expect((await shell.run('leads import leads.csv --dry-run')).stderr).not.toContain('--date-format');
    shell.save('leads.csv', 'companyId,id,appointmentDateTime\nacme,1,03/02/2026\n');
    const { stderr } = await shell.run('leads import leads.csv --dry-run --time-zone Europe/Paris');
    expect(stderr).toContain('add --date-format MM/DD/YYYY\n');
    expect(stderr).toContain('If the day and the month are the other way round: DD/MM/YYYY.\n');
  });

  test('a time in another format than the given one is rejected with the format', async () => {
    const shell = await terminalWithUsers();
    const stdin = '{"companyId":"acme","id":"1","appointmentDateTime":"2026-11-02"}\n';
    const { stderr } = await shell.run(['leads', 'import', '-', '--date-format', 'DD.MM.YYYY'], { stdin });
    expect(stderr).toContain('appointmentDateTime: "2026-11-02" is not a time in the format DD.MM.YYYY\n');
  });

  test.each([
    ['--time-zone', 'Berlin', 'Write the name of a time zone, such as Europe/Berlin'],
    ['--date-format', 'dd.mm.yyyy', 'Write a year, a month and a day such as DD.MM.YYYY'],
  ])('%s %s is refused', async (flag, value, message) => {
    const { run } = await terminalWithUsers();
    const refused = await run(['leads', 'import', '-', flag, value]);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
  });
});
