import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { isNotifying, isSounding, notificationProblem, setNotifying, setSounding } from './attention.ts';
import { expiryOf } from './claims.ts';
import { now } from './clock.ts';
import { isRefused } from './feed.ts';
import { focusMain } from './focus.ts';
import { Option } from './option.tsx';
import { disconnect, session } from './session.ts';
import { setTheme, THEMES, theme } from './theme.ts';
import { formatDuration, formatExact } from './time.tsx';
import { KeepInTab } from './token-form.tsx';

const MENU = 'account-menu';

/** Whose token it is, and a menu with what is chosen for this browser. The browser closes it with Esc and a click outside. */
export function AccountMenu(): JSX.Element {
  const account = useRef<HTMLDivElement>(null);
  const menu = useRef<HTMLDivElement>(null);
  const isOpen = () => menu.current?.matches(':popover-open') === true;
  useEffect(() => {
    // Esc closes the menu, and does nothing else.
    account.current?.addEventListener('keydown', (event) => {
      if (event.key === 'Escape' && isOpen()) event.stopPropagation();
    });
    account.current?.addEventListener('focusout', ({ relatedTarget }) => {
      if (relatedTarget instanceof Node && !account.current?.contains(relatedTarget) && isOpen())
        menu.current?.hidePopover();
    });
  }, []);
  const isConnected = session.value !== undefined && !isRefused.value;
  const forget = () => {
    menu.current?.hidePopover();
    focusMain();
    disconnect();
  };
  return (
    <div class="account" ref={account}>
      {isConnected && <Expiry />}
      <button type="button" class="quiet account-button" popovertarget={MENU}>
        <span class="account-name">
          {isConnected ? (session.value?.claims.userId ?? 'Token') : 'Settings'}
        </span>
        {isConnected && <span class="vh">, token and settings</span>}
      </button>
      <div id={MENU} class="menu" popover="auto" ref={menu}>
        {session.value && (
          <section aria-labelledby="menu-token">
            <h2 id="menu-token">Token</h2>
            <KeepInTab />
            <button type="button" onClick={forget}>
              Forget the token
            </button>
          </section>
        )}
        <section aria-labelledby="menu-leads">
          <h2 id="menu-leads">New leads</h2>
          <Option title="Desktop notification" isOn={isNotifying.value} onChange={setNotifying}>
            While this page is in the background. It says how many, not who.
            <span class="option-problem" role="status">
              {notificationProblem}
            </span>
          </Option>
          <Option title="Sound" isOn={isSounding.value} onChange={setSounding}>
            One short tone.
          </Option>
        </section>
        <div class="colours" role="radiogroup" aria-labelledby="menu-colours">
          <h2 id="menu-colours">Colours</h2>
          {THEMES.map((name) => (
            <label key={name}>
              <input
                type="radio"
                name="theme"
                checked={theme.value === name}
                onChange={() => setTheme(name)}
              />
              {name}
            </label>
          ))}
        </div>
      </div>
    </div>
  );
}

/** In the last 7 days of the token, and afterwards. */
function Expiry(): JSX.Element | null {
  const expiresAt = session.value?.claims.expiresAt;
  const expiry = expiresAt === undefined ? 'later' : expiryOf(expiresAt, now.value);
  if (expiresAt === undefined || expiry === 'later') return null;
  return (
    <span class={`expiry ${expiry}`} title={formatExact(expiresAt)}>
      {expiry === 'expired' ? 'expired' : `expires in ${formatDuration(expiresAt - now.value)}`}
    </span>
  );
}
