import type { LeadtapError } from '@leadtap/client';
import type { ComponentChildren, JSX } from 'preact';
import { expiryOf } from '../claims.ts';
import { now } from '../clock.ts';
import { EmptyState } from '../empty-state.tsx';
import { type FeedState, feedState, leads } from '../feed.ts';
import { explain, Problem } from '../problem.tsx';
import { RetryNotice } from '../retry.tsx';
import { hrefOf } from '../router.ts';
import { lastLimits } from '../service.ts';
import { connect, disconnect, isWriteOnly, type Session } from '../session.ts';
import { formatCount } from '../text.tsx';
import { formatDay, formatExact, Relative } from '../time.tsx';
import { TokenForm } from '../token-form.tsx';
import { describeSight } from './sight.ts';

/** The service checks in this order, so all steps before the one that failed are fine. */
const STEPS = ['token', 'limits', 'user', 'plan', 'scope'] as const;
type Step = (typeof STEPS)[number];

/** Undefined: the request was not answered by a check, so nothing is known. */
function failedStep({ code, status, problem }: LeadtapError): Step | undefined {
  if (code.startsWith('token-') || problem?.violatedPolicies?.includes('failed-tokens')) return 'token';
  if (status === 429) return 'limits';
  if (code === 'user-not-found') return 'user';
  if (code === 'professional-plan-required') return 'plan';
  return code === 'insufficient-scope' ? 'scope' : undefined;
}

type Result = 'yes' | 'no' | 'unknown';

/** The result of each step, or undefined if nothing is known yet. */
function resultsOf(state: FeedState): Readonly<Record<Step, Result>> | undefined {
  if (state.kind === 'loading' || state.kind === 'off') return undefined;
  const failed = state.kind === 'live' ? undefined : failedStep(state.error);
  if (state.kind !== 'live' && failed === undefined && leads.value.length === 0) return undefined;
  const index = failed === undefined ? STEPS.length : STEPS.indexOf(failed);
  const resultAt = (step: Step): Result => {
    const at = STEPS.indexOf(step);
    return at < index ? 'yes' : at === index ? 'no' : 'unknown';
  };
  return {
    token: resultAt('token'),
    limits: resultAt('limits'),
    user: resultAt('user'),
    plan: resultAt('plan'),
    scope: resultAt('scope'),
  };
}

/** The result in a sentence. */
function headingOf(state: FeedState, isSoon: boolean): string {
  if (state.kind === 'live') return isSoon ? 'Your token works, but expires soon' : 'Your token works';
  if (state.kind !== 'stopped') return 'Your token';
  const failed = failedStep(state.error);
  if (failed === undefined) return 'The token could not be checked';
  if (failed === 'scope' && isWriteOnly.value) return 'Your token is for sending leads';
  return failed === 'plan' || failed === 'scope' ? 'This token gets no leads' : 'This token does not work';
}

export function Findings({ session }: { readonly session: Session }): JSX.Element {
  const state = feedState.value;
  const results = resultsOf(state);
  const { expiresAt } = session.claims;
  const expiry = expiresAt === undefined ? undefined : expiryOf(expiresAt, now.value);
  const isSoon = state.kind === 'live' && expiry === 'soon';
  const isForSending = results?.scope === 'no' && isWriteOnly.value;
  const heading = <h1>{headingOf(state, isSoon)}</h1>;
  const tokenFinding = results && (
    <Finding result={results.token === 'yes' && expiry === 'soon' ? 'soon' : results.token}>
      <TokenText session={session} result={results.token} expiry={expiry} />
    </Finding>
  );
  return (
    <>
      {state.kind === 'stopped' && !isForSending ? (
        <EmptyState drawing="refused">{heading}</EmptyState>
      ) : (
        heading
      )}
      {state.kind === 'loading' && <Loading />}
      {state.kind === 'retrying' && <RetryNotice state={state} />}
      {state.kind === 'stopped' &&
        (isForSending ? <p>{explain(state.error).nextStep}</p> : <Problem error={state.error} />)}
      {results && (
        <ul class="findings" aria-label="What the service says about the token">
          {!isSoon && tokenFinding}
          <Finding result={results.user}>
            <UserText session={session} result={results.user} />
          </Finding>
          {results.scope === 'yes' && <Finding result="yes">{describeSight(leads.value)}</Finding>}
          <Finding result={results.plan}>{PLAN_TEXTS[results.plan]}</Finding>
          {session.claims.scopes.includes('leads:write') && results.token === 'yes' && (
            <Finding result="yes">It may {isForSending ? '' : 'also '}send leads.</Finding>
          )}
          {results.scope === 'no' && !isForSending && (
            <Finding result="no">The token was not issued to read leads.</Finding>
          )}
          <Finding result={results.limits}>
            <LimitsText result={results.limits} />
          </Finding>
          {/* A warning does not come before what is fine. */}
          {isSoon && tokenFinding}
        </ul>
      )}
      <p class="actions">
        {results?.scope === 'yes' && (
          <a class="button primary" href={hrefOf('leads')}>
            See the leads
          </a>
        )}
        <button type="button" onClick={() => connect(session.token)} disabled={state.kind === 'loading'}>
          Check again
        </button>
        {state.kind !== 'stopped' && (
          <button type="button" onClick={disconnect}>
            Check another token
          </button>
        )}
      </p>
      {state.kind === 'stopped' && <TokenForm />}
    </>
  );
}

const Loading = () => (
  <p class="after-200ms" role="status">
    Asking the service…
  </p>
);

const SIGNS: Readonly<Record<Result | 'soon', readonly [sign: string, word: string]>> = {
  yes: ['✓', 'Yes:'],
  soon: ['!', 'Yes, but:'],
  no: ['✗', 'No:'],
  unknown: ['–', 'Not checked:'],
};

interface FindingProps {
  /** `soon`: the token expires within days. */
  readonly result: Result | 'soon';
  readonly children: ComponentChildren;
}

function Finding({ result, children }: FindingProps) {
  const [sign, word] = SIGNS[result];
  return (
    <li class={`finding ${result}`}>
      <span class="finding-sign" aria-hidden="true">
        {sign}
      </span>
      <span>
        <span class="vh">{word} </span>
        {children}
      </span>
    </li>
  );
}

interface TextProps {
  readonly session: Session;
  readonly result: Result;
}

interface TokenTextProps extends TextProps {
  /** Undefined: the token does not tell. */
  readonly expiry: ReturnType<typeof expiryOf> | undefined;
}

function TokenText({ session, result, expiry }: TokenTextProps): JSX.Element {
  const { expiresAt } = session.claims;
  const isExpired = expiry === 'expired';
  if (result !== 'yes' && !isExpired) return <>The service does not accept the token.</>;
  if (expiresAt === undefined) return <>The token is valid. It does not say until when.</>;
  return (
    <>
      {isExpired ? 'The token has expired on' : 'The token is valid until'}{' '}
      <span title={formatExact(expiresAt)}>{formatDay(expiresAt)}</span> (
      <Relative at={expiresAt} />
      ).
      {expiry === 'soon' &&
        ' Ask the operator for a new one before that: no lead is lost, but none arrives without it.'}
    </>
  );
}

function UserText({ session, result }: TextProps): JSX.Element {
  const { userId } = session.claims;
  const user = userId === undefined ? 'a user whose id it does not tell' : <b>{userId}</b>;
  if (result === 'no') return <>It belongs to {user}, a user that the service does not know.</>;
  if (result === 'yes') return <>It belongs to {user}.</>;
  return <>It says that it belongs to {user}. The service has not checked that.</>;
}

const PLAN_TEXTS: Readonly<Record<Result, string>> = {
  yes: 'The plan of this user includes automation.',
  no: 'The plan of this user does not include automation.',
  unknown: 'Whether the plan includes automation was not checked.',
};

function LimitsText({ result }: { readonly result: Result }): JSX.Element {
  const limits = lastLimits.value?.limits ?? [];
  if (result === 'unknown' || limits.length === 0) return <>What is left of the limits is not known.</>;
  const parts = limits.map(
    ({ name, remaining, quota }) =>
      `${quota === undefined ? '' : `${remaining} of `}${formatCount(quota ?? remaining, 'request')} this ${name}`,
  );
  return (
    <>
      Left: {parts.join(', ')}.{' '}
      <span class="soft">All tokens of the user count together, and so does this page.</span>
    </>
  );
}
