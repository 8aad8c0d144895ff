import type { JSX } from 'preact';
import { feedState } from '../feed.ts';
import { Problem } from '../problem.tsx';
import type { Session } from '../session.ts';

export function Findings({ session }: { readonly session: Session }): JSX.Element {
  const state = feedState.value;
  if ('error' in state) return <Problem error={state.error} />;
  return <p>The token of {session.claims.userId} is valid.</p>;
}
