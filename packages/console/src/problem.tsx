/** Every failure in plain words, with the next step. */
import type { LeadtapError } from '@leadtap/client';
import type { JSX } from 'preact';
import { problems } from './contract-texts.json';
import { isWriteOnly } from './session.ts';
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

/** As the API explains them, for people who build requests. */
const OF_API: Readonly<Record<string, Explanation>> = problems;

/** Next steps for people who have a token and build no requests. */
const NEXT_STEPS: Readonly<Record<string, string>> = {
  'token-missing': 'Paste the token that you were given.',
  'token-invalid':
    'Copy the whole token again, from its first to its last character. If that does not help, ask the operator for a new one.',
  'token-expired': 'Ask the operator for a new token and paste it here. No lead is lost meanwhile.',
  'token-revoked': 'Ask the operator for a new token and paste it here. No lead is lost meanwhile.',
  'professional-plan-required':
    'Ask for the Professional plan for this user. You then also get the leads that arrive until then.',
  'insufficient-scope':
    'This token was issued for something else, such as sending leads. Ask the operator for a token that may read leads.',
  'no-such-resource': 'Ask the operator to check the address of the service.',
  'rate-limit-exceeded':
    'All programs with a token of this user count together, and so does this page. Nothing is lost: it continues by itself.',
  'internal-error': 'Try again later. If it stays like this, give the operator the number of the request.',
  unavailable: 'It may be starting again. The page tries again by itself, and nothing is lost.',
};

const WRITE_ONLY: Explanation = {
  title: 'This token sends leads, and cannot read them',
  nextStep:
    'It is right for a form, or for a program that sends leads to this service. To see leads here, and for automations that get leads, ask the operator for a token that may read them.',
};

export function explain({ code, status }: Pick<LeadtapError, 'code' | 'status'>): Explanation {
  if (code === 'insufficient-scope' && isWriteOnly.value) return WRITE_ONLY;
  const ofApi = OF_API[code];
  if (ofApi) return { title: ofApi.title, nextStep: NEXT_STEPS[code] ?? ofApi.nextStep };
  return (
    NO_ANSWER[code] ?? {
      title: `Something before the service answered with ${status ?? 'an error'}`,
      nextStep:
        'The answer is not of Leadtap but of a proxy in front of it. Ask the operator to check the proxy and the service.',
    }
  );
}

interface ProblemProps {
  readonly error: LeadtapError;
  /** With the text of the API. Default: the one for people who build no requests. */
  readonly isOfApi?: boolean;
}

/** Title, next step, and what to quote to the operator. */
export function Problem({ error, isOfApi = false }: ProblemProps): JSX.Element {
  const { title, nextStep } = (isOfApi ? OF_API[error.code] : undefined) ?? explain(error);
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
