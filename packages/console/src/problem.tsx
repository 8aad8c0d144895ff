/** Every failure in plain words, with the next step. */
import type { LeadtapError } from '@leadtap/client';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { guides, loadGuides } from './connect/guides.ts';
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
  // As of one that cannot be sent at all.
  'token-invalid': { title: 'The access token is not valid', nextStep: '' },
  'not-leads': {
    title: 'This address answers, but not with leads',
    nextStep:
      'A proxy or another program answers in place of Leadtap. Ask the operator to check the address.',
  },
};

const WRITE_ONLY: Explanation = {
  title: 'This token sends leads, and cannot read them',
  nextStep:
    'It is right for a form, or for a program that sends leads to this service. To see leads here, and for automations that get leads, ask the operator for a token that may read them.',
};

/** As the API explains it, for people who build requests. Empty until it is loaded. */
const ofApi = (code: string): string => guides.value?.nextSteps[code] ?? '';

export function explain({
  code,
  status,
  problem,
}: Pick<LeadtapError, 'code' | 'status'> & Partial<Pick<LeadtapError, 'problem'>>): Explanation {
  if (code === 'insufficient-scope' && isWriteOnly.value) return WRITE_ONLY;
  const title = problem?.title ?? guides.value?.titles[code];
  if (title) return { title, nextStep: guides.value?.ownNextSteps[code] ?? ofApi(code) };
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
  const { title, nextStep: ownStep } = explain(error);
  const nextStep = (isOfApi && ofApi(error.code)) || ownStep;
  const isTextMissing = isOfApi || ownStep === '';
  useEffect(() => {
    if (isTextMissing) void loadGuides();
  }, [isTextMissing]);
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
