/**
 * Takes the token out of an address such as `https://leads.example.com/#token=…`. The address is replaced at once, so that the
 * token is neither in the address bar nor in the history.
 */
export function takeFragmentToken(): string | undefined {
  const token = new URLSearchParams(location.hash.slice(1)).get('token');
  if (token === null) return undefined;
  history.replaceState(history.state, '', location.pathname + location.search);
  return token;
}
