import { ConfigError, parseConfig } from '../../../src/config.ts';

type Env = Record<string, string>;

export const configOf = (env: Env, rest: { dotenv?: string } = {}) =>
  parseConfig({ env, cwd: '/srv/leadtap', ...rest });

/** The problems of an environment; none if it is valid. */
export function problemsOf(env: Env, rest: { dotenv?: string } = {}) {
  try {
    configOf(env, rest);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}
