import type { JSX } from 'preact';
import { session } from '../session.ts';
import { TokenForm } from '../token-form.tsx';
import { Findings } from './findings.tsx';

export function Check(): JSX.Element {
  return (
    <div class="check">
      <h1>{session.value ? 'Your token' : 'Check a token'}</h1>
      {session.value ? <Findings session={session.value} /> : <TokenForm />}
    </div>
  );
}
