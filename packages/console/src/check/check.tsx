import type { JSX } from 'preact';
import { EmptyState } from '../empty-state.tsx';
import { session } from '../session.ts';
import { TokenForm } from '../token-form.tsx';
import { Findings } from './findings.tsx';

export function Check(): JSX.Element {
  return <div class="check">{session.value ? <Findings session={session.value} /> : <Start />}</div>;
}

const Start = () => (
  <EmptyState drawing="no-token">
    <h1>Check a token</h1>
    <p class="lede">
      With a token, your automations get every new lead from this service. See here whether yours works, and
      what it sees.
    </p>
    <TokenForm />
    <p class="faint">
      No token? Ask the person who runs this service, who makes one with{' '}
      <code>leadtap token issue --user ID</code>.
    </p>
  </EmptyState>
);
