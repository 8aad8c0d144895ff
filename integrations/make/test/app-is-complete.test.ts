import { existsSync, readFileSync } from 'node:fs';
import { MAX_LEADS_PER_PAGE, PROBLEMS, sampleLead } from '@leadtap/contract';
import { Lead } from '@leadtap/contract/schemas';
import { describe, expect, it } from 'vitest';
import { fileOf, readApp } from './interpreter/app.ts';
import { inherit } from './interpreter/merge.ts';

const app = readApp();

it('every file that the manifest names is there', () => {
  const { generalCodeFiles, components } = app.manifest;
  const files = [
    ...Object.values(generalCodeFiles),
    ...Object.values(components).flatMap((kind) =>
      Object.values(kind).flatMap(({ codeFiles }) => Object.values(codeFiles)),
    ),
  ].filter((path) => path !== null);
  expect(files.length).toBeGreaterThan(8);
  expect(files.filter((path) => !existsSync(fileOf(path)))).toEqual([]);
});

// As in makecomapp.schema.json of Make's extension for Visual Studio Code: an app without one of these is refused or changed.
it('the manifest has every kind of component that Make knows', () => {
  const kinds = ['connection', 'endpoint', 'function', 'module', 'rpc', 'webhook'];
  expect(Object.keys(app.manifest.components).sort()).toEqual(kinds);
  expect(Object.keys(app.manifest.generalCodeFiles).sort()).toEqual(['base', 'common', 'groups', 'readme']);
  expect(Object.keys(app.manifest).sort()).toEqual([
    'components',
    'fileVersion',
    'generalCodeFiles',
    'origins',
  ]);
});

it('the README gives an origin with every property that Make needs', () => {
  const readme = readFileSync(fileOf('README.md'), 'utf8');
  const origin: unknown = JSON.parse(/```json\n([\s\S]*?)```/.exec(readme)?.[1] ?? 'null');
  expect(origin).toEqual({
    label: expect.any(String),
    baseUrl: expect.stringMatching(/^https:\/\/.*\/api$/),
    appId: expect.stringMatching(/^[a-z][0-9a-z-]+[0-9a-z]$/),
    appVersion: 1,
    apikeyFile: expect.any(String),
  });
});

describe.each([
  ['Watch New Leads', app.trigger],
  ['List Leads', app.list],
])('%s', (_, module) => {
  it('names every field of a lead, in its order, with a label', () => {
    expect(module.interface.map(({ name }) => name)).toEqual(Object.keys(Lead.properties));
    expect(module.interface.filter(({ label }) => !label)).toEqual([]);
  });

  it('has the lead of the documentation as its sample', () => {
    expect(module.samples).toEqual(sampleLead);
  });

  it('takes a page for full when the contract says so', () => {
    const { condition = '' } = module.communication.pagination ?? {};
    expect(condition).toContain(`length(body) == ${MAX_LEADS_PER_PAGE}`);
  });
});

it('the instant module offers what its webhook gives, and List Leads takes it', () => {
  const given = Object.keys(app.webhook.communication.output);
  expect(app.instant.interface.map(({ name }) => name).sort()).toEqual(given.sort());
  expect(Object.keys(app.instant.samples as object).sort()).toEqual(given);
  for (const { name, required } of app.list.mappableParams) {
    expect(given).toContain(name);
    expect(required).toBe(true);
  }
});

it('the instant module has a webhook with an address of its own, and every module is in a group', () => {
  const { module = {}, webhook } = app.manifest.components;
  const instant = Object.values(module).filter(({ moduleType }) => moduleType === 'instant_trigger');
  expect(instant.map((found) => webhook?.[found.webhook ?? '']?.webhookType)).toEqual(['web']);
  const groups = JSON.parse(readFileSync(fileOf('general/groups.json'), 'utf8')) as { modules: string[] }[];
  expect(groups.flatMap(({ modules }) => modules).sort()).toEqual(Object.keys(module).sort());
});

it('the token is never logged, and typed as a secret', () => {
  for (const { log } of [app.base, app.connection.communication])
    expect(log?.sanitize).toContain('request.headers.authorization');
  expect(app.connection.params.find(({ name }) => name === 'token')?.type).toBe('password');
});

/** What Make must do about each status that Leadtap answers with. */
const TYPES: Readonly<Record<number, string>> = {
  400: 'RuntimeError',
  401: 'InvalidAccessTokenError',
  403: 'InvalidConfigurationError',
  404: 'InvalidConfigurationError',
  405: 'RuntimeError',
  409: 'RuntimeError',
  408: 'ConnectionError',
  413: 'RuntimeError',
  415: 'RuntimeError',
  422: 'RuntimeError',
  429: 'RateLimitError',
  431: 'RuntimeError',
  500: 'ConnectionError',
  503: 'ConnectionError',
};

it.each([...new Set(Object.values(PROBLEMS).map(({ status }) => status))])(
  'status %i has the error type that it needs',
  (status) => {
    const { error } = inherit(app.base, app.trigger.communication).response ?? {};
    expect(error?.[`${status}`]?.type ?? error?.type).toBe(TYPES[status]);
  },
);
