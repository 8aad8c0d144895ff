import fc from 'fast-check';
import { expect, test } from 'vitest';
import { VARIABLES } from '../../src/config.ts';
import { problemsOf } from './support/parse.ts';

const WRONG: Record<string, string> = {
  LEADTAP_DATABASE_URL: 'mysql://root:hunter2@db/leads',
  LEADTAP_DATABASE_CONNECTIONS: 'many',
  LEADTAP_REDIS_URL: 'localhost:6379',
  LEADTAP_HOST: 'not a host',
  LEADTAP_PORT: '70000',
  LEADTAP_BASE_PATH: 'api',
  LEADTAP_PUBLIC_URL: 'leads.example.com',
  LEADTAP_TRUST_PROXY: 'everyone',
  LEADTAP_SIGNING_KEY: 'c2hvcnQ=',
  LEADTAP_JWKS_URL: 'ftp://id.example.com/jwks.json',
  LEADTAP_METRICS_ADDRESS: '9464',
  LEADTAP_AUTO_MIGRATE: 'yes',
  LEADTAP_LOG_LEVEL: 'loud',
};

test('each invalid value is one problem with a name, a reason and a fix', () => {
  const names = Object.keys(WRONG);
  fc.assert(
    fc.property(fc.subarray(names, { minLength: 1 }), (chosen) => {
      const env = Object.fromEntries(chosen.map((name) => [name, WRONG[name] ?? '']));
      const needed = { LEADTAP_TOKEN_ISSUER: 'i', LEADTAP_TOKEN_AUDIENCE: 'a' };
      const problems = problemsOf(chosen.includes('LEADTAP_JWKS_URL') ? { ...env, ...needed } : env);
      expect(problems.map(({ name }) => name).sort()).toEqual([...chosen].sort());
      for (const { problem, fix } of problems) {
        expect(problem).not.toBe('');
        expect(fix).toMatch(/^[A-Z`].*\.$/);
      }
    }),
  );
});

test('a misspelt name is reported with the nearest name', () => {
  const [problem] = problemsOf({ LEADTAP_DATABSE_URL: 'sqlite:x.db' });
  expect(problem).toMatchObject({
    name: 'LEADTAP_DATABSE_URL',
    problem: 'there is no such variable',
    fix: 'Did you mean LEADTAP_DATABASE_URL?',
  });
  expect(problemsOf({ LEADTAP_PROT: '1' })[0]?.fix).toBe('Did you mean LEADTAP_PORT?');
});

test('a name that is like no other is reported without a suggestion', () => {
  expect(problemsOf({ LEADTAP_FAVOURITE_COLOUR: 'blue' })[0]?.fix).not.toContain('Did you mean');
});

test('any other LEADTAP_ name is an error', () => {
  const known = Object.values(VARIABLES).map(({ name }) => name);
  const word = fc.stringMatching(/^[A-Z_]{1,20}$/).map((end) => `LEADTAP_${end}`);
  fc.assert(
    fc.property(word, (name) => {
      fc.pre(!known.includes(name));
      expect(problemsOf({ [name]: 'x' }).map((problem) => problem.name)).toEqual([name]);
    }),
  );
});

test('names of other programs are ignored', () => {
  expect(problemsOf({ PORT: 'x', MY_LEADTAP_PORT: 'x', leadtap_port: 'x' })).toEqual([]);
});

test.each([
  ['LEADTAP_PORT', 'tcp://10.0.0.7:80'],
  ['LEADTAP_PORT_80_TCP', 'tcp://10.0.0.7:80'],
  ['LEADTAP_PORT_80_TCP_ADDR', '10.0.0.7'],
  ['LEADTAP_SERVICE_HOST', '10.0.0.7'],
  ['LEADTAP_SERVICE_PORT_HTTP', '80'],
  ['LEADTAP_API_SERVICE_HOST', '10.0.0.7'],
  ['LEADTAP_REDIS_PORT', 'tcp://10.0.0.8:6379'],
  ['LEADTAP_REDIS_PORT_6379_TCP_PROTO', 'tcp'],
])('%s=%s, which Kubernetes sets for a Service, has its own message', (name, value) => {
  const [problem] = problemsOf({ [name]: value });
  expect(problem?.problem).toContain('Kubernetes set it');
  expect(problem?.fix).toContain('enableServiceLinks: false');
});

test('a port that a person set has the usual message', () => {
  expect(problemsOf({ LEADTAP_METRICS_PORT: '9464' })[0]?.problem).toBe('there is no such variable');
});

test.each(['LEADTAP_PORT: 4555', 'LEADTAP_LOG_LEVEL debug', 'export LEADTAP_HOST'])(
  'a line of .env that is not NAME=value is a problem: %s',
  (line) => {
    const [, name] = /(LEADTAP_\w+)/.exec(line) ?? [];
    expect(problemsOf({}, { dotenv: `# a comment\nOTHER=x\n${line}\nLEADTAP_PUBLIC_URL=x` })).toEqual([
      { name: '.env', problem: 'line 3 is not NAME=value', fix: `Write ${name}=value.` },
      expect.objectContaining({ name: 'LEADTAP_PUBLIC_URL in .env' }),
    ]);
  },
);

test('a line of .env that names no variable is a problem, and is not shown', () => {
  const dotenv = 'LEADTAP_PORT=4555\r\n\r\nnonsense line\r\nANY="two\nlines"\nword';
  expect(problemsOf({}, { dotenv })).toEqual([
    { name: '.env', problem: 'line 3 is not NAME=value', fix: 'Correct the line, or write # before it.' },
    { name: '.env', problem: 'line 6 is not NAME=value', fix: 'Correct the line, or write # before it.' },
  ]);
});

test.each([
  'LEADTAP_PORT=4555',
  'LEADTAP_PORT = 4555',
  '  export LEADTAP_PORT=4555',
  '# LEADTAP_PORT: 1',
  'A="x\n y\n"\n\t',
])('a line of .env that is NAME=value or a comment is no problem: %s', (line) => {
  expect(problemsOf({}, { dotenv: line })).toEqual([]);
});

// In quadratic time, it takes more than a minute.
test('a .env of 50,000 invalid lines is read in linear time', () => {
  const problems = problemsOf({}, { dotenv: 'word\n'.repeat(50_000) });
  expect(problems).toHaveLength(50_000);
  expect(problems.at(-1)?.problem).toBe('line 50000 is not NAME=value');
});
