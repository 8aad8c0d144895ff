import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { VARIABLES } from '../../src/config.ts';

const read = (path: string) => readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8');
const variables = Object.values(VARIABLES).map((variable) => ({
  ...variable,
  default: 'default' in variable ? variable.default : undefined,
}));

test('.env.example has every variable with its meaning and its default', () => {
  const entries = [...read('.env.example').matchAll(/^# (.+)\n# (LEADTAP_\w+)=(.*)$/gm)];
  expect(entries.map(([, meaning, name]) => ({ meaning, name }))).toEqual(
    variables.map(({ meaning, name }) => ({ meaning, name })),
  );
  for (const [index, [, , , text = '']] of entries.entries()) {
    const variable = variables[index];
    if (variable?.default !== undefined) expect(text).toBe(variable.default);
    else if (text !== '') expect(() => variable?.parse(text, '/srv')).not.toThrow();
  }
});

test('.env.example contains no signing key', () => {
  expect(read('.env.example')).toMatch(/^# LEADTAP_SIGNING_KEY=$/m);
});
