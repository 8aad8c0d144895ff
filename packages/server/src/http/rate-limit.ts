import type { Verdict, WindowState } from '../limits/limiter.ts';
import type { HeaderList } from './poll-state.ts';
import { ProblemError } from './problems.ts';

/** In the syntax of the IETF draft: lists of quoted policy names with parameters. */
export function rateLimitHeaders({ windows }: Verdict, headers: HeaderList): void {
  let state = '';
  for (const { policy, remaining, resetS } of windows)
    state += `${state === '' ? '' : ', '}"${policy.name}";r=${remaining};t=${resetS}`;
  headers.push('ratelimit-policy', policiesOf(windows), 'ratelimit', state);
}

/** The same for every verdict of one limiter, and there is only one for users. */
let lastPolicies: { readonly windows: readonly WindowState[]; readonly text: string } = {
  windows: [],
  text: '',
};

function policiesOf(windows: readonly WindowState[]): string {
  const isSame =
    windows.length === lastPolicies.windows.length &&
    windows.every(({ policy }, n) => policy === lastPolicies.windows[n]?.policy);
  if (!isSame) {
    const described = windows.map(
      ({ policy: { name, quota, windowS } }) => `"${name}";q=${quota};w=${windowS}`,
    );
    lastPolicies = { windows, text: described.join(', ') };
  }
  return lastPolicies.text;
}

export const refuseByLimit = ({ violated, retryAfterS }: Verdict): ProblemError =>
  new ProblemError('rate-limit-exceeded', {
    violatedPolicies: violated,
    // Whole seconds: some platforms parse nothing else.
    headers: { 'retry-after': String(Math.max(1, retryAfterS)) },
  });
