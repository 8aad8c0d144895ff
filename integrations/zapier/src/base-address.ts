import { errors } from 'zapier-platform-core';

const NEW_LEADS_PATH = '/automation/new-leads';
export const HOOKS_PATH = '/automation/hooks';

const notAnAddress = (typed: string) =>
  new errors.Error(
    `"${typed}" is not a base address. It looks like https://leads.example.com, or https://example.com/leads.`,
    'base-address',
  );

/** People paste what they have: with a slash at the end, without https://, or the address of the endpoint itself. */
function read(typed: string): URL {
  const text = typed.trim();
  const address = text.includes('://') ? text : `https://${text}`;
  if (/\s/.test(text) || !URL.canParse(address)) throw notAnAddress(typed);
  const url = new URL(address);
  if (!/^https?:$/.test(url.protocol) || url.hostname === '') throw notAnAddress(typed);
  return url;
}

/** Where the new leads are. */
export function newLeadsAddress(baseAddress: string): string {
  const { origin, pathname } = read(baseAddress);
  const base = pathname.replace(/(?<!\/)\/+$/, '');
  return `${origin}${base.endsWith(NEW_LEADS_PATH) ? base : base + NEW_LEADS_PATH}`;
}

const baseOf = (baseAddress: string): string => newLeadsAddress(baseAddress).slice(0, -NEW_LEADS_PATH.length);

/** Where webhook subscriptions are made. */
export const hooksAddress = (baseAddress: string): string => baseOf(baseAddress) + HOOKS_PATH;

/** What to call the installation: its host, and its path if it has one. */
export const installationName = (baseAddress: string): string =>
  baseOf(baseAddress).replace(/^https?:\/\//, '');
