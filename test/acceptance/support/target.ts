import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { inject } from 'vitest';
import { BIN, install } from './own-installation.ts';

/** The user of the token decides the expected response. */
const CALLERS = ['COMPANY', 'BRANCH', 'DEPARTMENT', 'OTHER_PLAN', 'UNKNOWN_USER'] as const;

export type Caller = (typeof CALLERS)[number];

export interface Target {
  /** The `{base_url}`, without a trailing slash. */
  readonly baseUrl: string;
  readonly tokens: Readonly<Record<Caller, string>>;
  stop(): Promise<void>;
}

/** The installation that the environment names, or a new one. The tests are never skipped. */
export function findTarget(env: Readonly<Record<string, string | undefined>>): Promise<Target> {
  const baseUrl = env['LEADTAP_ACCEPTANCE_URL'];
  if (baseUrl) return installation(baseUrl.replace(/\/$/, ''), env);
  return inject('store') === 'sqlite' ? demo() : ownInstallation();
}

async function installation(
  baseUrl: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Target> {
  const variable = (caller: Caller) => `LEADTAP_ACCEPTANCE_TOKEN_${caller}`;
  const missing = CALLERS.map(variable).filter((name) => !env[name]);
  if (missing.length > 0) throw new Error(`LEADTAP_ACCEPTANCE_URL needs ${missing.join(', ')} too`);
  return { baseUrl, tokens: tokensBy((caller) => env[variable(caller)]), stop: async () => undefined };
}

function tokensBy(find: (caller: Caller) => string | undefined): Target['tokens'] {
  const tokens = CALLERS.map((caller) => [caller, find(caller) ?? '']);
  return Object.fromEntries(tokens) as Target['tokens'];
}

const USERS: Readonly<Record<Caller, string>> = {
  COMPANY: 'ada',
  BRANCH: 'ben',
  DEPARTMENT: 'cleo',
  OTHER_PLAN: 'dan',
  UNKNOWN_USER: 'zoe',
};

interface DemoFacts {
  readonly baseUrl: string;
  readonly callers: readonly { readonly userId: string; readonly token: string }[];
}

/** For PostgreSQL: the demo always uses SQLite. */
async function ownInstallation(): Promise<Target> {
  const { baseUrl, tokens, stop } = await install();
  return { baseUrl, tokens: tokensBy((caller) => tokens.get(USERS[caller])), stop };
}

/** The built program in a separate process, with the default settings. */
async function demo(): Promise<Target> {
  const child = spawn(process.execPath, [BIN, 'demo', '--json', '--port', '0'], {
    env: { PATH: process.env['PATH'] ?? '' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  const { baseUrl, callers } = await firstJson(child.stdout);
  return {
    baseUrl,
    tokens: tokensBy((caller) => callers.find(({ userId }) => userId === USERS[caller])?.token),
    stop: async () => {
      child.kill();
      await closed;
    },
  };
}

async function firstJson(output: AsyncIterable<Buffer>): Promise<DemoFacts> {
  let text = '';
  for await (const chunk of output) {
    text += chunk;
    if (/^\}/m.test(text)) return JSON.parse(text);
  }
  throw new Error('the demo ended before it printed its address');
}
