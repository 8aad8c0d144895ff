import { ConfigProblems, parseConfig } from '../../src/config.ts';

type Env = Record<string, string>;

export const configOf = (env: Env) => parseConfig({ env, cwd: '/srv/leadtap' });

/** The problems of an environment; none when it is right. */
export function problemsOf(env: Env) {
  try {
    configOf(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigProblems) return error.problems;
    throw error;
  }
}
