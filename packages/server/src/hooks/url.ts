/** Where events may be sent: only to hosts that the operator allows, so that no table of private address ranges is needed. */
import { type InvalidHook, MAX_HOOK_URL_LENGTH, PLATFORM_LIST } from '@leadtap/contract';

/** The automation platforms. `*.` stands for one or more labels in front. */
export const PLATFORM_HOSTS: readonly string[] = PLATFORM_LIST.flatMap(({ hookHosts }) => hookHosts);

/** `configured` are those of `LEADTAP_HOOK_HOSTS`. */
export const allowedHosts = (configured: readonly string[]): readonly string[] => [
  ...PLATFORM_HOSTS,
  ...configured,
];

export type CheckedUrl =
  /** Normalised. */
  | { readonly kind: 'allowed'; readonly url: URL }
  | { readonly kind: 'invalid'; readonly reason: InvalidHook }
  | { readonly kind: 'host-not-allowed' };

const invalid = (reason: InvalidHook): CheckedUrl => ({ kind: 'invalid', reason });

/** A label of a name. Those of internationalised names, `xn--`, can look like another name: they have to be listed. */
const LABEL = /^(?!xn--)[a-z0-9-]{1,63}$/;

/** `hosts` are names, `*.` and a name, or whole origins such as `http://127.0.0.1:5678`, all as the URL parser writes them. */
export function checkHookUrl(text: string, hosts: readonly string[]): CheckedUrl {
  if (text.length > MAX_HOOK_URL_LENGTH) return invalid('url-too-long');
  if (!/^[!-~]*$/.test(text) || text.includes('\\')) return invalid('url-not-ascii');
  if (!URL.canParse(text)) return invalid('url-not-parsed');
  const url = new URL(text);
  if (url.href.length > MAX_HOOK_URL_LENGTH) return invalid('url-too-long');
  if (url.username !== '' || url.password !== '') return invalid('url-with-password');
  if (text.includes('#')) return invalid('url-with-fragment');
  if (hosts.includes(url.origin) && isSpelledOut(text, url)) return { kind: 'allowed', url };
  if (url.protocol !== 'https:') return invalid('url-not-https');
  if (url.port !== '') return invalid('url-with-port');
  // Other programs may read another host from a spelling such as `https:host` or `https://%68ost`.
  if (!isSpelledOut(text, url)) return invalid('url-not-plain');
  return hosts.some((host) => includesHost(host, url.hostname))
    ? { kind: 'allowed', url }
    : { kind: 'host-not-allowed' };
}

/** Whether this service may send to an URL. Null: webhooks are switched off. */
export const createHostCheck = (configured: readonly string[] | null) => {
  const hosts = configured === null ? [] : allowedHosts(configured);
  return (url: string): boolean => checkHookUrl(url, hosts).kind === 'allowed';
};

/** The setting that keeps leads from being sent to an origin. Null: none does. */
export const createStopCheck = (configured: readonly string[] | null) => {
  const isAllowed = createHostCheck(configured);
  return (origin: string): 'LEADTAP_HOOKS' | 'LEADTAP_HOOK_HOSTS' | null => {
    if (configured === null) return 'LEADTAP_HOOKS';
    return isAllowed(`${origin}/`) ? null : 'LEADTAP_HOOK_HOSTS';
  };
};

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
