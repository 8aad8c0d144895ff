import type { JSX } from 'preact';
import { ANY_URL_ID, APPS, PROGRAMS } from '../connect/places.ts';
import { hrefOf } from '../router.ts';

const WAYS = [
  {
    item: ANY_URL_ID,
    title: 'Paste a URL',
    text: 'You have the address of a webhook: of Zapier, Make, n8n, a chat or your own. Each lead is sent to it at once.',
    button: 'Connect a URL',
  },
  {
    item: APPS,
    title: 'An app of a platform',
    text: 'Your platform has an app or a node for Leadtap, or can call an address. It asks for new leads every few minutes.',
    button: 'Choose a platform',
  },
  {
    item: PROGRAMS,
    title: 'A program',
    text: 'You write code, or have a shell. One request returns the new leads, and a client does the rest.',
    button: 'See the code',
  },
] as const;

/** For a user without an automation. */
export const WaysToConnect = (): JSX.Element => (
  <ul class="ways" aria-label="Ways to connect">
    {WAYS.map(({ item, title, text, button }, index) => (
      <li key={item}>
        <h2>{title}</h2>
        <p>{text}</p>
        <a class={index === 0 ? 'button primary' : 'button'} href={hrefOf('connect', item)}>
          {button}
        </a>
      </li>
    ))}
  </ul>
);
