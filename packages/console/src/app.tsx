import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { AccountMenu } from './account-menu.tsx';
import { newCount } from './attention.ts';
import { Connect } from './connect/connect.tsx';
import { isLogOpen, Log } from './connections/log.tsx';
import { DROP } from './empty-state.tsx';
import { Explore } from './explore/explore.tsx';
import { focusMain } from './focus.ts';
import { LeadsTab } from './leads/leads-tab.tsx';
import { isPaused } from './leads/pause.ts';
import { Overview } from './overview/overview.tsx';
import { hrefOf, isPhone, place } from './router.ts';
import { session } from './session.ts';
import { StatusLine } from './status-line.tsx';

interface Tab {
  readonly id: string;
  readonly title: string;
  readonly Content: () => JSX.Element;
}

/** The first one is shown at the start. */
const TABS: readonly [Tab, ...Tab[]] = [
  { id: 'overview', title: 'Overview', Content: () => (isLogOpen.value ? <Log /> : <Overview />) },
  { id: 'leads', title: 'Leads', Content: LeadsTab },
  { id: 'explore', title: 'Explore', Content: Explore },
  { id: 'connect', title: 'Connect', Content: Connect },
];

export function App(): JSX.Element {
  const current = TABS.find(({ id }) => id === place.value.tab) ?? TABS[0];
  // The tabs scroll the same page. Platforms and logs are pages, too; in Leads the list keeps its place.
  const item = current.id === 'leads' ? '' : place.value.item.split('?')[0];
  useLayoutEffect(() => {
    scrollTo(0, 0);
    document.getElementById('main')?.scrollTo(0, 0);
  }, [current.id, item]);
  const isStart = useRef(true);
  useEffect(() => {
    if (!isStart.current && document.activeElement === document.body) focusMain();
    isStart.current = false;
  }, [current.id, item, session.value]);
  // On a phone an opened lead is a page of its own.
  const isCovered =
    isPhone.value && current.id === 'leads' && place.value.item !== '' && session.value !== undefined;
  return (
    <>
      <Title tab={isLogOpen.value ? 'Log' : current.title} />
      <button type="button" class="skip" onClick={focusMain}>
        Skip to the content
      </button>
      <header class="bar" inert={isCovered}>
        <p class="brand">
          <Drop /> Leadtap
        </p>
        <nav aria-label="Console">
          {TABS.map(({ id, title }) => (
            <a key={id} href={hrefOf(id)} aria-current={id === current.id ? 'page' : undefined}>
              {title}
            </a>
          ))}
          {/* In a tab of its own: this page would lose the token. */}
          <a href="docs" target="_blank" rel="noopener">
            Docs <span aria-hidden="true">↗</span>
            <span class="vh">(opens in a new tab)</span>
          </a>
        </nav>
        <AccountMenu />
      </header>
      {session.value && (current.id !== 'overview' || isLogOpen.value) && (
        <StatusLine tab={current.id} isCovered={isCovered} />
      )}
      <main id="main" tabIndex={-1} class={`tab-${current.id}`}>
        <current.Content />
      </main>
    </>
  );
}

/** A component of its own, so that a count does not render the page again. */
function Title({ tab }: { readonly tab: string }): null {
  const count = newCount.value > 0 ? `(${newCount.value}) ` : '';
  document.title = `${count}${isPaused.value ? 'Paused · ' : ''}${tab} · Leadtap`;
  return null;
}

const Drop = () => (
  <svg viewBox="0 0 24 24" aria-hidden="true">
    <path d={DROP} />
  </svg>
);
