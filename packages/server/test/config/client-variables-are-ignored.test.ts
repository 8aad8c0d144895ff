import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CLIENT_VARIABLE_NAMES } from '../../src/config/variables.ts';
import { ConfigError, parseConfig } from '../../src/config.ts';

const cwd = resolve('/srv/leadtap');
const page = readFileSync(new URL('../../../../docs/configuration.md', import.meta.url), 'utf8');

describe.each(['LEADTAP_URL', 'LEADTAP_TOKEN'])('%s, which the docs tell people to export', (name) => {
  it.each(['http://127.0.0.1:3000', 'not an address'])('changes nothing: %s', (value) => {
    expect(parseConfig({ env: { [name]: value }, cwd })).toEqual(parseConfig({ env: {}, cwd }));
    expect(parseConfig({ env: {}, dotenv: `${name}="${value}"`, cwd })).toEqual(
      parseConfig({ env: {}, cwd }),
    );
  });
});

it('a similar name is an error', () => {
  expect(() => parseConfig({ env: { LEADTAP_TOKENS: 'x' }, cwd })).toThrow(ConfigError);
});

it.each(CLIENT_VARIABLE_NAMES)('docs/configuration.md names %s', (name) =>
  expect(page).toContain(`\`${name}\``),
);
