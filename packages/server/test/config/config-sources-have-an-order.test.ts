import { expect, test } from 'vitest';
import { parseConfig } from '../../src/config.ts';

const cwd = '/srv/leadtap';
const dotenv = 'LEADTAP_PORT=4000\nLEADTAP_LOG_LEVEL="warn" # a comment\nOTHER_PROGRAM=x\n';

test('.env sets a variable that the environment does not set', () => {
  const config = parseConfig({ env: {}, dotenv, cwd });
  expect([config.port, config.logLevel]).toEqual([4000, 'warn']);
});

test('a byte order mark at the start of .env is ignored', () => {
  expect(parseConfig({ env: {}, dotenv: `\uFEFF${dotenv}`, cwd }).port).toBe(4000);
});

test('the environment overrides .env, and a flag overrides both', () => {
  const env = { LEADTAP_PORT: '5000' };
  expect(parseConfig({ env, dotenv, cwd }).port).toBe(5000);
  expect(parseConfig({ env, dotenv, flags: { port: '6000' }, cwd }).port).toBe(6000);
});

test('an empty or blank value counts as not set', () => {
  expect(parseConfig({ env: { LEADTAP_PORT: '' }, dotenv, cwd }).port).toBe(4000);
  expect(parseConfig({ env: { LEADTAP_PORT: '  ', LEADTAP_TYPO: '' }, cwd }).port).toBe(3000);
});

test('spaces around a value are ignored', () => {
  expect(parseConfig({ env: { LEADTAP_PORT: ' 4100\r' }, cwd }).port).toBe(4100);
});

test('a problem names its source', () => {
  const names = (sources: Partial<Parameters<typeof parseConfig>[0]>) => {
    try {
      parseConfig({ env: {}, cwd, ...sources });
    } catch (error) {
      return String(error);
    }
    return 'no problem';
  };
  expect(names({ flags: { port: 'x' } })).toContain('--port: "x" is not a port');
  expect(names({ flags: { host: 'a b' } })).toContain('--host: "a b" is not a host');
  expect(names({ dotenv: 'LEADTAP_PORT=x' })).toContain('LEADTAP_PORT in .env: "x"');
  expect(names({ env: { LEADTAP_PORT: 'x' } })).toContain('LEADTAP_PORT: "x"');
  expect(names({ dotenv: 'LEADTAP_PROT=x' })).toContain('LEADTAP_PROT in .env: there is no such variable');
  expect(names({ env: { LEADTAP_PROT: 'x' } })).toContain('LEADTAP_PROT: there is no such variable');
});
