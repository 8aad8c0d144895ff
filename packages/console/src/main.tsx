import { render } from 'preact';
import { App } from './app.tsx';
import { open, place } from './router.ts';
import { connect, reconnect, session } from './session.ts';
import { takeFragmentToken } from './take-fragment-token.ts';

/** Before anything else, and also when such an address is opened while the page is open. */
function connectFromAddress(): void {
  const token = takeFragmentToken();
  if (token === undefined) return;
  connect(token);
  open('overview', '', 'replace');
}
connectFromAddress();
if (!session.value) reconnect();
addEventListener('hashchange', connectFromAddress);

const root = document.getElementById('app');
// Without these the client does not work. The text in the page says so.
if (root && 'timeout' in AbortSignal && 'hasOwn' in Object) {
  root.replaceChildren();
  if (place.value.tab === '') open('overview', '', 'replace');
  render(<App />, root);
}
