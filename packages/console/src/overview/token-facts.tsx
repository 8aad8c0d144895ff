import type { JSX } from 'preact';
import { expiryOf } from '../claims.ts';
import { now } from '../clock.ts';
import { leads } from '../feed.ts';
import { session } from '../session.ts';
import { visible } from '../text.tsx';
import { formatDay, formatExact, formatRelative } from '../time.tsx';
import { sightOf } from './sight.ts';

/** `ada · whole company · until 15 Feb` */
export function TokenFacts(): JSX.Element {
  const { userId, expiresAt, scopes = [] } = session.value?.claims ?? {};
  const facts = [
    userId === undefined ? undefined : visible(userId),
    sightOf(leads.value),
    scopes.includes('leads:write') ? 'may send leads' : undefined,
  ];
  return (
    <p class="token-facts soft">
      {facts.filter((fact) => fact !== undefined).join(' · ')}
      {expiresAt !== undefined && (
        <span title={formatExact(expiresAt)}>
          {expiresAt > now.value ? ' · until ' : ' · expired on '}
          {formatDay(expiresAt)}
        </span>
      )}
    </p>
  );
}

/** While there is time to ask for another one. */
export function ExpiryNote(): JSX.Element | null {
  const expiresAt = session.value?.claims.expiresAt;
  if (expiresAt === undefined || expiryOf(expiresAt, now.value) !== 'soon') return null;
  return (
    <p class="note">
      The token of this page expires {formatRelative(expiresAt, now.value)}. Ask the operator for a new one
      before that.
    </p>
  );
}
