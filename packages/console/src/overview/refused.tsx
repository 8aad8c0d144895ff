import type { LeadtapError } from '@leadtap/client';
import type { JSX } from 'preact';
import { EmptyState } from '../empty-state.tsx';
import { isRefused } from '../feed.ts';
import { explain, Problem } from '../problem.tsx';
import { connect, isWriteOnly, session } from '../session.ts';
import { TokenForm } from '../token-form.tsx';
import { TokenFacts } from './token-facts.tsx';

interface RefusedProps {
  readonly error: LeadtapError;
}

/** A token that gets no leads: why, and the next step. */
export function Refused({ error }: RefusedProps): JSX.Element {
  const { token = '' } = session.value ?? {};
  const isForSending = error.code === 'insufficient-scope' && isWriteOnly.value;
  return (
    <div class="check">
      {isForSending ? (
        <>
          <h1>Your token is for sending leads</h1>
          <TokenFacts />
          <p>{explain(error).nextStep}</p>
        </>
      ) : (
        <>
          <EmptyState drawing="refused">
            <h1>{headingOf(error)}</h1>
          </EmptyState>
          <TokenFacts />
          <Problem error={error} />
        </>
      )}
      <p>
        <button type="button" onClick={() => connect(token)}>
          Check again
        </button>
      </p>
      <TokenForm />
    </div>
  );
}

function headingOf({ code, status }: LeadtapError): string {
  if (isRefused.value && code !== 'no-such-resource') return 'This token does not work';
  return status === 403 ? 'This token gets no leads' : 'The token could not be checked';
}
