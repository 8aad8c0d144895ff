/** Every failure in plain words, with the next step. */
import type { LeadtapError } from '@leadtap/client';
import type { JSX } from 'preact';
import { problems } from './contract-texts.json';
import { Text } from './text.tsx';

export interface Explanation {
  readonly title: string;
  readonly nextStep: string;
}

/** Failures that are not problems of the service. */
const NO_ANSWER: Readonly<Record<string, Explanation>> = {
  'connection-failed': {
    title: 'The service cannot be reached',
    nextStep: 'Check your network. If other pages work, the service may be stopped: ask its operator.',
  },
  'timed-out': {
    title: 'The service did not answer in time',
    nextStep: 'It may be overloaded, or the network is slow. The page tries again by itself.',
  },
  'not-leads': {
    title: 'This address answers, but not with leads',
    nextStep:
      'A proxy or another program answers in place of Leadtap. Ask the operator to check the address.',
  },
};

const PROBLEMS: Readonly<Record<string, Explanation>> = problems;

export function explain({ code, status }: Pick<LeadtapError, 'code' | 'status'>): Explanation {
  return (
    PROBLEMS[code] ??
    NO_ANSWER[code] ?? {
      title: `Something before the service answered with ${status ?? 'an error'}`,
      nextStep:
        'The answer is not of Leadtap but of a proxy in front of it. Ask the operator to check the proxy and the service.',
    }
  );
}

/** Title, next step, and what to quote to the operator. */
export function Problem({ error }: { readonly error: LeadtapError }): JSX.Element {
  const { title, nextStep } = explain(error);
  const requestId = error.problem?.requestId;
  return (
    <div class="problem">
      <p class="problem-title">{title}.</p>
      <p>
        <Text>{nextStep}</Text>
      </p>
      <p class="soft">
        <code>{error.code}</code>
        {requestId && (
          <>
            {' · request '}
            <code>{requestId}</code>
          </>
        )}
      </p>
    </div>
  );
}
