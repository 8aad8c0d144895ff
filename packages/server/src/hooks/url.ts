/** Where events may be sent: only to hosts that the operator allows, so that no table of private address ranges is needed. */
import { MAX_HOOK_URL_LENGTH, PLATFORM_LIST } from '@leadtap/contract';

/** The automation platforms. `*.` stands for one or more labels in front. */
export const PLATFORM_HOSTS: readonly string[] = PLATFORM_LIST.flatMap(({ hookHosts }) => hookHosts);

/** `configured` are those of `LEADTAP_HOOK_HOSTS`. */
export const allowedHosts = (configured: readonly string[]): readonly string[] => [
  ...PLATFORM_HOSTS,
  ...configured,
];

/** For logs and lists: the rest of the URL is a secret. Other programs may have stored a text that is no URL. */
export const hostOfHook = ({ url }: { readonly url: string }): string =>
  URL.canParse(url) ? new URL(url).host : 'invalid URL';

export type CheckedUrl =
  /** Normalised. */
  | { readonly kind: 'allowed'; readonly url: URL }
  /** `detail` is a sentence for the client. */
  | { readonly kind: 'invalid'; readonly detail: string }
  | { readonly kind: 'host-not-allowed' };

const invalid = (detail: string): CheckedUrl => ({ kind: 'invalid', detail });

const TOO_LONG = invalid(
  `The \`url\` is longer than ${MAX_HOOK_URL_LENGTH.toLocaleString('en')} characters.`,
);

const LIST_ORIGIN =
  'For http or another port, ask the operator to add the whole origin to `LEADTAP_HOOK_HOSTS`, such as `http://127.0.0.1:5678`.';

/** A label of a name. Those of internationalised names, `xn--`, can look like another name: they have to be listed. */
const LABEL = /^(?!xn--)[a-z0-9-]{1,63}$/;

/** `hosts` are names, `*.` and a name, or whole origins such as `http://127.0.0.1:5678`, all as the URL parser writes them. */
export function checkHookUrl(text: string, hosts: readonly string[]): CheckedUrl {
  if (text.length > MAX_HOOK_URL_LENGTH) return TOO_LONG;
  if (!/^[!-~]*$/.test(text) || text.includes('\\'))
    return invalid(
      'The `url` has characters that a URL cannot contain. Percent-encode them; write the host in ASCII.',
    );
  if (!URL.canParse(text)) return invalid('The `url` is not a URL. Send it whole, such as https://….');
  const url = new URL(text);
  if (url.href.length > MAX_HOOK_URL_LENGTH) return TOO_LONG;
  if (url.username !== '' || url.password !== '')
    return invalid('The `url` contains a user name or a password. Remove it.');
  if (text.includes('#')) return invalid('The `url` contains a fragment. Remove the `#` and what follows.');
  if (hosts.includes(url.origin) && isSpelledOut(text, url)) return { kind: 'allowed', url };
  if (url.protocol !== 'https:')
    return invalid(`The \`url\` does not begin with \`https://\`. ${LIST_ORIGIN}`);
  if (url.port !== '')
    return invalid(`The \`url\` has a port. Events are sent to port 443 only. ${LIST_ORIGIN}`);
  // Other programs may read another host from a spelling such as `https:host` or `https://%68ost`.
  if (!isSpelledOut(text, url))
    return invalid('The `url` does not begin with `https://` and a plain host name.');
  return hosts.some((host) => includesHost(host, url.hostname))
    ? { kind: 'allowed', url }
    : { kind: 'host-not-allowed' };
}

function isSpelledOut(text: string, { origin }: URL): boolean {
  return (
    text.slice(0, origin.length).toLowerCase() === origin &&
    /^(:\d+)?([/?]|$)/.test(text.slice(origin.length))
  );
}

function includesHost(listed: string, hostname: string): boolean {
  if (!listed.startsWith('*.')) return listed === hostname;
  const end = listed.slice(1);
  if (!hostname.endsWith(end)) return false;
  return hostname
    .slice(0, -end.length)
    .split('.')
    .every((label) => LABEL.test(label));
}
