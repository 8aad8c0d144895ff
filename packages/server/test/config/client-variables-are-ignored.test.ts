import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ConfigError, parseConfig } from '../../src/config.ts';

const cwd = resolve('/srv/leadtap');

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
