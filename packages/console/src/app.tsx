import { computed, signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { Check } from './check/check.tsx';
import { now } from './clock.ts';
import { Connect } from './connect/connect.tsx';
import { Explore } from './explore/explore.tsx';
import { arrivedCount } from './feed.ts';
import { focusMain } from './focus.ts';
import { LeadsTab } from './leads/leads-tab.tsx';
import { hrefOf, isPhone, place } from './router.ts';
import { disconnect, session } from './session.ts';
import { StatusLine } from './status-line.tsx';
import { switchTheme, theme } from './theme.ts';
import { formatDuration, formatExact } from './time.tsx';

interface Tab {
  readonly id: string;
  readonly title: string;
  readonly Content: () => JSX.Element;
}

/** The first one is shown at the start. */
const TABS: readonly [Tab, ...Tab[]] = [
  { id: 'check', title: 'Check', Content: Check },
  { id: 'leads', title: 'Leads', Content: LeadsTab },
  { id: 'explore', title: 'Explore', Content: Explore },
  { id: 'connect', title: 'Connect', Content: Connect },
];

/** How many leads had arrived when the page was last visible. */
const seenCount = signal(0);
const isHidden = signal(document.hidden);
document.addEventListener('visibilitychange', () => {
  seenCount.value = arrivedCount.value;
  isHidden.value = document.hidden;
});
/** For the title, which is all that is visible of a tab in the background. */
const unseenCount = computed(() => (isHidden.value ? arrivedCount.value - seenCount.value : 0));

export function App(): JSX.Element {
  const current = TABS.find(({ id }) => id === place.value.tab) ?? TABS[0];
  // The tabs scroll the same page. In Connect each platform is a page, too; in Leads the list keeps its place.
  const item = current.id === 'connect' ? place.value.item : '';
  useLayoutEffect(() => scrollTo(0, 0), [current.id, item]);
  const isStart = useRef(true);
  useEffect(() => {
    if (!isStart.current && document.activeElement === document.body) focusMain();
    isStart.current = false;
  }, [current.id, item, session.value]);
  // On a phone an opened lead is a page of its own.
  const isCovered =
    isPhone.value && current.id === 'leads' && place.value.item !== '' && session.value !== undefined;
  document.title = `${unseenCount.value > 0 ? `(${unseenCount.value}) ` : ''}${current.title} · Leadtap`;
  return (
    <>
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
            Docs
          </a>
        </nav>
        <Who />
        <ThemeSwitch />
      </header>
      {session.value && <StatusLine isCovered={isCovered} />}
      <main id="main" tabIndex={-1} class={`tab-${current.id}`}>
        <current.Content />
      </main>
    </>
  );
}

const Drop = () => (
  <svg viewBox="0 0 24 24" aria-hidden="true">
    <path d="M12 2s7 7.6 7 12.6A7 7 0 0 1 5 14.6C5 9.6 12 2 12 2z" />
  </svg>
);

function Who(): JSX.Element | null {
  if (!session.value) return null;
  const { userId, expiresAt } = session.value.claims;
  return (
    <p class="who">
      {userId !== undefined && <span class="who-user">{userId}</span>}
      {expiresAt !== undefined && (
        <span class="who-expiry" title={formatExact(expiresAt)}>
          {expiresAt > now.value ? `expires in ${formatDuration(expiresAt - now.value)}` : 'expired'}
        </span>
      )}
      <button
        type="button"
        class="quiet"
        onClick={disconnect}
        title="Forget the token"
        aria-label="Forget the token"
      >
        ✕
      </button>
    </p>
  );
}

const THEME_SIGNS = { system: '◐', light: '☀', dark: '☾' } as const;

const ThemeSwitch = () => (
  <button
    type="button"
    class="quiet theme"
    onClick={switchTheme}
    title={`Colours: ${theme.value}`}
    aria-label={`Colours: ${theme.value}. Switch.`}
  >
    <span aria-hidden="true">{THEME_SIGNS[theme.value]}</span>
  </button>
);
